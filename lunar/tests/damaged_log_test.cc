// One bit is flipped in a group of the log that later groups mark as flushed: the mount reports the damage and loses
// nothing silently.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "emubd.h"
#include "lunar.h"
#include "values.h"

namespace lunar_test {
namespace {

constexpr std::uint32_t sectors = 4096;

// Rows inserted singly after a checkpoint, with the sector that each was last written to.
class Volume {
 public:
  Volume(lunar_mode mode, std::uint32_t text_bytes, int rows_per_sync) {
    EXPECT_EQ(emubd_open(&device, 512, sectors), 0);
    emubd_config(&device, &config);
    config.buffer = buffer_.data(), config.buffer_bytes = buffer_.size() * sizeof buffer_[0], config.mode = mode;
    lunar_schema schema{};
    schema.column_count = 2;
    schema.columns[0] = {"k", LUNAR_INT64, 0}, schema.columns[1] = {"t", LUNAR_TEXT, 0};
    const std::string content(text_bytes, 'x');
    EXPECT_EQ(lunar_format(&config), 0);
    EXPECT_EQ(mount(), 0);
    EXPECT_EQ(lunar_table_create(&db, "t", &schema), 0);
    EXPECT_EQ(lunar_table_open(&db, "t", &table), 0);
    EXPECT_EQ(lunar_checkpoint(&db), 0);
    const auto write = config.write;
    static std::uint32_t last;
    static decltype(config.write) inner;
    inner = write;
    config.write = [](const lunar_config* c, std::uint32_t sector, const void* data, std::uint32_t count) {
      last = sector;
      return inner(c, sector, data, count);
    };
    for (int i = 0; i < rows; ++i) {
      const lunar_value row[2] = {integer(i), text(content)};
      EXPECT_EQ(lunar_insert(&table, row), 0);
      if ((i + 1) % rows_per_sync == 0) {
        EXPECT_EQ(lunar_sync(&db), 0);
      }
      written.push_back(last);
    }
    config.write = write;
  }
  ~Volume() { emubd_close(&device); }
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  void flip(std::uint32_t sector, std::uint32_t byte) { device.sectors[512 * sector + byte] ^= 1; }
  int mount() {
    device.mounted = nullptr;
    return lunar_mount(&db, &config);
  }
  std::uint64_t count() {
    std::uint64_t count = 0;
    EXPECT_EQ(lunar_table_open(&db, "t", &table), 0);
    EXPECT_EQ(lunar_count(&table, &count), 0);
    return count;
  }

  static constexpr int rows = 40;
  emubd device{};
  lunar_config config{};
  lunar db{};
  lunar_table table{};
  std::vector<std::uint32_t> written;

 private:
  std::vector<std::uint64_t> buffer_ = std::vector<std::uint64_t>(2048);
};

TEST(DamagedLog, is_reported_wherever_a_later_group_says_that_the_damaged_one_was_flushed) {
  for (const std::uint32_t text_bytes : {4U, 450U, 1500U})
    for (const std::uint32_t byte : {9U, 40U})  // in the group's header, and behind it
      for (int row = 0; row + 1 < Volume::rows; row += 3) {
        Volume volume(LUNAR_MODE_FULL, text_bytes, 1);
        volume.flip(volume.written[static_cast<std::size_t>(row)], byte);
        EXPECT_EQ(volume.mount(), LUNAR_E_CORRUPT) << "row " << row << " of " << text_bytes << ", byte " << byte;
      }
}

TEST(DamagedLog, is_left_as_it_is_so_that_a_better_copy_of_the_sector_brings_all_back) {
  for (const std::uint32_t text_bytes : {4U, 450U})
    for (const std::uint32_t byte : {9U, 40U}) {
      Volume volume(LUNAR_MODE_FULL, text_bytes, 1);
      volume.flip(volume.written[10], byte);
      EXPECT_EQ(volume.mount(), LUNAR_E_CORRUPT);
      EXPECT_EQ(volume.mount(), LUNAR_E_CORRUPT);
      volume.flip(volume.written[10], byte);
      ASSERT_EQ(volume.mount(), 0);
      EXPECT_EQ(volume.count(), static_cast<std::uint64_t>(Volume::rows));
    }
}

TEST(DamagedLog, ends_with_the_last_operation_before_the_damage_where_the_program_asks_for_that) {
  Volume volume(LUNAR_MODE_FULL, 4, 1);
  volume.flip(volume.written[10], 40);
  volume.config.skip_unreadable = 1;
  ASSERT_EQ(volume.mount(), 0);
  std::uint64_t count = 0;
  lunar_losses losses{};
  ASSERT_EQ(lunar_table_open(&volume.db, "t", &volume.table), 0);
  EXPECT_EQ(lunar_count(&volume.table, &count), LUNAR_E_CORRUPT);  // pages in place may be later
  EXPECT_EQ(lunar_repair(&volume.table, &losses), 0);
  EXPECT_EQ(losses.rows + losses.blocks, 0U);
  EXPECT_EQ(volume.count(), 10U);
  lunar_findings findings{};
  EXPECT_EQ(lunar_check(&volume.db, &findings), 0);
}

TEST(DamagedLog, is_reported_in_the_other_modes_behind_a_later_sync) {
  for (const lunar_mode mode : {LUNAR_MODE_METADATA, LUNAR_MODE_DATA}) {
    Volume volume(mode, 450, 10);
    volume.flip(volume.written[14], 40);
    EXPECT_EQ(volume.mount(), LUNAR_E_CORRUPT) << "mode " << mode;
  }
}

TEST(DamagedLog, that_may_be_the_end_which_a_cut_left_is_taken_for_that) {
  Volume volume(LUNAR_MODE_FULL, 4, 1);
  volume.flip(volume.written.back(), 40);
  ASSERT_EQ(volume.mount(), 0);
  EXPECT_EQ(volume.count(), static_cast<std::uint64_t>(Volume::rows - 1));
}

}  // namespace
}  // namespace lunar_test
