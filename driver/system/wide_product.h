// The 128-bit product of two 64-bit numbers as two halves, also for compilers without a 128-bit type (32-bit boards).
#pragma once

#include <cstdint>

namespace edgejoule::driver {

struct WideProduct {
  std::uint64_t high;
  std::uint64_t low;

  friend constexpr bool operator==(const WideProduct&, const WideProduct&) = default;
};

// Adds four products of 32-bit halves.
constexpr WideProduct wide_product_of_halves(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t half = 0xFFFF'FFFFU;
  const std::uint64_t low = (a & half) * (b & half);
  const std::uint64_t left = (a >> 32U) * (b & half) + (low >> 32U);
  const std::uint64_t right = (a & half) * (b >> 32U) + (left & half);
  return {(a >> 32U) * (b >> 32U) + (left >> 32U) + (right >> 32U), (right << 32U) | (low & half)};
}

constexpr WideProduct wide_product(std::uint64_t a, std::uint64_t b) {
#ifdef __SIZEOF_INT128__
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return {static_cast<std::uint64_t>(product >> 64U), static_cast<std::uint64_t>(product)};
#else
  return wide_product_of_halves(a, b);
#endif
}

}  // namespace edgejoule::driver
