// The failure of a command. The kinds are those of the error event in schemas/driver-event.schema.json.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace edgejoule::driver {

class RunFailure : public std::runtime_error {
 public:
  enum class Kind : std::uint8_t { usage, database, wrong_data, io, system, interrupted, failures };

  RunFailure(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  [[nodiscard]] std::string_view name() const {
    static constexpr std::string_view names[] = {"usage",  "database",    "wrong_data", "io",
                                                 "system", "interrupted", "failures"};
    return names[static_cast<std::size_t>(kind_)];
  }
  [[nodiscard]] int exit_status() const { return kind_ == Kind::usage ? 2 : kind_ == Kind::interrupted ? 130 : 1; }

 private:
  Kind kind_;
};

}  // namespace edgejoule::driver
