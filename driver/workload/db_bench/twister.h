// The first output of a 64-bit Mersenne Twister (Matsumoto, Nishimura 2000, 2004). db_bench hashes a number by seeding
// the generator with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

namespace edgejoule::driver::db_bench {

// Several are computed together: a single one is a chain of 156 multiplications, each dependent on the one before.
inline constexpr std::size_t scattered_at_once = 8;
using Scattered = std::array<std::uint64_t, scattered_at_once>;

namespace twister {

using Twister = std::mt19937_64;

inline constexpr std::uint64_t lower_bits = (std::uint64_t{1} << Twister::mask_bits) - 1;

inline void seed_next(Scattered& state, std::uint64_t index) {
  for (auto& word : state) word = Twister::initialization_multiplier * (word ^ (word >> 62U)) + index;
}

inline std::uint64_t tempered(std::uint64_t word) {
  word ^= (word >> Twister::tempering_u) & Twister::tempering_d;
  word ^= (word << Twister::tempering_s) & Twister::tempering_b;
  word ^= (word << Twister::tempering_t) & Twister::tempering_c;
  return word ^ (word >> Twister::tempering_l);
}

}  // namespace twister

// Replaces each number by the first output of std::mt19937_64 seeded with it.
inline void scatter(Scattered& numbers) {
  using namespace twister;
  auto state = numbers;
  seed_next(state, 1);
  const auto second = state;
  for (std::uint64_t index = 2; index <= Twister::shift_size; ++index) seed_next(state, index);
  for (std::size_t i = 0; i < scattered_at_once; ++i) {
    const auto joined = (numbers[i] & ~lower_bits) | (second[i] & lower_bits);
    numbers[i] = tempered(state[i] ^ (joined >> 1U) ^ ((joined & 1U) != 0 ? Twister::xor_mask : 0));
  }
}

}  // namespace edgejoule::driver::db_bench
