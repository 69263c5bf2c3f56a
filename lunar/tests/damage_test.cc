// Damage to single sectors: what is kept twice survives it.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "emubd.h"
#include "lunar.h"
#include "values.h"
#include "world.h"

namespace lunar_test {
namespace {

enum class Damage { zeroed, unreadable, flipped };

void damage(emubd& device, std::uint32_t sector, Damage how) {
  std::uint8_t* bytes = device.sectors + std::size_t{512} * sector;
  if (how == Damage::zeroed) std::memset(bytes, 0, 512);
  if (how == Damage::unreadable) emubd_set_bad(&device, sector, EMUBD_BAD_READ);
  if (how == Damage::flipped) bytes[100] ^= 4;
}

// A volume that keeps names, metadata and allocation twice, unmounted after a random life.
std::unique_ptr<World> unmounted_volume(std::uint64_t seed) {
  auto world = std::make_unique<World>(Options{.sectors = 2048, .keys = 60, .secondary = 2}, seed);
  for (int i = 0; i < 80; ++i) EXPECT_EQ(world->step(), 0) << world->did;
  EXPECT_EQ(world->unmount(), 0);
  emubd_reset(&world->device);
  return world;
}

TEST(KeptTwice, any_one_sector_of_names_metadata_and_allocation_may_be_lost) {
  const auto seed = test_seed();
  auto world = unmounted_volume(seed);
  const lunar_geometry g = world->db.geometry;
  ASSERT_EQ(g.kept_twice, 1);
  emubd saved{};
  ASSERT_EQ(emubd_open(&saved, 512, 2048), 0);
  ASSERT_EQ(emubd_copy(&saved, &world->device), 0);
  for (std::uint32_t sector = g.root_at; sector < g.log_at; ++sector)
    for (const Damage how : {Damage::zeroed, Damage::unreadable, Damage::flipped}) {
      SCOPED_TRACE("sector " + std::to_string(sector) + ", damage " + std::to_string(static_cast<int>(how)));
      World other(Options{.sectors = 2048, .keys = 60, .secondary = 2}, seed);
      ASSERT_EQ(emubd_copy(&other.device, &saved), 0);
      other.device.mounted = nullptr;
      damage(other.device, sector, how);
      ASSERT_EQ(other.mount(), 0);
      other.go_on_from(world->now);
      const auto state = other.read();
      ASSERT_TRUE(state);
      ASSERT_EQ(*state, world->now);
      lunar_findings found{};
      ASSERT_EQ(lunar_check(&other.db, &found), 0) << found.text;
      for (int i = 0; i < 12; ++i) ASSERT_EQ(other.step(), 0) << other.did;
      ASSERT_EQ(other.unmount(), 0);
      ASSERT_EQ(other.mount(), 0);
      const auto later = other.read();
      ASSERT_TRUE(later && *later == other.now);
    }
  emubd_close(&saved);
}

TEST(KeptTwice, both_copies_lost_is_reported) {
  auto world = unmounted_volume(test_seed());
  const lunar_geometry g = world->db.geometry;
  const std::uint32_t distance = g.map_at + g.map_sectors - g.root_at;
  ASSERT_EQ(world->mount(), 0);
  ASSERT_EQ(world->unmount(), 0);  // now the log has no image of the page
  damage(world->device, g.meta_at, Damage::flipped);
  damage(world->device, g.meta_at + distance, Damage::flipped);
  ASSERT_EQ(world->mount(), LUNAR_E_CORRUPT);
}

TEST(KeptTwice, a_page_read_from_its_second_copy_is_counted) {
  auto world = unmounted_volume(test_seed());
  damage(world->device, world->db.geometry.root_at, Damage::zeroed);
  ASSERT_EQ(world->mount(), 0);
  lunar_statistics stat{};
  ASSERT_EQ(lunar_stat(&world->db, &stat), 0);
  EXPECT_GE(stat.second_copies, 1U);
}

// Rows of a small and a large size, each with its checksum, on a volume that is unmounted.
class Rows {
 public:
  static constexpr int count = 60;
  explicit Rows(bool checksums, lunar_mode mode = LUNAR_MODE_DATA) {
    EXPECT_EQ(emubd_open(&device, 512, 2048), 0);
    emubd_config(&device, &config);
    config.buffer = buffer_.data(), config.buffer_bytes = buffer_.size() * sizeof buffer_[0], config.mode = mode;
    lunar_schema schema{};
    schema.checksum = checksums ? 1 : 0;
    schema.column_count = 3;
    schema.columns[0] = {"k", LUNAR_INT64, 0}, schema.columns[1] = {"t", LUNAR_TEXT, 0};
    schema.columns[2] = {"n", LUNAR_INT32, 0};
    EXPECT_EQ(lunar_format(&config), 0);
    EXPECT_EQ(mount(), 0);
    EXPECT_EQ(lunar_table_create(&db, "t", &schema), 0);
    EXPECT_EQ(lunar_table_open(&db, "t", &table), 0);
    for (int i = 0; i < count; ++i) {
      const std::string content = text_of(i);
      const lunar_value row[3] = {integer(i), text(content), integer(i)};
      EXPECT_EQ(lunar_insert(&table, row), 0);
    }
  }
  ~Rows() { emubd_close(&device); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  int mount() { return lunar_mount(&db, &config); }
  void again() {
    EXPECT_EQ(lunar_unmount(&db), 0);
    EXPECT_EQ(mount(), 0);
    EXPECT_EQ(lunar_table_open(&db, "t", &table), 0);
  }
  static std::string text_of(int i) {
    return std::string(i % 3 == 0 ? 1200 : 20, static_cast<char>('a' + i % 26)) + "/" + std::to_string(i) + "/";
  }
  // The place of the row's text in its block.
  std::uint8_t* stored(int i) const {
    const std::string wanted = text_of(i);
    const std::string_view all(reinterpret_cast<const char*>(device.sectors), std::size_t{512} * device.sector_count);
    const std::size_t data = std::size_t{512} * db.geometry.data_at;
    const auto at = all.find(wanted, data);
    EXPECT_NE(at, std::string_view::npos);
    EXPECT_EQ(all.find(wanted, at + 1), std::string_view::npos) << "the row is there twice";
    return device.sectors + at;
  }
  int get(int i, std::string* read = nullptr) {
    std::uint8_t row[2048];
    lunar_value values[3], key = integer(i);
    const int error = lunar_get(&table, &key, row, sizeof row, values);
    if (error == 0 && read != nullptr) *read = bytes_of(values[1]);
    return error;
  }

  emubd device{};
  lunar_config config{};
  lunar db{};
  lunar_table table{};

 private:
  std::vector<std::uint64_t> buffer_ = std::vector<std::uint64_t>(2048);
};

TEST(RowChecksum, makes_one_flipped_bit_an_error_of_its_row_alone) {
  for (const bool checksums : {true, false}) {
    Rows rows(checksums);
    rows.again();
    for (const int i : {3, 7, 58}) {
      std::uint8_t* const byte = rows.stored(i) + 9;
      *byte ^= 8;
      rows.again();  // not from a frame
      for (int k = 0; k < Rows::count; ++k) {
        std::string read;
        ASSERT_EQ(rows.get(k, &read), checksums && k == i ? LUNAR_E_CORRUPT : 0) << k;
        ASSERT_TRUE(k == i || read == Rows::text_of(k)) << k;
      }
      lunar_findings found{};
      EXPECT_EQ(lunar_check(&rows.db, &found), checksums ? LUNAR_E_CORRUPT : 0);
      EXPECT_EQ(found.problem, checksums ? LUNAR_PROBLEM_ROW_CHECKSUM : LUNAR_PROBLEM_NONE);
      *byte ^= 8;
      rows.again();
    }
  }
}

TEST(RowChecksum, stays_right_through_updates_moves_and_recoveries) {
  for (const lunar_mode mode : {LUNAR_MODE_NONE, LUNAR_MODE_METADATA, LUNAR_MODE_DATA, LUNAR_MODE_FULL}) {
    Rows rows(true, mode);
    rows.config.atomic_write_bytes = 512;
    rows.again();
    for (int round = 0; round < 4; ++round) {
      for (int i = 0; i < Rows::count; ++i) {
        const lunar_value key = integer(i), number = integer(1000 * round + i);
        ASSERT_EQ(lunar_update(&rows.table, &key, 2, &number), 0);
        const std::string longer(static_cast<std::size_t>(40 * round + i), 'x');
        const lunar_value value = text(longer);
        if (i % 4 == round) {
          ASSERT_EQ(lunar_update(&rows.table, &key, 1, &value), 0);
        }
      }
      if (mode == LUNAR_MODE_NONE || round % 2 == 0) {
        rows.again();
      } else {
        ASSERT_EQ(lunar_sync(&rows.db), 0);
        std::uint64_t random = 7;
        emubd_cut(&rows.device, &random, 128, 512);
        ASSERT_EQ(rows.mount(), 0);
        ASSERT_EQ(lunar_table_open(&rows.db, "t", &rows.table), 0);
      }
      lunar_findings found{};
      ASSERT_EQ(lunar_check(&rows.db, &found), 0) << found.text;
      for (int i = 0; i < Rows::count; ++i) ASSERT_EQ(rows.get(i), 0);
    }
  }
}

}  // namespace
}  // namespace lunar_test
