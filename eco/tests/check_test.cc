#include "check.h"

#include <gtest/gtest.h>

#include <string>

#include "policy.h"

namespace {

using namespace eco;

std::string mistake_of(const auto& work) {
  try {
    work();
  } catch (const Mistake& mistake) {
    return mistake.what();
  }
  return "";
}

TEST(Check, a_mistake_names_the_place_the_condition_and_the_values) {
  const int jobs = 3;
  EXPECT_EQ(mistake_of([&] { ECO_CHECK(jobs == 3, jobs); }), "");
  const std::string mistake = mistake_of([&] { ECO_CHECK(jobs < 2, jobs, 0.5, std::string("node")); });
  EXPECT_TRUE(mistake.starts_with("internal error in eco: check_test.cc:")) << mistake;
  EXPECT_TRUE(mistake.ends_with("assertion failed: jobs < 2; jobs, 0.5, std::string(\"node\") = 3, 0.5, \"node\""))
      << mistake;
}

TEST(Check, a_home_that_is_not_in_the_table_decides_nothing) {
  EXPECT_THROW(static_cast<void>(decide({}, {}, {}, 0)), Mistake);
  EXPECT_THROW(static_cast<void>(decide({}, {}, std::vector<Server>(2), 2)), Mistake);
}

}  // namespace
