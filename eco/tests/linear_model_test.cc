#include "linear_model.h"

#include <gtest/gtest.h>

namespace {

TEST(LinearModel, learns_a_line) {
  eco::LinearModel model;
  for (int i = 1; i <= 20; ++i) model.learn({1, 0.1 * i, 0}, 0.5 + 0.3 * i);
  EXPECT_NEAR(model.predict({1, 4, 0}).mean, 12.5, 0.05);
}

}  // namespace
