// A volume in a file.
#include "posix.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace {

class Image : public testing::Test {
 protected:
  void SetUp() override {
    const int file = mkstemp(path);
    ASSERT_GE(file, 0);
    ASSERT_EQ(ftruncate(file, 1 << 20), 0);
    close(file);
    config.sector_bytes = 512, config.buffer = buffer.data() + 2, config.buffer_bytes = 4 * (buffer.size() - 2);
  }
  void TearDown() override { unlink(path); }

  char path[32] = "/tmp/lunar-image-XXXXXX";
  std::vector<std::uint32_t> buffer = std::vector<std::uint32_t>(2048);  // not aligned to a sector, with intent
  lunar_config config{};
  lunar_posix posix{};
};

TEST_F(Image, keeps_rows_from_one_program_to_the_next) {
  lunar_value values[1]{};
  values[0].type = LUNAR_INT64, values[0].as.integer = 42;
  for (const bool first : {true, false}) {
    ASSERT_EQ(lunar_posix_open(&posix, &config, path, 0), 0);
    EXPECT_EQ(config.sector_count, 2048U);
    lunar db{};
    lunar_table table{};
    if (first) {
      ASSERT_EQ(lunar_format(&config), 0);
      ASSERT_EQ(lunar_mount(&db, &config), 0);
      lunar_schema schema{};
      schema.column_count = 1, schema.columns[0].name[0] = 'k', schema.columns[0].type = LUNAR_INT64;
      ASSERT_EQ(lunar_table_create(&db, "numbers", &schema), 0);
      ASSERT_EQ(lunar_table_open(&db, "numbers", &table), 0);
      ASSERT_EQ(lunar_insert(&table, values), 0);
    } else {
      ASSERT_EQ(lunar_mount(&db, &config), 0);
      ASSERT_EQ(lunar_table_open(&db, "numbers", &table), 0);
      char row[32];
      lunar_value back[1];
      EXPECT_EQ(lunar_get(&table, &values[0], row, sizeof row, back), 0);
      EXPECT_EQ(back[0].as.integer, 42);
    }
    ASSERT_EQ(lunar_unmount(&db), 0);
    lunar_posix_close(&posix);
  }
}

TEST_F(Image, is_opened_by_one_at_a_time) {
  lunar_posix second{};
  lunar_config other = config;
  ASSERT_EQ(lunar_posix_open(&posix, &config, path, 0), 0);
  EXPECT_EQ(lunar_posix_open(&second, &other, path, 0), EWOULDBLOCK);
  lunar_posix_close(&posix);
  ASSERT_EQ(lunar_posix_open(&second, &other, path, 0), 0);
  lunar_posix_close(&second);
}

TEST_F(Image, that_is_not_there_is_told_by_errno) {
  EXPECT_EQ(lunar_posix_open(&posix, &config, "/tmp/no/such/image", 0), ENOENT);
}

}  // namespace
