#include <gtest/gtest.h>

#include "bench_bed.h"

namespace {

using namespace eco::test;
using Difference = Bed::Difference;

TEST(Offload, a_worker_process_compacts_level_0_and_every_key_is_read_back) {
  TemporaryFolder folder;
  WorkerProcess worker(folder / "scratch");
  rocksdb::Options options = small_tables();
  const auto placer = std::make_shared<StubbornPlacer>(worker.address());
  const auto service = eco::attach(options, {.placer = placer});
  Bed bed(folder / "db", options);
  bed.write(60000, 1);
  bed.settle();
  const eco::Statistics statistics = service->statistics();
  EXPECT_GT(statistics.installed, 5U) << statistics.last_reason;
  EXPECT_EQ(statistics.fell_back, 0U) << statistics.last_reason;
  EXPECT_EQ(statistics.kept, 0U) << statistics.last_reason;
  EXPECT_EQ(bed.difference(), Difference{});
  bed.reopen(small_tables());
  EXPECT_EQ(bed.difference(), Difference{});
  EXPECT_TRUE(bed.db().VerifyChecksum().ok());
  EXPECT_EQ(bed.background_errors(), 0U);
  EXPECT_FALSE(std::filesystem::exists(folder / "db/eco-staging"));
}

}  // namespace
