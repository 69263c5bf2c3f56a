// Texts of kernel attributes that are numbers, and texts that are not.
#include "whole_number.h"

#include <gtest/gtest.h>

namespace edgejoule::sampler {
namespace {

TEST(WholeNumber, takes_digits_with_or_without_a_newline) {
  EXPECT_EQ(whole_number("262143328850\n"), 262143328850);
  EXPECT_EQ(whole_number("0"), 0);
  EXPECT_EQ(whole_number("-12\n"), -12);
  EXPECT_EQ(whole_number("9223372036854775807\n"), INT64_MAX);
}

TEST(WholeNumber, refuses_all_else) {
  for (const char* text : {"", "\n", "-", "--1", "+1", " 1", "1 ", "1\n\n", "1.5\n", "1e6\n", "0x10", "garbage\n",
                           "12a\n", "9223372036854775808\n"}) {
    EXPECT_EQ(whole_number(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace edgejoule::sampler
