#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "measured_json.h"

namespace {

using namespace eco::calibrate;
namespace fs = std::filesystem;

// The smallest operations. lab/tests/test_eco_calibration.py fits costs to such a file.
TEST(Measurements, are_json_with_every_observation) {
  const fs::path folder = fs::path(testing::TempDir()) / "eco-calibration";
  fs::remove_all(folder), fs::create_directories(folder);
  const Plan plan{.value_bytes = {100, 1000}, .write_buffer_mb = {1}, .rounds = 1, .directory = folder};
  std::vector<double> parts;
  const Measured measured = measure(plan, [&](const std::string&, double part) { parts.push_back(part); });
  EXPECT_EQ(parts.size(), 8U);
  const auto json = json_of(plan, measured, "a test", "eco-calibrate --quick");
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["machine"], "a test");
  EXPECT_EQ(json["reference_codec"], "Snappy");
  ASSERT_EQ(json["puts"].size(), 8U) << "one of each case";
  EXPECT_EQ(json["puts"][0]["terms"], (std::vector<double>{1, 116}));
  EXPECT_GT(json["puts"][0]["observed"], 1e-7);
  EXPECT_EQ(json["get_s"].size(), 2U);
  for (const char* codec : {"Snappy", "NoCompression"}) {
    const auto& of = json["codecs"][codec];
    EXPECT_EQ(of["flushes"].size(), measured.codecs.at(codec).flushes.size());
    ASSERT_FALSE(of["compactions"].empty());
    EXPECT_EQ(of["compactions"][0]["terms"], measured.codecs.at(codec).compactions[0].terms);
    EXPECT_EQ(of["compactions"][0]["terms"].size(), 4U);
    EXPECT_TRUE(of["home"].empty()) << "nothing was offloaded";
  }
  fs::remove_all(folder);
}

}  // namespace
