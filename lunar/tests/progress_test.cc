// config.progress: called after each request, and what its result does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "emubd.h"
#include "lunar.h"
#include "values.h"

namespace lunar_test {
namespace {

struct Volume {
  explicit Volume(lunar_mode mode = LUNAR_MODE_FULL, std::size_t buffer_bytes = LUNAR_BUFFER_BYTES_MIN(512))
      : buffer(buffer_bytes / 8 + 1) {
    if (emubd_open(&device, 512, 16384) != 0) throw std::bad_alloc();
    emubd_config(&device, &config);
    config.buffer = buffer.data(), config.buffer_bytes = buffer_bytes, config.mode = mode;
    config.context = this;
    config.read = [](const lunar_config* c, std::uint32_t sector, void* data, std::uint32_t count) {
      return of(c).request(count, [&](const lunar_config& d) { return d.read(&d, sector, data, count); });
    };
    config.write = [](const lunar_config* c, std::uint32_t sector, const void* data, std::uint32_t count) {
      return of(c).request(count, [&](const lunar_config& d) { return d.write(&d, sector, data, count); });
    };
    config.sync = [](const lunar_config* c) {
      return of(c).request(0, [](const lunar_config& d) { return d.sync(&d); });
    };
    config.progress = [](const lunar_config* c) {
      auto& volume = of(c);
      volume.since = 0;
      return ++volume.calls >= volume.stop_from && volume.calls <= volume.stop_to ? 1 : 0;
    };
    emubd_config(&device, &below);
    below.sector_bytes = 512;
  }
  ~Volume() { emubd_close(&device); }
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  static Volume& of(const lunar_config* c) { return *static_cast<Volume*>(c->context); }
  int request(std::uint32_t sectors, const std::function<int(const lunar_config&)>& make) {
    ++requests;
    since_most = std::max(since_most, ++since);
    sectors_most = std::max(sectors_most, sectors);
    return make(below);
  }
  void stop(std::uint64_t from, std::uint64_t to) { stop_from = calls + from, stop_to = calls + to; }
  void go_on() { stop_from = UINT64_MAX; }

  void fill(std::int64_t rows) {
    ASSERT_EQ(lunar_format(&config), 0);
    ASSERT_EQ(lunar_mount(&db, &config), 0);
    lunar_schema schema{};
    schema.column_count = 2;
    std::strcpy(schema.columns[0].name, "key"), schema.columns[0].type = LUNAR_INT64;
    std::strcpy(schema.columns[1].name, "text"), schema.columns[1].type = LUNAR_BLOB;
    ASSERT_EQ(lunar_table_create(&db, "rows", &schema), 0);
    ASSERT_EQ(lunar_table_open(&db, "rows", &table), 0);
    for (std::int64_t key = 0; key < rows; ++key) ASSERT_EQ(insert(key), 0);
  }
  int insert(std::int64_t key) {
    const std::string text(key % 9 == 0 ? 3000 : 40, 'x');
    const lunar_value row[] = {integer(key), blob(text)};
    return lunar_insert(&table, row);
  }

  emubd device{};
  lunar_config config{}, below{};
  std::vector<std::uint64_t> buffer;
  lunar db{};
  lunar_table table{};
  std::uint64_t requests = 0, calls = 0, since = 0, since_most = 0, stop_from = UINT64_MAX, stop_to = UINT64_MAX;
  std::uint32_t sectors_most = 0;
};

TEST(Progress, comes_after_each_request_of_every_long_call) {
  for (const std::size_t buffer_bytes : {std::size_t{LUNAR_BUFFER_BYTES_MIN(512)}, std::size_t{1} << 20}) {
    Volume volume(LUNAR_MODE_FULL, buffer_bytes);
    volume.fill(3000);
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    auto& db = volume.db;
    auto& table = volume.table;
    const auto expect = [&](const char* call, int error, std::uint64_t requests_least) {
      EXPECT_EQ(error, 0) << call;
      EXPECT_GE(volume.requests, requests_least) << call;
      EXPECT_EQ(volume.calls, volume.requests) << call;
      EXPECT_EQ(volume.since_most, 1U) << call;
      EXPECT_LE(volume.sectors_most, 128U) << call;
      volume.calls = volume.requests = 0;
    };
    expect("format, mount, create, insert", 0, 3000);
    const std::string large(60'000, 'x');
    const lunar_value row[] = {integer(-1), blob(large)};
    expect("insert of a large row", lunar_insert(&table, row), 2);
    static char space[65536];
    lunar_value values[2];
    lunar_cursor cursor;
    EXPECT_EQ(lunar_cursor_open(&cursor, &table, nullptr, nullptr, 0), 0);
    while (lunar_cursor_next(&cursor, space, sizeof space, values) == 0) {
    }
    expect("cursor", 0, 50);
    expect("index_create", lunar_index_create(&db, "rows", "index", 0, LUNAR_INDEX_TREE), 100);
    std::uint64_t random = 1;
    emubd_cut(&volume.device, &random, 128, 0);
    emubd_reset(&volume.device);
    volume.config.mounted = &volume.device.mounted;
    expect("mount after a cut", lunar_mount(&db, &volume.config), 10);
    EXPECT_EQ(lunar_table_open(&db, "rows", &table), 0);
    for (std::int64_t key = 0; key < 3000; key += 2) {
      const lunar_value at = integer(key);
      EXPECT_EQ(lunar_remove(&table, &at), 0);
    }
    expect("remove", 0, 1500);
    std::uint32_t moved = 0;
    expect("compact", lunar_compact(&db, 500, &moved), 0);
    lunar_findings found;
    expect("check", lunar_check(&db, &found), 100);
    lunar_losses losses;
    expect("repair", lunar_repair(&table, &losses), 500);
    expect("truncate", lunar_truncate(&table), 1);
    expect("drop", lunar_table_drop(&db, "rows"), 1);
    expect("unmount", lunar_unmount(&db), 1);
  }
}

// Pages that a checkpoint leaves in the buffer would take frames that the check needs.
TEST(Progress, of_a_check_takes_about_as_many_requests_at_any_number_of_dirty_pages) {
  Volume volume;
  volume.fill(2000);
  ASSERT_FALSE(testing::Test::HasFatalFailure());
  std::uint64_t least = UINT64_MAX, most = 0;
  for (std::int64_t key = 2000; key < 2040; ++key) {
    ASSERT_EQ(volume.insert(key), 0);
    const auto before = volume.requests;
    lunar_findings found;
    ASSERT_EQ(lunar_check(&volume.db, &found), 0);
    least = std::min(least, volume.requests - before), most = std::max(most, volume.requests - before);
  }
  EXPECT_LE(most, least + least / 4);
}

TEST(Progress, comes_also_after_a_request_that_failed) {
  Volume volume;
  volume.fill(100);
  ASSERT_FALSE(testing::Test::HasFatalFailure());
  const auto requests = volume.requests;
  emubd_reset(&volume.device);
  volume.device.fail_at = 1, volume.device.fail_until = UINT64_MAX;
  EXPECT_EQ(volume.insert(1000), LUNAR_E_IO);
  EXPECT_GT(volume.requests, requests);
  EXPECT_EQ(volume.calls, volume.requests);
  EXPECT_EQ(volume.since_most, 1U);
}

// Wherever it asks once: at a page that is kept twice, at a row, at a read ahead.
TEST(Progress, stops_a_check_at_any_request_and_leaves_the_handle_as_it_was) {
  for (const std::size_t buffer_bytes : {std::size_t{LUNAR_BUFFER_BYTES_MIN(512)}, std::size_t{65536}}) {
    Volume volume(LUNAR_MODE_FULL, buffer_bytes);
    volume.fill(600);
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    ASSERT_EQ(lunar_checkpoint(&volume.db), 0);
    lunar_findings whole{}, found{};
    const auto before = volume.requests;
    ASSERT_EQ(lunar_check(&volume.db, &whole), 0);
    const auto requests = volume.requests - before;
    ASSERT_GT(requests, 100U);
    const std::string content(reinterpret_cast<const char*>(volume.device.sectors), std::size_t{16384} * 512);
    for (std::uint64_t stop = 1; stop <= 100; ++stop) {
      ASSERT_EQ(lunar_unmount(&volume.db), 0);  // no page is in the buffer
      ASSERT_EQ(lunar_mount(&volume.db, &volume.config), 0);
      const auto from = volume.requests;
      volume.stop(stop, stop);
      EXPECT_EQ(lunar_check(&volume.db, &found), LUNAR_E_STOPPED) << "request " << stop;
      EXPECT_LE(volume.requests - from, stop + 1) << "request " << stop;
      EXPECT_EQ(found.problem, LUNAR_PROBLEM_NONE);
      std::uint32_t sector = 0;
      EXPECT_EQ(lunar_failed_request(&volume.db, &sector), LUNAR_REQUEST_NONE);
      lunar_statistics stat{};
      EXPECT_EQ(lunar_stat(&volume.db, &stat), 0);
      EXPECT_EQ(stat.second_copies, 0U);
      EXPECT_EQ(lunar_check(&volume.db, &found), 0);
      EXPECT_EQ(found.rows, whole.rows);
    }
  }
}

TEST(Progress, stops_neither_another_function_nor_the_checkpoint_of_a_check) {
  Volume volume(LUNAR_MODE_DATA, 8192);
  volume.fill(50);
  ASSERT_FALSE(testing::Test::HasFatalFailure());
  volume.stop(0, UINT64_MAX / 2);
  std::int64_t key = 50;
  lunar_findings found{};
  lunar_statistics stat{};
  std::uint32_t checkpoints = 0;
  for (int written = 0; written < 3;) {  // at different numbers of dirty pages
    for (int i = 0; i < 7; ++i) ASSERT_EQ(volume.insert(key++), 0);
    ASSERT_EQ(lunar_stat(&volume.db, &stat), 0);
    checkpoints = stat.checkpoints;
    EXPECT_EQ(lunar_check(&volume.db, &found), LUNAR_E_STOPPED);
    ASSERT_EQ(lunar_stat(&volume.db, &stat), 0);
    written += stat.checkpoints != checkpoints ? 1 : 0;
    ASSERT_LT(key, 5000) << "no check wrote a checkpoint";
  }
  ASSERT_EQ(lunar_unmount(&volume.db), 0);
  ASSERT_EQ(lunar_mount(&volume.db, &volume.config), 0);
  volume.go_on();
  EXPECT_EQ(lunar_check(&volume.db, &found), 0) << found.text;
  EXPECT_EQ(found.rows, static_cast<std::uint64_t>(key));
}

}  // namespace
}  // namespace lunar_test
