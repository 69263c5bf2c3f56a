// Writes events as JSON lines to a file or to stdout, and flushes each line.
#pragma once

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "system/usage.h"

namespace edgejoule::driver {

using Json = nlohmann::ordered_json;

class EventLog {
 public:
  // "-" is stdout; nullopt drops the events. Throws UsageError if the file cannot be written.
  explicit EventLog(const std::optional<std::string>& target);

  // Puts `event` and `monotonic_ns` before the fields. Throws RunFailure (io) if the write fails.
  void write(const std::string& event, std::uint64_t monotonic_ns, const Json& fields = Json::object());

 private:
  struct Close {
    void operator()(std::FILE* file) const;
  };

  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
};

[[nodiscard]] Json to_json(const Usage& usage);

}  // namespace edgejoule::driver
