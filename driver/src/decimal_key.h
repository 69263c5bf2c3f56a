// Keys that are numbers in decimal digits, with leading zeros up to a width.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "decimal.h"

namespace edgejoule::driver {

// Builds into a buffer of its own; a view lives until the next call. One per thread.
class DecimalKey {
 public:
  // width: at most 20; 0: no leading zeros.
  explicit DecimalKey(std::size_t width) : width_(width) {}

  std::string_view of(std::uint64_t number) {
    write_twenty_digits(digits_.data(), number);
    const auto length = std::max(width_, decimal_digits(number));
    return {digits_.data() + digits_.size() - length, length};
  }

 private:
  std::size_t width_;
  std::array<char, decimal_digits_max> digits_;
};

}  // namespace edgejoule::driver
