// Damaged images are refused or survived: random ones, and every one that has failed so far. A replay: LUNAR_SEED=N.
#include "image.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

namespace lunar_fuzz {
namespace {

std::uint64_t seed_told() {
  const char* told = std::getenv("LUNAR_SEED");
  return told != nullptr ? std::strtoull(told, nullptr, 10) : 1;
}

TEST(DamagedImages, of_every_kind_that_are_sound_are_used) {
  for (std::uint8_t image = 0; image < 12; ++image) use_damaged_image(&image, 1);
}

TEST(DamagedImages, are_refused_or_survived) {
  const auto seed = seed_told();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 400; ++i) {
    std::vector<std::uint8_t> input(1 + 6 * (random() % 4) + random() % 6);
    for (auto& byte : input) byte = static_cast<std::uint8_t>(random());
    use_damaged_image(input.data(), input.size());
  }
}

}  // namespace
}  // namespace lunar_fuzz
