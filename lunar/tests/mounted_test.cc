// A volume has one handle: a second one and a format of a mounted volume are refused and destroy nothing.
#include <gtest/gtest.h>

#include <array>

#include "values.h"
#include "world.h"

namespace lunar_test {
namespace {

using Buffer = std::array<std::uint64_t, 1024>;

// A device with a table of ten rows, mounted by the first handle.
class Mounted : public testing::Test {
 protected:
  Mounted() {
    EXPECT_EQ(emubd_open(&device, 512, 1024), 0);
    emubd_config(&device, &config);
    config.mode = LUNAR_MODE_FULL;
    config.buffer = first_buffer.data(), config.buffer_bytes = sizeof first_buffer;
    EXPECT_EQ(lunar_format(&config), 0);
    EXPECT_EQ(lunar_mount(&first, &config), 0);
    lunar_schema schema{};
    schema.column_count = 1;
    std::strcpy(schema.columns[0].name, "key"), schema.columns[0].type = LUNAR_INT64;
    EXPECT_EQ(lunar_table_create(&first, "t", &schema), 0);
    for (; rows < 10; ++rows) EXPECT_EQ(insert(first, rows), 0);
  }
  ~Mounted() override { emubd_close(&device); }

  static int insert(lunar& db, std::int64_t key) {
    lunar_table table;
    const lunar_value value = integer(key);
    const int error = lunar_table_open(&db, "t", &table);
    return error != 0 ? error : lunar_insert(&table, &value);
  }

  // Expects that the handle works and the table has `rows` rows.
  void expect_sound(lunar& db) {
    lunar_table table;
    lunar_findings found{};
    std::uint64_t count = 0;
    ASSERT_EQ(lunar_table_open(&db, "t", &table), 0);
    EXPECT_EQ(insert(db, rows++), 0);
    EXPECT_EQ(lunar_count(&table, &count), 0);
    EXPECT_EQ(count, static_cast<std::uint64_t>(rows));
    EXPECT_EQ(lunar_check(&db, &found), 0) << found.text;
  }

  lunar_config other_config() {
    lunar_config other = config;
    other.buffer = second_buffer.data();
    return other;
  }

  // Cuts the power; the program's earlier state is lost.
  void lose_power() {
    std::uint64_t random = 1;
    emubd_cut(&device, &random, 128, 0);
  }

  emubd device{};
  lunar_config config{};
  lunar first{}, second{};
  Buffer first_buffer{}, second_buffer{};
  std::int64_t rows = 0;
};

TEST_F(Mounted, refuses_a_second_handle_until_the_first_is_unmounted) {
  const auto writes = device.writes;
  EXPECT_EQ(lunar_mount(&second, &config), LUNAR_E_BUSY);
  EXPECT_EQ(insert(second, 100), LUNAR_E_INVALID) << "it is not mounted";
  EXPECT_EQ(lunar_unmount(&second), LUNAR_E_INVALID);
  EXPECT_EQ(device.writes, writes);
  expect_sound(first);
  ASSERT_EQ(lunar_unmount(&first), 0);
  EXPECT_EQ(lunar_mount(&second, &config), 0);
  expect_sound(second);
}

TEST_F(Mounted, refuses_a_second_handle_with_a_configuration_of_its_own) {
  const lunar_config other = other_config();
  EXPECT_EQ(lunar_mount(&second, &other), LUNAR_E_BUSY);
  expect_sound(first);
  ASSERT_EQ(lunar_unmount(&first), 0);
  EXPECT_EQ(lunar_mount(&second, &other), 0);
  EXPECT_EQ(lunar_mount(&first, &config), LUNAR_E_BUSY);
  expect_sound(second);
}

TEST_F(Mounted, refuses_to_be_formatted) {
  const lunar_config other = other_config();
  EXPECT_EQ(lunar_format(&config), LUNAR_E_BUSY);
  EXPECT_EQ(lunar_format(&other), LUNAR_E_BUSY);
  expect_sound(first);
  ASSERT_EQ(lunar_unmount(&first), 0);
  EXPECT_EQ(lunar_format(&other), 0);
}

TEST_F(Mounted, ends_with_a_power_cut) {
  for (int cuts = 0; cuts < 5; ++cuts) {
    lose_power();
    lunar& db = cuts % 2 == 0 ? second : first;  // another address, as in another program
    ASSERT_EQ(lunar_mount(&db, &config), 0);
    expect_sound(db);
  }
}

TEST_F(Mounted, is_no_obstacle_to_its_own_handle) {
  ASSERT_EQ(lunar_mount(&first, &config), 0);
  expect_sound(first);
}

TEST_F(Mounted, ends_with_an_unmount_that_fails_and_a_mount_that_fails) {
  emubd_reset(&device);
  device.fail_at = 1, device.fail_until = ~0ULL;
  EXPECT_EQ(insert(first, 100), LUNAR_E_IO);
  EXPECT_EQ(lunar_mount(&second, &config), LUNAR_E_BUSY) << "a handle that failed is mounted";
  EXPECT_EQ(lunar_unmount(&first), LUNAR_E_FAILED);
  EXPECT_EQ(lunar_mount(&second, &config), LUNAR_E_IO);
  emubd_reset(&device);
  ASSERT_EQ(lunar_mount(&first, &config), 0);
  expect_sound(first);
}

TEST_F(Mounted, is_given_up_by_a_program_that_has_lost_its_handle) {
  device.mounted = nullptr;
  ASSERT_EQ(lunar_mount(&second, &config), 0);
  const auto writes = device.writes;
  EXPECT_EQ(insert(first, 100), LUNAR_E_BUSY);
  EXPECT_EQ(lunar_unmount(&first), LUNAR_E_BUSY);
  EXPECT_EQ(device.writes, writes);
  expect_sound(second);
  EXPECT_EQ(lunar_mount(&first, &config), LUNAR_E_BUSY);
}

// Without a mark a second handle may take the buffer; the first one then refuses every call.
TEST_F(Mounted, or_its_buffer_taken_by_a_second_handle_refuses_the_first) {
  ASSERT_EQ(lunar_unmount(&first), 0);
  config.mounted = nullptr;
  ASSERT_EQ(lunar_mount(&first, &config), 0);
  ASSERT_EQ(lunar_mount(&second, &config), 0);
  expect_sound(second);
  const auto calls = device.calls;
  EXPECT_EQ(insert(first, 100), LUNAR_E_BUSY);
  EXPECT_EQ(lunar_begin(&first), LUNAR_E_BUSY);
  EXPECT_EQ(lunar_sync(&first), LUNAR_E_BUSY);
  EXPECT_EQ(lunar_checkpoint(&first), LUNAR_E_BUSY);
  EXPECT_EQ(lunar_rollback(&first), LUNAR_E_BUSY);
  EXPECT_EQ(lunar_unmount(&first), LUNAR_E_BUSY);
  EXPECT_EQ(device.calls, calls);
  expect_sound(second);
  ASSERT_EQ(lunar_unmount(&second), 0);
  ASSERT_EQ(lunar_mount(&first, &config), 0);
  ASSERT_EQ(lunar_format(&config), 0);
  EXPECT_EQ(insert(first, 100), LUNAR_E_BUSY) << "the volume was formatted";
  EXPECT_EQ(lunar_unmount(&first), LUNAR_E_BUSY);
  ASSERT_EQ(lunar_mount(&first, &config), 0);
  EXPECT_EQ(insert(first, 100), LUNAR_E_NO_TABLE);
}

// A program that ignores an error may have such handles.
TEST(Handle, that_is_null_or_of_a_table_that_was_not_opened_is_refused) {
  lunar_config config{};
  lunar_table table{};
  const lunar_value key = integer(1);
  lunar_value value{};
  std::uint64_t rows = 0;
  char row[64];
  EXPECT_EQ(lunar_mount(nullptr, &config), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_unmount(nullptr), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_sync(nullptr), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_begin(nullptr), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_rollback(nullptr), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_table_open(nullptr, "t", &table), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_insert(&table, &key), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_get(&table, &key, row, sizeof row, &value), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_update(&table, &key, 1, &key), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_remove(&table, &key), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_count(&table, &rows), LUNAR_E_INVALID);
}

}  // namespace
}  // namespace lunar_test
