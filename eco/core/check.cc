#include "check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace eco::checks {

std::string text_of(double value) { return fmt::format("{}", value); }

void throw_mistake(const char* file, int line, const char* condition, const char* names,
                   std::initializer_list<std::string> values) {
  const auto which = values.size() == 0 ? std::string() : fmt::format("; {} = {}", names, fmt::join(values, ", "));
  throw Mistake(fmt::format("internal error in eco: {}:{}: assertion failed: {}{}", file, line, condition, which));
}

}  // namespace eco::checks
