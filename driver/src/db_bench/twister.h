// The first word of a 64-bit Mersenne Twister (Matsumoto, Nishimura 2000, 2004): how db_bench scatters a number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace edgejoule::driver::db_bench {

// Several at once: one alone is a chain of 156 multiplications of which each waits for the one before it.
inline constexpr std::size_t scattered_at_once = 8;
using Scattered = std::array<std::uint64_t, scattered_at_once>;

// Replaces each number by what std::mt19937_64 seeded with it gives first.
void scatter(Scattered& numbers);

}  // namespace edgejoule::driver::db_bench
