#include "failure_message.h"

#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <system_error>

#include "run_failure.h"
#include "usage_error.h"

namespace edgejoule::driver {

std::string failure_message(const std::exception& error) {
  const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
                         dynamic_cast<const std::length_error*>(&error) != nullptr;
  if (no_memory) return "not enough memory; try fewer threads, or fewer or smaller fields";
  if (dynamic_cast<const std::system_error*>(&error) != nullptr) {
    return fmt::format("the operating system refused: {}", error.what());
  }
  const bool has_message =
      dynamic_cast<const RunFailure*>(&error) != nullptr || dynamic_cast<const UsageError*>(&error) != nullptr;
  if (has_message) return error.what();
  return fmt::format("unexpected failure: {}", error.what());
}

}  // namespace edgejoule::driver
