// The product by halves equals the compiler's own 128-bit product, so 32-bit boards draw the same numbers.
#include "system/wide_product.h"

#include <gtest/gtest.h>

#include <array>

#include "system/random.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t all_ones = ~std::uint64_t{0};

using Product = WideProduct (*)(std::uint64_t, std::uint64_t);

// How many products differ from wide_product.
int differences(Product product) {
  constexpr std::array<std::uint64_t, 8> corners{
      0, 1, 0xFFFF'FFFFU, 0x1'0000'0000U, 0x1'0000'0001U, 1ULL << 63U, all_ones - 1, all_ones};
  int found = 0;
  for (const auto a : corners) {
    for (const auto b : corners) found += product(a, b) != wide_product(a, b);
  }
  Random random(1);
  for (int i = 0; i < 100'000; ++i) {
    const auto a = random.next() >> (random.next() % 64);
    const auto b = random.next() >> (random.next() % 64);
    found += product(a, b) != wide_product(a, b);
  }
  return found;
}

WideProduct without_carry(std::uint64_t a, std::uint64_t b) {
  auto product = wide_product_of_halves(a, b);
  product.high = (a >> 32U) * (b >> 32U);
  return product;
}

TEST(WideProduct, of_halves_is_that_of_128_bits) { EXPECT_EQ(differences(wide_product_of_halves), 0); }

TEST(WideProduct, without_its_carry_is_another) { EXPECT_GT(differences(without_carry), 0); }

TEST(WideProduct, of_the_largest_words_is_known) {
  EXPECT_EQ(wide_product_of_halves(all_ones, all_ones), (WideProduct{all_ones - 1, 1}));
}

}  // namespace
}  // namespace edgejoule::driver
