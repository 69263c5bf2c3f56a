#include <gtest/gtest.h>

#include <string>

extern "C" {
#include "device/checksum.h"
}

namespace {

// The XXH32 specification's sanity check: its values for its buffer (bytes of a multiplicative generator).
std::string sanity_buffer(std::size_t bytes) {
  std::string buffer;
  std::uint64_t state = 2654435761U;
  for (std::size_t i = 0; i < bytes; ++i) {
    buffer.push_back(static_cast<char>(state >> 56U));
    state *= 11400714785074694797U;
  }
  return buffer;
}

std::uint32_t checksum(const std::string& text, std::uint32_t seed) {
  return ln_checksum(seed, text.data(), text.size());
}

TEST(Checksum, has_the_values_of_the_specification) {
  EXPECT_EQ(checksum("", 0), 0x02CC5D05U);
  EXPECT_EQ(checksum("", 2654435761U), 0x36B78AE7U);
  EXPECT_EQ(checksum(sanity_buffer(1), 0), 0xCF65B03EU);
  EXPECT_EQ(checksum(sanity_buffer(1), 2654435761U), 0xB4545AA4U);
  EXPECT_EQ(checksum(sanity_buffer(14), 0), 0x1208E7E2U);
  EXPECT_EQ(checksum(sanity_buffer(14), 2654435761U), 0x6AF1D1FEU);
  EXPECT_EQ(checksum(sanity_buffer(222), 0), 0x5BD11DBDU);
  EXPECT_EQ(checksum(sanity_buffer(222), 2654435761U), 0x58803C5FU);
}

TEST(Checksum, is_the_same_in_pieces_of_any_size) {
  const std::string text = sanity_buffer(200);
  for (std::size_t piece = 1; piece < 40; ++piece) {
    ln_sum sum{};
    ln_sum_begin(&sum, 7);
    for (std::size_t at = 0; at < text.size(); at += piece) {
      ln_sum_add(&sum, text.data() + at, std::min(piece, text.size() - at));
    }
    EXPECT_EQ(ln_sum_end(&sum), checksum(text, 7)) << piece;
  }
}

}  // namespace
