// Writes decimal digits eight at a time. Every operation needs a key name of 19 digits.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace edgejoule::driver {

inline constexpr std::size_t decimal_digits_max = 20;

// Number of digits; 1 for 0.
inline std::size_t decimal_digits(std::uint64_t number) {
  static constexpr auto powers = [] {
    std::array<std::uint64_t, decimal_digits_max> table{};
    std::uint64_t power = 1;
    for (auto& entry : table) {
      entry = power;
      power *= 10;
    }
    return table;
  }();
  const auto guess = static_cast<std::size_t>(std::bit_width(number | 1U)) * 1233 / 4096;  // log10(2) = 1233/4096
  return guess + (guess == 0 || number >= powers[guess] ? 1 : 0);
}

// Writes eight digits with leading zeros; number < 10^8.
inline void write_eight_digits(char* out, std::uint32_t number) {
  static_assert(std::endian::native == std::endian::little);
  // Splits into two groups of four digits, then four of two, then eight of one, each in a separate lane.
  std::uint64_t lanes = number / 10'000U + (static_cast<std::uint64_t>(number % 10'000U) << 32U);
  const std::uint64_t hundreds = (lanes * 10'486U >> 20U) & 0x0000'007F'0000'007FU;
  lanes = hundreds + ((lanes - hundreds * 100U) << 16U);
  const std::uint64_t tens = (lanes * 103U >> 10U) & 0x000F'000F'000F'000FU;
  lanes = tens + ((lanes - tens * 10U) << 8U);
  lanes += 0x3030'3030'3030'3030U;
  std::memcpy(out, &lanes, sizeof lanes);
}

// Writes all 20 digits, with leading zeros.
inline void write_twenty_digits(char* out, std::uint64_t number) {
  constexpr std::uint64_t eight_digits = 100'000'000U;
  const auto high = number / (eight_digits * eight_digits);
  const auto low = number % (eight_digits * eight_digits);
  for (std::size_t digit = 4, rest = static_cast<std::size_t>(high); digit-- > 0; rest /= 10)
    out[digit] = static_cast<char>('0' + rest % 10);
  write_eight_digits(out + 4, static_cast<std::uint32_t>(low / eight_digits));
  write_eight_digits(out + 12, static_cast<std::uint32_t>(low % eight_digits));
}

// A key that is a decimal number with leading zeros up to a width. Builds it in its own buffer; a view is valid until
// the next call. One per thread.
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
