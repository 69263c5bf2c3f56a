// The seed of a random test: random and printed, or taken from EDGEJOULE_TEST_SEED.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace edgejoule::driver {

inline std::uint64_t test_seed() {
  const char* given = std::getenv("EDGEJOULE_TEST_SEED");
  const std::uint64_t seed = given == nullptr ? std::random_device{}() : std::stoull(given);
  std::printf("replay with EDGEJOULE_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace edgejoule::driver
