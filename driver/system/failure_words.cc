#include "failure_words.h"

#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <system_error>

#include "run_failure.h"
#include "usage_error.h"

namespace edgejoule::driver {

std::string failure_words(const std::exception& error) {
  const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
                         dynamic_cast<const std::length_error*>(&error) != nullptr;
  if (no_memory) return "not enough memory for what was asked; try fewer threads, or fewer or smaller fields";
  if (dynamic_cast<const std::system_error*>(&error) != nullptr) {
    return fmt::format("the operating system refused: {}", error.what());
  }
  const bool has_words =
      dynamic_cast<const RunFailure*>(&error) != nullptr || dynamic_cast<const UsageError*>(&error) != nullptr;
  if (has_words) return error.what();
  return fmt::format("unexpected failure: {}", error.what());
}

}  // namespace edgejoule::driver
