// A database without contents or settings. Tests derive from it and provide their sessions.
#pragma once

#include <map>
#include <string>

#include "contract/adapter.h"

namespace edgejoule::driver {

class EmptyDatabase : public Database {
 public:
  void open(const Properties&, Durability, bool, EventSink) override {}
  [[nodiscard]] std::string close() override { return {}; }
  Status flush() override { return Status::ok; }
  Settled settle(std::uint64_t) override { return {true, {}}; }
  [[nodiscard]] std::string version() const override { return {}; }
  [[nodiscard]] std::map<std::string, std::string> options() const override { return {}; }
  [[nodiscard]] std::string durability_how() const override { return {}; }
  [[nodiscard]] std::map<std::string, std::string> stats() const override { return {}; }
  [[nodiscard]] std::string path() const override { return {}; }
};

}  // namespace edgejoule::driver
