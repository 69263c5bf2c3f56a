// Prefetch: fewer requests for sequential reads, no useless reads for random ones, and never stale content.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "emubd.h"
#include "lunar.h"
#include "values.h"

namespace lunar_test {
namespace {

constexpr int rows = 3000;

class Prefetch : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(emubd_open(&device, 512, 16384), 0);
    emubd_config(&device, &config);
    config.buffer = buffer.data(), config.buffer_bytes = 65536, config.mode = LUNAR_MODE_DATA;
    ASSERT_EQ(lunar_format(&config), 0);
    ASSERT_EQ(lunar_mount(&db, &config), 0);
    lunar_schema schema{};
    schema.column_count = 2;
    std::strcpy(schema.columns[0].name, "key"), schema.columns[0].type = LUNAR_INT64;
    std::strcpy(schema.columns[1].name, "content"), schema.columns[1].type = LUNAR_TEXT;
    ASSERT_EQ(lunar_table_create(&db, "t", &schema), 0);
    ASSERT_EQ(lunar_table_open(&db, "t", &table), 0);
    const std::string content(200, 'a');
    for (std::int64_t key = 0; key < rows; ++key) {
      const lunar_value row_of[] = {integer(key), text(content)};
      ASSERT_EQ(lunar_insert(&table, row_of), 0);
    }
    ASSERT_EQ(lunar_unmount(&db), 0);
    ASSERT_EQ(lunar_mount(&db, &config), 0);
  }
  void TearDown() override { emubd_close(&device); }

  emubd device{};
  lunar_config config{};
  std::vector<std::uint32_t> buffer = std::vector<std::uint32_t>(65536 / 4);
  lunar db{};
  lunar_table table{};
  char row[1000];
  lunar_value values[2];
};

TEST_F(Prefetch, reads_many_sectors_at_a_time_in_a_scan) {
  lunar_cursor cursor;
  ASSERT_EQ(lunar_cursor_open(&cursor, &table, nullptr, nullptr, 0), 0);
  const auto reads = device.reads, sectors = device.sectors_read;
  int read = 0;
  while (lunar_cursor_next(&cursor, row, sizeof row, values) == 0) ++read;
  EXPECT_EQ(read, rows);
  const auto wanted = rows * 200U / 512;
  EXPECT_LT(device.reads - reads, wanted / 3);
  EXPECT_LT(device.sectors_read - sectors, wanted * 3 / 2);
}

TEST_F(Prefetch, reads_nothing_in_vain_for_rows_here_and_there) {
  const auto sectors = device.sectors_read;
  for (std::int64_t i = 0; i < 500; ++i) {
    const lunar_value key = integer(i * 1237 % rows);
    ASSERT_EQ(lunar_get(&table, &key, row, sizeof row, values), 0);
  }
  EXPECT_LT(device.sectors_read - sectors, 500 * 21 / 10);  // one or two of the row, at times a bucket or a header
}

TEST_F(Prefetch, reads_the_sectors_of_a_row_with_one_request) {
  const std::string content(2000, 'a');
  for (std::int64_t key = rows; key < rows + 100; ++key) {
    const lunar_value row_of[] = {integer(key), text(content)};
    ASSERT_EQ(lunar_insert(&table, row_of), 0);
  }
  ASSERT_EQ(lunar_unmount(&db), 0);
  ASSERT_EQ(lunar_mount(&db, &config), 0);
  ASSERT_EQ(lunar_table_open(&db, "t", &table), 0);
  std::vector<char> large(3000);
  const auto reads = device.reads;
  for (std::int64_t i = 0; i < 100; ++i) {
    const lunar_value key = integer(rows + i * 37 % 100);
    ASSERT_EQ(lunar_get(&table, &key, large.data(), large.size(), values), 0);
    ASSERT_EQ(std::string(static_cast<const char*>(values[1].as.data), values[1].bytes), content);
  }
  EXPECT_LT(device.reads - reads, 100 * 5 / 2);  // without it a row takes three: its beginning, whole sectors, its end
}

TEST_F(Prefetch, sees_what_was_written_to_sectors_that_it_has_read_ahead) {
  lunar_table small;  // too small for prefetch
  lunar_schema schema{};
  schema.column_count = 1;
  std::strcpy(schema.columns[0].name, "key"), schema.columns[0].type = LUNAR_INT64;
  ASSERT_EQ(lunar_table_create(&db, "small", &schema), 0);
  ASSERT_EQ(lunar_table_open(&db, "small", &small), 0);
  for (std::int64_t key = 0; key < rows; ++key) {
    const lunar_value row_of[] = {integer(key)};
    ASSERT_EQ(lunar_insert(&small, row_of), 0);
  }
  lunar_cursor cursor;
  ASSERT_EQ(lunar_cursor_open(&cursor, &table, nullptr, nullptr, 0), 0);
  for (int i = 0; i < rows; ++i) {
    ASSERT_EQ(lunar_cursor_next(&cursor, row, sizeof row, values), 0);
    ASSERT_EQ(*static_cast<const char*>(values[1].as.data), i % 100 == 12 ? 'b' : 'a') << i;
    if (i % 100 != 0) continue;
    const lunar_value key = integer(i + 12);
    const std::string content(200, 'b');
    const lunar_value changed = text(content);
    ASSERT_EQ(lunar_update(&table, &key, 1, &changed), 0);
    ASSERT_EQ(lunar_checkpoint(&db), 0);
    for (std::int64_t k = 0; k < 300; ++k) {  // occupies the frames
      const lunar_value other = integer(k * 1237 % rows);
      ASSERT_EQ(lunar_get(&small, &other, row, sizeof row, values), 0);
    }
  }
}

}  // namespace
}  // namespace lunar_test
