// Serves metrics to Prometheus, collected on each request.
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
  // Serves http://listen/metrics of `node`, which must outlive it. Throws std::runtime_error if it cannot listen.
  Metrics(Node& node, const std::string& listen);
  ~Metrics();

  [[nodiscard]] int port() const;

 private:
  std::unique_ptr<prometheus::Exposer> exposer_;
  std::shared_ptr<prometheus::Collectable> source_;
};

}  // namespace eco
