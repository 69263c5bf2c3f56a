// What Prometheus reads, collected when it asks.
#pragma once

#include <memory>
#include <string>

#include "node.h"

namespace prometheus {
class Exposer;
class Collectable;
}  // namespace prometheus

namespace eco {

class Metrics {
 public:
  // Serves http://listen/metrics of `node`, which outlives it. Throws std::runtime_error where it cannot listen.
  Metrics(Node& node, const std::string& listen);
  ~Metrics();

  [[nodiscard]] int port() const;

 private:
  std::unique_ptr<prometheus::Exposer> exposer_;
  std::shared_ptr<prometheus::Collectable> source_;
};

}  // namespace eco
