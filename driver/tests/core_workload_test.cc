#include "workload/core/core_workload.h"

#include <gtest/gtest.h>

#include <numeric>

namespace edgejoule::driver {
namespace {

using Pairs = std::map<std::string, std::string>;

CoreWorkload workload(const Pairs& pairs, Command command = Command::run) {
  Properties properties;
  properties.set("recordcount", "1000");
  properties.set("operationcount", "500");
  for (const auto& [key, value] : pairs) properties.set(key, value);
  return {properties, command};
}

TEST(CoreWorkload, defaults_are_those_of_ycsb) {
  const auto defaults = workload({});
  EXPECT_EQ(defaults.fields.size(), 10U);
  EXPECT_EQ(defaults.fields[9], "field9");
  EXPECT_EQ(defaults.field_bytes.most, 100U);
  EXPECT_EQ(defaults.proportions, (std::array<double, transaction_kinds>{0.95, 0.05, 0, 0, 0}));
  EXPECT_EQ(defaults.requests.distribution, RequestDistribution::uniform);
  EXPECT_EQ(defaults.scan_records.most, 1000U);
  EXPECT_TRUE(defaults.hashed_keys);
  EXPECT_TRUE(defaults.read_all_fields);
  EXPECT_FALSE(defaults.write_all_fields);
  EXPECT_EQ(defaults.in_force.at("requestdistribution"), "uniform");
}

TEST(CoreWorkload, load_inserts_its_part_and_run_does_the_operations) {
  EXPECT_EQ(workload({}, Command::load).operations, 1000U);
  EXPECT_EQ(workload({{"insertstart", "200"}, {"insertcount", "300"}}, Command::load).operations, 300U);
  EXPECT_EQ(workload({{"insertstart", "200"}}, Command::load).operations, 800U);
  EXPECT_EQ(workload({}).operations, 500U);
  EXPECT_EQ(workload({{"insertproportion", "0.05"}}).requests.reserved, 50U);
}

TEST(CoreWorkload, counts_beyond_32_bits_are_kept) {
  EXPECT_EQ(workload({{"operationcount", "5000000000"}}).operations, 5'000'000'000U);
  EXPECT_EQ(workload({{"recordcount", "5000000000"}}, Command::load).operations, 5'000'000'000U);
}

TEST(CoreWorkload, what_cannot_be_done_is_refused) {
  const std::vector<Pairs> refused{{{"recordcount", "0"}},
                                   {{"operationcount", "0"}},
                                   {{"readproportion", "-0.1"}},
                                   {{"readproportion", "0"}, {"updateproportion", "0"}},
                                   {{"requestdistribution", "zipf"}},
                                   {{"fieldcount", "0"}},
                                   {{"fieldlengthdistribution", "histogram"}},
                                   {{"minfieldlength", "200"}, {"fieldlengthdistribution", "uniform"}},
                                   {{"minscanlength", "2000"}},
                                   {{"dataintegrity", "true"}, {"fieldlengthdistribution", "uniform"}},
                                   {{"insertstart", "1000"}},
                                   {{"insertstart", "500"}, {"insertcount", "501"}},
                                   {{"insertorder", "random"}},
                                   {{"batchsize", "0"}}};
  for (const auto& pairs : refused)
    EXPECT_THROW(static_cast<void>(workload(pairs)), UsageError) << pairs.begin()->first;
  EXPECT_THROW(CoreWorkload(Properties(), Command::load), UsageError);
}

}  // namespace
}  // namespace edgejoule::driver
