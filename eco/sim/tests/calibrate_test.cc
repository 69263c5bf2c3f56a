#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "calibration_file.h"
#include "spec.h"

namespace {

using namespace eco::calibrate;
namespace fs = std::filesystem;

TEST(Fit, finds_a_law_that_the_observations_obey) {
  std::vector<Observation> all;
  for (const double entries : {1e3, 1e5, 1e6})
    for (const double bytes : {1e6, 1e7, 1e8})
      for (const double out : {0.2, 1.0})
        all.push_back({{1, entries, bytes, out * bytes}, 2e-3 + 3e-7 * entries + 4e-9 * bytes + 1e-9 * out * bytes});
  const Fit found = fit(all);
  EXPECT_NEAR(found.coefficients[0], 2e-3, 1e-6);
  EXPECT_NEAR(found.coefficients[1], 3e-7, 1e-10);
  EXPECT_NEAR(found.coefficients[2], 4e-9, 1e-12);
  EXPECT_NEAR(found.coefficients[3], 1e-9, 1e-12);
  EXPECT_LT(found.error_p90, 1e-6);
}

TEST(Fit, has_no_coefficient_below_0) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200; ++i) {
    std::vector<Observation> all;
    for (int j = 0; j < 12; ++j) {
      Observation one;
      for (double& term : one.terms) term = static_cast<double>(random() % 1000);
      one.cpu_s = 1 + static_cast<double>(random() % 1000);
      all.push_back(one);
    }
    for (const double coefficient : fit(all).coefficients) ASSERT_GE(coefficient, 0) << "seed 7, case " << i;
  }
}

TEST(Fit, tells_how_far_the_observations_are_from_it) {
  std::vector<Observation> all;
  for (int i = 0; i < 100; ++i) all.push_back({{1}, i % 2 == 0 ? 0.9 : 1.1});
  EXPECT_NEAR(fit(all).error_median, 0.1, 0.02);
}

TEST(Fit, leaves_out_what_is_proportional_to_another_term_and_what_took_no_time) {
  std::vector<Observation> all;
  for (int i = 1; i < 10; ++i) all.push_back({{0, 1.0 * i, 10.0 * i}, 20.0 * i});
  all.push_back({{0, 5, 7}, 0});
  const Fit found = fit(all);
  EXPECT_EQ(found.observations, 9U);
  EXPECT_NEAR(found.coefficients[1] + 10 * found.coefficients[2], 20, 1e-6);
}

TEST(Spread, is_the_range_of_the_rounds_by_their_median) {
  EXPECT_NEAR(spread({1.0, 1.2, 0.9}).range, 0.3, 1e-9);
  EXPECT_EQ(spread({}).median, 0);
}

// A calibration of real operations, as small as they come.
TEST(Calibration, is_read_by_the_simulator) {
  const fs::path folder = fs::path(testing::TempDir()) / "eco-calibration";
  fs::remove_all(folder), fs::create_directories(folder);
  const Plan plan{.value_bytes = {100, 1000}, .write_buffer_mb = {1}, .rounds = 1, .directory = folder};
  std::vector<double> parts;
  const Measured measured = measure(plan, [&](const std::string&, double part) { parts.push_back(part); });
  EXPECT_EQ(parts.size(), 8U);
  const Costs costs = costs_of(measured);
  std::ofstream(folder / "calibration.toml") << toml_of(plan, measured, costs, "a test", "eco-calibrate");
  std::ofstream(folder / "tiers.toml") << R"(
schema_version = 1
[tiers.here]
cores = 1
speed = 1
link_gbit_s = 1
slots = 1
idle_w = 1
busy_core_w = 1
transfer_nj_per_byte = 1
[tiers.here.sources]
cores = "-"
speed = "-"
link_gbit_s = "-"
slots = "-"
idle_w = "-"
busy_core_w = "-"
transfer_nj_per_byte = "-"
)";
  std::ofstream(folder / "experiment.toml") << R"(
schema_version = 1
name = "n"
question = "q"
tiers = "tiers.toml"
calibration = "calibration.toml"
[workloads.fill]
kind = "fillrandom"
[[servers]]
name = "a"
tier = "here"
)";
  const auto tier = eco::sim::read_spec(folder / "experiment.toml").tiers.front();
  const auto near = [](double read, double fitted) { EXPECT_NEAR(read, fitted, 1e-3 * fitted); };
  near(tier.costs.put_s, costs.put.coefficients[0]);
  near(tier.costs.get_s, costs.get_s);
  near(tier.costs_of("Snappy").compaction_s_per_byte, costs.codecs.at("Snappy").compaction.coefficients[2]);
  near(tier.costs_of("NoCompression").compaction_s_per_entry,
       costs.codecs.at("NoCompression").compaction.coefficients[1]);
  EXPECT_GT(tier.costs.put_s + tier.costs.put_s_per_byte * 100, 1e-7);
  EXPECT_GT(tier.costs.flush_s_per_entry + tier.costs.flush_s_per_byte, 0);
  fs::remove_all(folder);
}

}  // namespace
