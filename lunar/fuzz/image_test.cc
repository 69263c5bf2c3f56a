// Damaged images are refused or survived: random ones, and every one that has failed so far. A replay: LUNAR_SEED=N.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "targets.h"
#include "values.h"

namespace lunar_fuzz {
namespace {

TEST(DamagedImages, of_every_kind_that_are_sound_are_used) {
  for (std::uint8_t image = 0; image < 16; ++image) use_damaged_image(&image, 1);
}

TEST(DamagedImages, are_refused_or_survived) {
  std::mt19937_64 random(lunar_test::test_seed());
  for (int i = 0; i < 400; ++i) {
    std::vector<std::uint8_t> input(1 + 6 * (random() % 4) + random() % 6);
    for (auto& byte : input) byte = static_cast<std::uint8_t>(random());
    use_damaged_image(input.data(), input.size());
  }
}

// An assertion failed: the log named LN_NONE, and a frame was taken for that sector.
TEST(DamagedImages, whose_log_goes_on_at_no_sector_are_refused) {
  const std::uint8_t input[] = {0x23, 0xcb, 0x3f, 0x2c, 0x26, 0x29, 0x00, 0x00, 0x00, 0x35, 0xcf};
  use_damaged_image(input, sizeof input);
}

}  // namespace
}  // namespace lunar_fuzz
