// Writes events as JSON lines, each flushed, to a file, to stdout, or nowhere.
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
  // "-" is stdout; nothing: events are dropped. Throws UsageError when the file cannot be written.
  explicit EventLog(const std::optional<std::string>& target);

  // Adds event and monotonic_ns in front of the fields. Throws RunFailure (io) when it cannot be written.
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
