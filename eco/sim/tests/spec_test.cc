#include "spec.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

using namespace eco::sim;
namespace fs = std::filesystem;

const fs::path root = ECO_ROOT;

class SpecFiles : public testing::Test {
 protected:
  SpecFiles() : folder_(fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::create_directories(folder_);
    for (const auto& [name, from] : {std::pair{"experiment.toml", root / "experiments/eco-paper/sim/fillrandom.toml"},
                                     {"tiers.toml", root / "eco/sim/tiers/paper.toml"},
                                     {"calibration.toml", root / "eco/sim/calibration/reference.toml"}})
      fs::copy_file(from, folder_ / name, fs::copy_options::overwrite_existing);
    replace("experiment.toml", "../../../eco/sim/tiers/paper.toml", "tiers.toml");
    replace("experiment.toml", "../../../eco/sim/calibration/measured.toml", "calibration.toml");
  }
  ~SpecFiles() override { fs::remove_all(folder_); }

  void replace(const char* file, const std::string& old, const std::string& by) {
    std::stringstream text;
    text << std::ifstream(folder_ / file).rdbuf();
    std::string all = text.str();
    const auto at = all.find(old);
    ASSERT_NE(at, std::string::npos) << old;
    all.replace(at, old.size(), by);
    std::ofstream(folder_ / file) << all;
  }
  [[nodiscard]] std::string error() const {
    try {
      (void)read_spec(folder_ / "experiment.toml");
    } catch (const SpecError& error) {
      const std::string what = error.what();
      return what.substr(what.rfind(folder_.string(), 0) == 0 ? folder_.string().size() + 1 : 0);
    }
    return "";
  }
  fs::path folder_;
};

TEST_F(SpecFiles, of_the_paper_are_read) {
  const Spec spec = read_spec(folder_ / "experiment.toml");
  EXPECT_EQ(spec.servers.size(), 6U);
  EXPECT_EQ(spec.tiers[spec.servers[0].tier].cores, 8);
  EXPECT_EQ(spec.tiers[spec.servers[0].tier].power.busy_core_w, 7);
  EXPECT_EQ(spec.tiers[spec.servers[0].tier].link_bytes_s, 1.25e9);
  EXPECT_NEAR(spec.tiers[spec.servers[0].tier].costs.put_s, 7.1e-6 / 1.22, 1e-12);
  EXPECT_EQ(spec.database.delayed_write_rate, 8 << 20);
  EXPECT_EQ(spec.placement_s, 0.05);
}

TEST_F(SpecFiles, with_a_key_that_does_not_exist_are_refused_by_file_line_and_key) {
  replace("experiment.toml", "duration_s = 600", "durations_s = 600");
  EXPECT_EQ(error().rfind("experiment.toml:9: run.durations_s: unknown key; [run] knows duration_s, seeds, ", 0), 0U)
      << error();
}

TEST_F(SpecFiles, with_a_key_that_does_not_exist_in_a_server_are_refused) {
  replace("experiment.toml", "name = \"Low-2\"", "name = \"Low-2\"\nwatts = 3");
  EXPECT_NE(error().find("servers[5].watts: unknown key"), std::string::npos) << error();
}

TEST_F(SpecFiles, with_a_figure_without_its_source_are_refused) {
  replace("tiers.toml", "slots = \"cores / 4; the paper does not say\"", "");
  EXPECT_NE(error().find("expected the source of slots"), std::string::npos) << error();
}

TEST_F(SpecFiles, with_an_unknown_tier_workload_or_policy_are_refused) {
  replace("experiment.toml", "tier = \"medium\"", "tier = \"mediocre\"");
  EXPECT_EQ(error(),
            "experiment.toml:34: servers[2].tier: expected one of high, low-1, low-2, medium; there is no mediocre");
  replace("experiment.toml", "tier = \"mediocre\"", "tier = \"medium\"\nworkload = \"fill\"");
  EXPECT_NE(error().find("expected one of fillrandom; there is no fill"), std::string::npos) << error();
}

TEST_F(SpecFiles, with_an_unknown_policy_are_refused) {
  replace("experiment.toml", "\"edgepilot\"", "\"edge-pilot\"");
  EXPECT_EQ(error(), "experiment.toml:11: run.policies: no policy is named edge-pilot");
}

TEST_F(SpecFiles, with_a_policy_that_names_no_server_are_refused) {
  replace("experiment.toml", "\"edgepilot\"", "\"static:nobody\"");
  EXPECT_EQ(
      error(),
      "policy static:nobody: no server is named nobody; expected one of High-1, High-2, Medium-1, Medium-2, Low-1, "
      "Low-2");
}

TEST_F(SpecFiles, that_are_no_toml_are_refused_by_line) {
  replace("experiment.toml", "[run]", "[run");
  EXPECT_EQ(error().rfind("experiment.toml:8: ", 0), 0U) << error();
}

TEST_F(SpecFiles, with_numbers_out_of_range_are_refused) {
  replace("experiment.toml", "duration_s = 600", "duration_s = 0");
  EXPECT_EQ(error(), "experiment.toml:9: run.duration_s: expected a number, 1 or more");
}

TEST_F(SpecFiles, say_of_all_servers_how_slow_they_are_and_of_one_otherwise) {
  replace("experiment.toml", "[run]", "[run]\nslow_share = 0.2\nslow_factor = 4");
  replace("experiment.toml", "name = \"High-1\"", "name = \"High-1\"\nslow_share = 0");
  const Spec spec = read_spec(folder_ / "experiment.toml");
  EXPECT_EQ(spec.servers[0].slow_share, 0);
  EXPECT_EQ(spec.servers[1].slow_share, 0.2);
  EXPECT_EQ(spec.servers[1].slow_factor, 4);
  replace("experiment.toml", "slow_share = 0.2", "slow_share = 1.2");
  EXPECT_EQ(error(), "experiment.toml:9: run.slow_share: expected at most 1");
}

TEST_F(SpecFiles, take_a_tiers_own_calibration_before_its_speed) {
  std::ofstream(folder_ / "calibration.toml", std::ios::app) << R"(
[costs.high]
put_us = 3
put_ns_per_byte = 0
get_us = 1
get_us_per_level0_file = 1
seek_us = 1
seek_us_per_level0_file = 1
flush_us_per_entry = 1
flush_ns_per_byte = 1
compaction_us = 1
compaction_us_per_entry = 1
compaction_ns_per_byte = 1
transfer_ns_per_byte = 1
verify_ns_per_byte = 1
)";
  const Spec spec = read_spec(folder_ / "experiment.toml");
  EXPECT_EQ(spec.tiers[spec.servers[0].tier].costs.put_s, 3e-6);
}

TEST_F(SpecFiles, are_scaled) {
  const Spec spec = read_spec(folder_ / "experiment.toml", {scale_of("high.busy_core_w=1.5")});
  EXPECT_EQ(spec.tiers[spec.servers[0].tier].power.busy_core_w, 10.5);
  EXPECT_THROW((void)read_spec(folder_ / "experiment.toml", {scale_of("highest.busy_core_w=1.5")}), SpecError);
  for (const char* text : {"high.cores=0", "high.slots=0.01", "high.speed=0"})
    EXPECT_THROW((void)read_spec(folder_ / "experiment.toml", {scale_of(text)}), SpecError) << text;
  for (const char* text : {"high.cores=inf", "high.cores=nan", "", "high", "high.watts=2", "high.idle_w",
                           "high.idle_w=x", "high.idle_w=-1"})
    EXPECT_THROW((void)scale_of(text), SpecError) << text;
}

}  // namespace
