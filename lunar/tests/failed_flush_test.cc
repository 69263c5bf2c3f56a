// A flush fails once, as fdatasync does on Linux: the data stay in the cache, are read from there, and no later flush
// writes them. This shows why lunar.h requires a driver that reads the medium afterwards, and that this suffices.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "lunar.h"
#include "values.h"
#include "world.h"

namespace lunar_test {
namespace {

enum class Cache { is_dropped_with_a_failed_flush, is_read_after_a_failed_flush };

class CachedDevice {
 public:
  CachedDevice(Cache cache, lunar_mode mode) : cache_(cache) {
    config.context = this, config.sector_bytes = sector_bytes, config.sector_count = sectors;
    config.buffer = buffer_.data(), config.buffer_bytes = buffer_.size() * sizeof buffer_[0];
    config.mode = mode;
    config.read = [](const lunar_config* c, std::uint32_t sector, void* data, std::uint32_t count) {
      auto& self = *static_cast<CachedDevice*>(c->context);
      std::copy_n(&self.cached_[sector * sector_bytes], count * sector_bytes, static_cast<std::uint8_t*>(data));
      return 0;
    };
    config.write = [](const lunar_config* c, std::uint32_t sector, const void* data, std::uint32_t count) {
      auto& self = *static_cast<CachedDevice*>(c->context);
      std::copy_n(static_cast<const std::uint8_t*>(data), count * sector_bytes, &self.cached_[sector * sector_bytes]);
      std::fill_n(self.dirty_.begin() + sector, count, 1);
      return 0;
    };
    config.sync = [](const lunar_config* c) { return static_cast<CachedDevice*>(c->context)->flush(); };
  }

  void cut_power() {
    cached_ = medium_;
    std::fill(dirty_.begin(), dirty_.end(), 0);
  }

  lunar_config config{};
  int failing_flush = -1;  // number of successful flushes before the failing one; -1: none fails

 private:
  int flush() {
    const bool fails = failing_flush >= 0 && failing_flush-- == 0;
    for (std::size_t i = 0; i < sectors; ++i) {
      if (dirty_[i] != 0 && !fails) std::copy_n(&cached_[i * sector_bytes], sector_bytes, &medium_[i * sector_bytes]);
      dirty_[i] = 0;
    }
    if (fails && cache_ == Cache::is_dropped_with_a_failed_flush) cached_ = medium_;
    return fails ? -1 : 0;
  }

  static constexpr std::size_t sector_bytes = 512, sectors = 4096;
  Cache cache_;
  std::vector<std::uint8_t> cached_ = std::vector<std::uint8_t>(sectors * sector_bytes), medium_ = cached_,
                            dirty_ = std::vector<std::uint8_t>(sectors);
  std::vector<std::uint64_t> buffer_ = std::vector<std::uint64_t>(512);
};

// A program that follows GUIDE.md: after the failure it unmounts, mounts and continues. Then the power fails. run()
// returns the fault as text, or "".
class Program {
 public:
  Program(Cache cache, lunar_mode mode, std::uint32_t text_bytes) : device_(cache, mode), text_(text_bytes, 'x') {}

  std::string run(int failing_flush) {
    lunar_schema schema{};
    schema.column_count = 2, schema.index = LUNAR_INDEX_TREE;
    schema.columns[0] = {"k", LUNAR_INT64, 0}, schema.columns[1] = {"t", LUNAR_TEXT, 0};
    if (lunar_format(&device_.config) || mount() || lunar_table_create(&db_, "t", &schema) || open()) return "no table";
    while (next_ < 20)
      if (insert_one()) return "no first rows";
    if (lunar_sync(&db_)) return "no sync";
    device_.failing_flush = failing_flush;
    while (insert_one() == 0)
      if (next_ % 5 == 0 && lunar_sync(&db_)) break;
    if (lunar_unmount(&db_) != LUNAR_E_FAILED) return "a handle that goes on after a failed flush";
    if (mount() || open()) return "no mount after the failed flush";
    for (int i = 0; i < 5; ++i)
      if (insert_one()) return "no row after the failed flush";
    std::uint64_t rows_before = 0, rows = 0;
    lunar_findings findings{};
    if (lunar_count(&table_, &rows_before) || lunar_sync(&db_)) return "no count";
    device_.cut_power();
    if (mount() || open()) return "no mount after the cut";
    if (lunar_check(&db_, &findings)) return std::string("after the cut: ") + findings.text;
    if (lunar_count(&table_, &rows)) return "no count after the cut";
    return rows == rows_before ? "" : std::to_string(rows) + " of " + std::to_string(rows_before) + " durable rows";
  }

 private:
  int mount() { return lunar_mount(&db_, &device_.config); }
  int open() { return lunar_table_open(&db_, "t", &table_); }
  int insert_one() {
    const lunar_value row[2] = {integer(next_++), text(text_)};
    return lunar_insert(&table_, row);
  }

  CachedDevice device_;
  std::string text_;
  lunar db_{};
  lunar_table table_{};
  std::int64_t next_ = 0;
};

int losses(Cache cache) {
  int lost = 0;
  for (const lunar_mode mode : {LUNAR_MODE_METADATA, LUNAR_MODE_DATA, LUNAR_MODE_FULL})
    for (const std::uint32_t text_bytes : {20U, 450U})
      for (int failing_flush = 0; failing_flush < 8; ++failing_flush) {
        const std::string wrong = Program(cache, mode, text_bytes).run(failing_flush);
        if (wrong.empty()) continue;
        ++lost;
        if (cache == Cache::is_dropped_with_a_failed_flush)
          ADD_FAILURE() << "mode " << mode << ", texts of " << text_bytes << ", flush " << failing_flush << ": "
                        << wrong;
      }
  return lost;
}

TEST(FailedFlush, loses_nothing_on_a_device_that_then_reads_its_medium) {
  EXPECT_EQ(losses(Cache::is_dropped_with_a_failed_flush), 0);
}

TEST(FailedFlush, loses_rows_on_a_device_that_goes_on_reading_what_it_could_not_write) {
  EXPECT_GT(losses(Cache::is_read_after_a_failed_flush), 0);
}

// After a cut, one write or flush of the mount fails, and a part of what was not flushed is lost. The next mount has
// every operation that was durable.
TEST(FailedFlush, in_a_mount_is_repeated_by_the_next_one) {
  constexpr std::uint32_t sectors = 2048;
  const std::uint64_t first_seed = test_seed(), seeds = 60 / one_in(5);
  std::uint32_t mounts = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    World world({.sectors = sectors,
                 .log_bytes = 512 * 512,
                 .keys = 300,
                 .text_bytes_max = 100,
                 .secondary = static_cast<std::uint32_t>(seed % 3),
                 .first_rows = 100},
                seed);
    for (int i = 0; i < 60; ++i) ASSERT_EQ(world.step(), 0) << world.did;
    world.cut();
    emubd before{};
    ASSERT_EQ(emubd_open(&before, 512, sectors), 0);
    ASSERT_EQ(emubd_copy(&before, &world.device), 0);
    for (const bool skips : {false, true})
      for (std::uint64_t call = 1;; ++call) {
        world.config().skip_unreadable = skips ? 1 : 0;
        ASSERT_EQ(emubd_copy(&world.device, &before), 0);
        emubd_reset(&world.device);
        world.device.mounted = nullptr;
        world.device.fail_at = call;
        if (world.mount() == 0 && world.device.calls < call) break;
        if (world.device.failed_request == LUNAR_REQUEST_READ) continue;  // with skip_unreadable, the end of the log
        emubd_reset(&world.device);
        world.cut();
        world.device.mounted = nullptr;
        ++mounts;
        const std::string place = "seed " + std::to_string(seed) + ", call " + std::to_string(call) + " fails" +
                                  (skips ? ", skip_unreadable" : "");
        ASSERT_EQ(world.mount(), 0) << place;
        const auto state = world.read();
        ASSERT_TRUE(state) << place;
        ASSERT_EQ(*state, world.now) << place;
        lunar_findings found{};
        ASSERT_EQ(lunar_check(&world.db, &found), 0) << place << ": " << found.text;
      }
    emubd_close(&before);
  }
  std::printf("%u mounts with a failed request before them\n", mounts);
}

}  // namespace
}  // namespace lunar_test
