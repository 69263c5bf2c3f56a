// Random programs of calls end as their model says. A replay: LUNAR_SEED=N.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "targets.h"
#include "values.h"

namespace lunar_fuzz {
namespace {

TEST(Calls, in_any_order_do_what_the_model_says) {
  std::mt19937_64 random(lunar_test::test_seed());
  const auto programs = 1500 / lunar_test::one_in(5);
  for (std::uint64_t i = 0; i < programs; ++i) {
    std::vector<std::uint8_t> program(100 + random() % 1500);
    for (auto& byte : program) byte = static_cast<std::uint8_t>(random());
    run_calls(program.data(), program.size());
  }
}

}  // namespace
}  // namespace lunar_fuzz
