// The requests of single calls do not grow with the volume.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "emubd.h"
#include "lunar.h"
#include "values.h"

namespace lunar_test {
namespace {

class Volume {
 public:
  Volume(std::uint32_t megabytes, std::size_t buffer_bytes, lunar_index index, std::uint32_t text_bytes)
      : buffer_(buffer_bytes / 4), content_(text_bytes, 'x') {
    EXPECT_EQ(emubd_open(&device, 512, megabytes * 2048), 0);
    emubd_config(&device, &config_);
    config_.buffer = buffer_.data(), config_.buffer_bytes = buffer_bytes, config_.mode = LUNAR_MODE_DATA;
    EXPECT_EQ(lunar_format(&config_), 0);
    EXPECT_EQ(lunar_mount(&db, &config_), 0);
    lunar_schema schema{};
    schema.column_count = 2, schema.index = static_cast<std::uint8_t>(index);
    std::strcpy(schema.columns[0].name, "key"), schema.columns[0].type = LUNAR_INT64;
    std::strcpy(schema.columns[1].name, "content"), schema.columns[1].type = LUNAR_TEXT;
    EXPECT_EQ(lunar_table_create(&db, "t", &schema), 0);
    EXPECT_EQ(lunar_table_open(&db, "t", &table), 0);
  }
  ~Volume() { emubd_close(&device); }
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  int insert(std::int64_t key) {
    const lunar_value row[] = {integer(key), text(content_)};
    const auto before = requests();
    const int error = lunar_insert(&table, row);
    last = requests() - before;
    return error;
  }
  int mount() { return lunar_mount(&db, &config_); }
  std::uint64_t requests() const { return device.reads + device.writes; }

  emubd device{};
  lunar db{};
  lunar_table table{};
  lunar_findings found{};
  std::uint64_t last = 0;  // requests of the last insert

 private:
  lunar_config config_{};
  std::vector<std::uint32_t> buffer_;
  std::string content_;
};

class Sizes : public testing::TestWithParam<std::uint32_t> {};

// Without memory of the search the whole map is read for each refusal: 104 requests at 128 MB.
TEST_P(Sizes, a_refused_insert_makes_few_requests) {
  Volume volume(GetParam(), LUNAR_BUFFER_BYTES_MIN(512), LUNAR_INDEX_TREE, 3000);
  std::int64_t key = 0;
  int error = 0;
  while (error == 0) error = volume.insert(key++);
  ASSERT_EQ(error, LUNAR_E_FULL);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(volume.insert(key++), LUNAR_E_FULL);
    EXPECT_LE(volume.last, 8U);
  }
  const lunar_value first = integer(0), second = integer(1);
  ASSERT_EQ(lunar_remove(&volume.table, &first), 0);
  ASSERT_EQ(lunar_remove(&volume.table, &second), 0);
  ASSERT_EQ(lunar_check(&volume.db, &volume.found), 0);
}

// The index needs a run of free chunks as long as half of itself. Where there is none, chains become longer instead.
TEST_P(Sizes, inserts_stay_cheap_where_the_hash_index_has_no_room_to_grow) {
  Volume volume(GetParam(), 65536, LUNAR_INDEX_HASH, 24);
  constexpr std::size_t last = 10'000;
  std::vector<std::uint64_t> requests;
  int error = 0;
  for (std::int64_t key = 0; error == 0; ++key) {
    error = volume.insert(key);
    requests.push_back(volume.last);
  }
  ASSERT_EQ(error, LUNAR_E_FULL);
  requests.pop_back();
  ASSERT_GT(requests.size(), last);
  const auto mean = static_cast<double>(std::accumulate(requests.end() - last, requests.end(), 0UL)) / last;
  std::printf("%u MB: %zu rows, the last %zu took %.2f requests, the dearest of all %lu\n", GetParam(), requests.size(),
              last, mean, static_cast<unsigned long>(*std::ranges::max_element(requests)));
  EXPECT_LE(mean, 5) << "without memory of the search 68 at 128 MB";
}

// The hand of the buffer's clock goes on: otherwise recovery reads the same sectors again and again, 2,600 requests.
TEST(Mount, after_a_cut_reads_few_sectors_also_with_a_large_buffer) {
  Volume volume(32, 1 << 20, LUNAR_INDEX_HASH, 100);
  for (std::int64_t key = 0; key < 60'000; ++key) ASSERT_EQ(volume.insert(key * 7919 % 60'000), 0);
  std::uint64_t random = test_seed();
  emubd_cut(&volume.device, &random, 128, 0);
  emubd_reset(&volume.device);
  const auto before = volume.requests();
  ASSERT_EQ(volume.mount(), 0);
  std::printf("%lu requests\n", static_cast<unsigned long>(volume.requests() - before));
  EXPECT_LE(volume.requests() - before, 1000U);
  ASSERT_EQ(lunar_check(&volume.db, &volume.found), 0);
}

INSTANTIATE_TEST_SUITE_P(Of, Sizes, testing::Values(8U, 32U, 128U));

}  // namespace
}  // namespace lunar_test
