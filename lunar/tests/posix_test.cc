// A volume in a file.
#include "posix.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace {
int failing_flushes = 0;
}  // namespace

// Replaces the C library's function in this program.
extern "C" int fdatasync(int file) {
  if (failing_flushes == 0) return static_cast<int>(syscall(SYS_fdatasync, file));
  --failing_flushes;
  errno = EIO;
  return -1;
}

namespace {

// Returns the number of the file's pages in the page cache.
std::size_t cached_pages(int file, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  void* map = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  EXPECT_EQ(mincore(map, bytes, pages.data()), 0);
  munmap(map, bytes);
  return static_cast<std::size_t>(std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return p & 1; }));
}

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
  std::vector<std::uint32_t> buffer = std::vector<std::uint32_t>(2048);  // deliberately not aligned to a sector
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

// Linux marks pages clean that a failed fdatasync could not write: it still reads them and never writes them.
TEST_F(Image, reads_nothing_that_a_failed_flush_left_in_the_page_cache) {
  std::vector<char> data(64 * 512, 'x');
  ASSERT_EQ(lunar_posix_open(&posix, &config, path, 0), 0);
  ASSERT_EQ(config.write(&config, 0, data.data(), 64), 0);
  failing_flushes = 1;
  EXPECT_NE(config.sync(&config), 0);
  EXPECT_EQ(errno, EIO);
  const std::size_t pages = cached_pages(posix.descriptor, 1 << 20);
  const bool reads = config.read(&config, 0, data.data(), 64) == 0;
  EXPECT_TRUE(pages == 0 || !reads) << pages << " pages of the file are in the page cache, and reads succeed";
  lunar_posix_close(&posix);
}

TEST_F(Image, whose_pages_another_program_keeps_in_the_page_cache_is_not_read_after_a_failed_flush) {
  std::vector<char> data(64 * 512, 'x');
  ASSERT_EQ(lunar_posix_open(&posix, &config, path, 0), 0);
  ASSERT_EQ(config.write(&config, 0, data.data(), 64), 0);
  failing_flushes = 1000;  // the pages stay dirty, so they cannot leave the cache
  void* map = mmap(nullptr, 1 << 20, PROT_READ, MAP_SHARED | MAP_POPULATE, posix.descriptor, 0);
  EXPECT_NE(config.sync(&config), 0);
  failing_flushes = 0;
  errno = 0;
  EXPECT_NE(config.read(&config, 0, data.data(), 1), 0);
  EXPECT_EQ(errno, EIO);
  munmap(map, 1 << 20);
  lunar_posix_close(&posix);
  ASSERT_EQ(lunar_posix_open(&posix, &config, path, 0), 0);
  EXPECT_EQ(config.read(&config, 0, data.data(), 1), 0);
  lunar_posix_close(&posix);
}

TEST_F(Image, that_is_not_there_is_reported_by_errno) {
  EXPECT_EQ(lunar_posix_open(&posix, &config, "/tmp/no/such/image", 0), ENOENT);
}

}  // namespace
