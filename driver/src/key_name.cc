#include "key_name.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "hash.h"

namespace edgejoule::driver {
namespace {

constexpr std::string_view prefix = "user";
constexpr std::size_t digits_max = 20;

}  // namespace

KeyName::KeyName(bool hashed, std::uint64_t zero_padding)
    : hashed_(hashed),
      zero_padding_(zero_padding),
      buffer_(prefix.size() + std::max<std::size_t>(zero_padding, digits_max), '0') {
  prefix.copy(buffer_.data(), prefix.size());
}

std::string_view KeyName::of(std::uint64_t number) {
  if (hashed_) number = fnv_hash(number);
  char* const begin = buffer_.data() + prefix.size();
  if (zero_padding_ <= 1) {
    const char* const end = std::to_chars(begin, begin + digits_max, number).ptr;
    return {buffer_.data(), static_cast<std::size_t>(end - buffer_.data())};
  }
  std::array<char, digits_max> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  const auto count = static_cast<std::size_t>(end - digits.data());
  const auto zeros = zero_padding_ > count ? zero_padding_ - count : 0;
  std::memset(begin, '0', zeros);
  std::memcpy(begin + zeros, digits.data(), count);
  return {buffer_.data(), prefix.size() + zeros + count};
}

}  // namespace edgejoule::driver
