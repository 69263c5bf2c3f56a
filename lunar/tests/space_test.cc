// The space of deleted rows comes back, whatever the sizes of the rows, with bounded work at each operation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "emubd.h"
#include "lunar.h"
#include "values.h"

namespace lunar_test {
namespace {

enum class Sizes { mixed, fixed, doubling, two_peaked, rising, by_one_byte };

struct Law {
  const char* name;
  Sizes sizes;
  double live;  // payload by data zone
  double amplification_max;
  lunar_index index = LUNAR_INDEX_TREE;
};
void PrintTo(const Law& law, std::ostream* to) { *to << law.name; }

// Keys with rows of changing size on a volume of 512-byte sectors.
class Table {
 public:
  Table(std::uint32_t sectors, std::size_t buffer_bytes, lunar_mode mode, lunar_index index,
        std::uint32_t log_bytes = 0, std::uint32_t class_bytes_max = 0)
      : buffer_(buffer_bytes / 8) {
    EXPECT_EQ(emubd_open(&device, 512, sectors), 0);
    emubd_config(&device, &config_);
    config_.buffer = buffer_.data(), config_.buffer_bytes = buffer_bytes, config_.mode = mode;
    config_.log_bytes = log_bytes, config_.class_bytes_max = class_bytes_max;
    EXPECT_EQ(lunar_format(&config_), 0);
    EXPECT_EQ(lunar_mount(&db, &config_), 0);
    create("t", index, &table);
  }
  void create(const char* name, lunar_index index, lunar_table* created) {
    lunar_schema schema{};
    schema.column_count = 2, schema.index = static_cast<std::uint8_t>(index);
    std::strcpy(schema.columns[0].name, "key"), schema.columns[0].type = LUNAR_INT64;
    std::strcpy(schema.columns[1].name, "content"), schema.columns[1].type = LUNAR_BLOB;
    EXPECT_EQ(lunar_table_create(&db, name, &schema), 0);
    EXPECT_EQ(lunar_table_open(&db, name, created), 0);
  }
  ~Table() { emubd_close(&device); }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  int insert(std::int64_t key, std::uint32_t bytes) {
    const std::string content = this->content(key, bytes);
    const lunar_value row[] = {integer(key), blob(content)};
    return counted([&] { return lunar_insert(&table, row); });
  }
  int update(std::int64_t key, std::uint32_t bytes) {
    const std::string content = this->content(key, bytes);
    const lunar_value id = integer(key), value = blob(content);
    return counted([&] { return lunar_update(&table, &id, 1, &value); });
  }
  int remove(std::int64_t key) {
    const lunar_value id = integer(key);
    return counted([&] { return lunar_remove(&table, &id); });
  }
  // Whether the row has the content that it was given last.
  bool has(std::int64_t key, std::uint32_t bytes) {
    const lunar_value id = integer(key);
    lunar_value row[2];
    return lunar_get(&table, &id, row_, sizeof row_, row) == 0 && bytes_of(row[1]) == content(key, bytes);
  }
  // The next key in the order of the cursor; an error is negative.
  std::int64_t next(lunar_cursor* cursor) {
    lunar_value row[2];
    const int error = lunar_cursor_next(cursor, row_, sizeof row_, row);
    return error ? error : row[0].as.integer;
  }
  int mount_after_cut() {
    std::uint64_t random = 1;
    emubd_cut(&device, &random, 256, 0);
    device.mounted = nullptr;
    return lunar_mount(&db, &config_);
  }
  bool sound() {
    lunar_findings found{};
    const int error = lunar_check(&db, &found);
    return error == 0 || (std::printf("%s\n", found.text), false);
  }
  lunar_statistics stat() {
    lunar_statistics stat{};
    EXPECT_EQ(lunar_stat(&db, &stat), 0);
    return stat;
  }

  emubd device{};
  lunar db{};
  lunar_table table{};
  std::uint64_t dearest = 0;  // requests of one call

 private:
  static std::string content(std::int64_t key, std::uint32_t bytes) {
    std::string content(bytes, static_cast<char>('a' + key % 26));
    for (std::uint32_t i = 0; i < bytes; i += 8) content[i] = static_cast<char>(key + i + bytes);
    return content;
  }
  template <class Call>
  int counted(Call call) {
    const auto before = device.reads + device.writes;
    const int error = call();
    dearest = std::max<std::uint64_t>(dearest, device.reads + device.writes - before);
    return error;
  }
  lunar_config config_{};
  std::vector<std::uint64_t> buffer_;
  char row_[8192];
};

class Space : public testing::TestWithParam<Law> {
 protected:
  std::uint32_t size(std::uint32_t key, double part) {
    switch (GetParam().sizes) {
      case Sizes::mixed:
        return random() % 17 == 0 ? 2500 : random() % 301;
      case Sizes::fixed:
        return random() % 2 ? 289 : 290;  // an equal length would change the row in place
      case Sizes::doubling:
        return 16U << random() % 5;
      case Sizes::two_peaked:
        return random() % 2 ? 40 : 2500;
      case Sizes::rising:
        return static_cast<std::uint32_t>(50 + 300 * part) + random() % 2;
      case Sizes::by_one_byte:
        return bytes_[key] >= longest ? 200 : bytes_[key] + 1;
    }
    return 0;
  }
  std::uint32_t random() { return static_cast<std::uint32_t>(random_()); }
  static constexpr std::uint32_t longest = 350;
  std::mt19937_64 random_{test_seed()};
  std::vector<std::uint32_t> bytes_ = std::vector<std::uint32_t>(16'666, 200);
};

TEST_P(Space, of_deleted_rows_comes_back) {
  const Law& law = GetParam();
  const bool all = one_in(2) == 1;
  const char* wanted = std::getenv("LUNAR_SPACE_OPERATIONS");
  const std::uint64_t operations = wanted ? std::strtoull(wanted, nullptr, 10) : all ? 1'000'000 : 60'000;
  const std::uint32_t keys = all ? 16'666 : 3'333;
  double payload = 0;
  for (std::uint32_t key = 0; key < keys; ++key)  // as it will be at most
    payload += 8 + (law.sizes == Sizes::by_one_byte ? longest : bytes_[key] = size(key, law.sizes == Sizes::rising));
  auto sectors = static_cast<std::uint32_t>(payload / law.live / 512 * 32 / 31 + 256);
  if (!all && law.index == LUNAR_INDEX_HASH) sectors += 6 * 64;  // a chunk for each size of the index's segments
  Table t(sectors, 65536, LUNAR_MODE_METADATA, law.index);
  for (std::uint32_t key = 0; key < keys; ++key) {
    bytes_[key] = size(key, 0);
    ASSERT_EQ(t.insert(key, bytes_[key]), 0) << key;
  }
  double worst = 0, sum = 0;
  std::uint64_t samples = 0;
  t.dearest = 0;
  const auto writes = t.device.sectors_written;
  for (std::uint64_t operation = 0; operation < operations; ++operation) {
    const auto key = law.sizes == Sizes::by_one_byte ? static_cast<std::uint32_t>(operation % keys) : random() % keys;
    const auto bytes = size(key, static_cast<double>(operation) / static_cast<double>(operations));
    if (random() % 10 < 3) {
      ASSERT_EQ(t.remove(key), 0) << operation;
      ASSERT_EQ(t.insert(key, bytes), 0) << operation;
    } else {
      ASSERT_EQ(t.update(key, bytes), 0) << operation;
    }
    bytes_[key] = bytes;
    if (operation % 1000 != 0 || operation < operations / 3) continue;
    ASSERT_TRUE(t.has(key, bytes));
    const auto stat = t.stat();
    double live = 0;
    for (std::uint32_t k = 0; k < keys; ++k) live += 8 + bytes_[k];
    const double amplification = stat.chunks_used * static_cast<double>(stat.chunk_bytes) / live;
    worst = std::max(worst, amplification);
    sum += amplification, ++samples;
  }
  std::printf("%-24s amplification %.2f, at most %.2f; dearest call %lu requests; %.2f sectors written an operation\n",
              law.name, sum / static_cast<double>(samples), worst, static_cast<unsigned long>(t.dearest),
              static_cast<double>(t.device.sectors_written - writes) / static_cast<double>(operations));
  EXPECT_LE(worst, law.amplification_max + (all ? 0 : 0.15)) << "few chunks are coarse";
  EXPECT_LE(t.dearest, 160U) << "the aim is 40";
  for (std::uint32_t key = 0; key < keys; ++key) ASSERT_TRUE(t.has(key, bytes_[key])) << key;
  ASSERT_TRUE(t.sound());
}

INSTANTIATE_TEST_SUITE_P(
    Of, Space,
    testing::Values(Law{"mixed, 60 % live", Sizes::mixed, 0.6, 1.6}, Law{"mixed, 27 % live", Sizes::mixed, 0.27, 1.5},
                    Law{"mixed, 60 % live, hash", Sizes::mixed, 0.6, 1.6, LUNAR_INDEX_HASH},
                    Law{"fixed", Sizes::fixed, 0.6, 1.6}, Law{"doubling", Sizes::doubling, 0.6, 1.6},
                    Law{"two peaks", Sizes::two_peaked, 0.6, 1.6}, Law{"rising", Sizes::rising, 0.6, 1.6},
                    Law{"a byte a round", Sizes::by_one_byte, 0.6, 1.6}));

// A random half of the rows goes, and as many rows of the same size come, twelve times. Payload 60 % of the data zone.
class Rounds : public testing::TestWithParam<std::tuple<std::uint32_t, lunar_index>> {};

TEST_P(Rounds, of_deletions_and_insertions_take_no_further_space) {
  const auto [bytes, index] = GetParam();
  const std::uint32_t keys = 3'000'000 / (bytes + 60);
  std::mt19937_64 random(test_seed());
  Table t(static_cast<std::uint32_t>((bytes + 48.0) * keys / 0.6 / 512 * 32 / 31) + 256, 65536, LUNAR_MODE_METADATA,
          index);
  for (std::uint32_t key = 0; key < keys; ++key) ASSERT_EQ(t.insert(key, bytes), 0) << key;
  const auto loaded = t.stat().chunks_used;
  std::uint32_t most = loaded;
  for (int round = 0; round < 12; ++round) {
    std::vector<std::uint32_t> gone;
    for (std::uint32_t key = 0; key < keys; ++key)
      if (random() % 2 == 0) gone.push_back(key);
    for (const auto key : gone) ASSERT_EQ(t.remove(key), 0) << key;
    std::shuffle(gone.begin(), gone.end(), random);
    for (const auto key : gone) ASSERT_EQ(t.insert(key, bytes), 0) << key << " in round " << round;
    most = std::max(most, t.stat().chunks_used);
  }
  std::printf("%u chunks, at most %u: %.2f\n", loaded, most, static_cast<double>(most) / loaded);
  EXPECT_LE(most, 1.3 * loaded);
  for (std::uint32_t key = 0; key < keys; ++key) ASSERT_TRUE(t.has(key, bytes)) << key;
  EXPECT_TRUE(t.sound());
}

INSTANTIATE_TEST_SUITE_P(Of, Rounds,
                         testing::Combine(testing::Values(16U, 100U, 500U, 1500U, 4000U),
                                          testing::Values(LUNAR_INDEX_TREE, LUNAR_INDEX_HASH)));

// Rows of three quarters of a sector and more come into slots of deleted ones, through the log. Of smaller rows a
// sector has several, and it is written as a whole; so is the last sector of a row that is flushed alone.
TEST(Slots, of_deleted_rows_are_reused_with_few_bytes) {
  std::mt19937_64 random(test_seed());
  for (const std::uint32_t bytes : {400U, 500U, 1000U, 1500U, 4000U, 8000U})
    for (const lunar_mode mode : {LUNAR_MODE_METADATA, LUNAR_MODE_FULL}) {
      const std::uint32_t keys = 3'000'000 / bytes;
      Table t(16384, 1 << 20, mode, LUNAR_INDEX_TREE);
      for (std::uint32_t key = 0; key < keys; ++key) ASSERT_EQ(t.insert(key, bytes), 0);
      std::vector<std::uint32_t> gone;
      for (std::uint32_t key = 0; key < keys; ++key)
        if (random() % 2 == 0) gone.push_back(key);
      for (const auto key : gone) ASSERT_EQ(t.remove(key), 0);
      ASSERT_EQ(lunar_checkpoint(&t.db), 0);
      const auto before = t.device.sectors_written;
      for (const auto key : gone) ASSERT_EQ(t.insert(key, bytes), 0);
      ASSERT_EQ(lunar_checkpoint(&t.db), 0);
      const double written =
          512.0 * static_cast<double>(t.device.sectors_written - before) / (static_cast<double>(gone.size()) * bytes);
      std::printf("%u bytes, mode %d: %.2f bytes written a byte\n", bytes, mode, written);
      if (mode == LUNAR_MODE_METADATA || bytes >= 1500) {
        EXPECT_LE(written, 2.5) << bytes;
      }
    }
}

constexpr std::int64_t rows = 4000;

// A table of which the rows with odd keys have been removed while a cursor was in use.
class Sparse : public testing::Test {
 protected:
  void SetUp() override {
    for (std::int64_t key = 0; key < rows; ++key) ASSERT_EQ(t_.insert(key, 100), 0);
    ASSERT_EQ(lunar_cursor_open(&cursor_, &t_.table, nullptr, nullptr, 0), 0);
    ASSERT_EQ(t_.next(&cursor_), 0);
    for (std::int64_t key = 1; key < rows; key += 2) ASSERT_EQ(t_.remove(key), 0);
  }
  Table t_{4096, 16384, LUNAR_MODE_DATA, LUNAR_INDEX_HASH};
  lunar_cursor cursor_{};
};

TEST_F(Sparse, tables_keep_their_rows_in_place_while_a_cursor_depends_on_it) {
  for (std::int64_t key = 2; key < rows; key += 2) {
    ASSERT_EQ(t_.next(&cursor_), key);
    ASSERT_EQ(t_.update(key, 99), 0); /* to the end, or to a place that the cursor has passed or comes to */
    if (key > rows / 2) break;
  }
  EXPECT_GT(t_.stat().dead_bytes, 100'000U);
  lunar_cursor_close(&cursor_);
  EXPECT_EQ(t_.next(&cursor_), LUNAR_E_NOT_FOUND);
  for (std::int64_t key = 0; key < rows / 2; key += 2) ASSERT_EQ(t_.update(key, 98), 0);
  EXPECT_LT(t_.stat().dead_bytes, 50'000U);
  EXPECT_TRUE(t_.sound());
}

TEST_F(Sparse, tables_give_up_their_blocks_in_idle_time) {
  const auto before = t_.stat();
  std::uint32_t moved = 1;
  ASSERT_EQ(lunar_compact(&t_.db, 10, &moved), 0);
  EXPECT_EQ(moved, 0U) << "the cursor is in use";
  while (t_.next(&cursor_) >= 0) continue; /* its end closes it */
  std::uint32_t calls = 0;
  do {
    ASSERT_EQ(lunar_compact(&t_.db, 10, &moved), 0);
    ASSERT_LE(moved, 10U);
  } while (moved == 10 && ++calls < rows);
  const auto after = t_.stat();
  EXPECT_LT(after.dead_bytes, before.dead_bytes / 4);
  EXPECT_LT(after.live_bytes, before.live_bytes);
  EXPECT_EQ(after.live_bytes + after.dead_bytes + after.free_bytes + after.fragmented_bytes, after.data_bytes);
  for (std::int64_t key = 0; key < rows; ++key) ASSERT_EQ(t_.has(key, 100), key % 2 == 0) << key;
  EXPECT_TRUE(t_.sound());
}

TEST_F(Sparse, tables_make_room_for_others_on_a_full_device_and_the_cursor_reports_it) {
  lunar_table other;
  t_.create("other", LUNAR_INDEX_TREE, &other);
  const std::string content(1000, 'x');
  std::uint32_t inserted = 0;
  int error = 0;
  for (std::int64_t key = 0; error == 0; ++key) {
    const lunar_value row[] = {integer(key), blob(content)};
    error = lunar_insert(&other, row);
    inserted += error == 0;
  }
  EXPECT_EQ(error, LUNAR_E_FULL);
  const auto stat = t_.stat();
  EXPECT_LT(stat.dead_bytes, 2 * stat.block_bytes_max) << "the last block keeps what is dead in it";
  EXPECT_EQ(t_.next(&cursor_), LUNAR_E_MOVED);
  for (std::int64_t key = 0; key < rows; ++key) ASSERT_EQ(t_.has(key, 100), key % 2 == 0) << key;
  EXPECT_TRUE(t_.sound());
}

// A sector that cannot be read in a sparse block is no reason to refuse changes of other rows.
TEST(UnreadableSectors, of_sparse_blocks_stop_no_insertion) {
  int refused = 0, sectors = 0;
  for (std::uint32_t at = 1024; at < 1536; at += 13, ++sectors) {
    Table t(4096, LUNAR_BUFFER_BYTES_MIN(512), LUNAR_MODE_DATA, LUNAR_INDEX_HASH);
    lunar_cursor cursor;
    for (std::int64_t key = 0; key < rows; ++key) ASSERT_EQ(t.insert(key, 100), 0);
    ASSERT_EQ(lunar_cursor_open(&cursor, &t.table, nullptr, nullptr, 0), 0);
    ASSERT_EQ(t.next(&cursor), 0);
    for (std::int64_t key = 1; key < rows; key += 2) ASSERT_EQ(t.remove(key), 0);
    lunar_cursor_close(&cursor);
    ASSERT_EQ(lunar_checkpoint(&t.db), 0);
    emubd_set_bad(&t.device, t.db.geometry.data_at + at, EMUBD_BAD_READ);
    int failed = 0;
    for (std::int64_t key = rows; key < rows + 100; ++key) failed += t.insert(key, 100) != 0;
    refused += failed > 50;
  }
  std::printf("%d of %d sectors stop insertions\n", refused, sectors);
  EXPECT_LE(refused, 6) << "12 if an error of a move counted; the others are pages that insertions need";
}

// With a log of the size that the error names, the transaction goes further.
TEST(Transactions, that_are_too_large_say_how_large_the_log_would_have_to_be) {
  std::int64_t fitted = 0;
  for (std::uint32_t log_bytes = 64 * 1024, round = 0; round < 4; ++round) {
    Table t(8192, LUNAR_BUFFER_BYTES_MIN(512), LUNAR_MODE_DATA, LUNAR_INDEX_TREE, log_bytes);
    ASSERT_EQ(lunar_log_wanted(&t.db), 0U);
    const auto log = t.stat().log_bytes;  // a whole number of units
    ASSERT_EQ(lunar_begin(&t.db), 0);
    std::int64_t key = 0;
    int error = 0;
    while ((error = t.insert(key * 7919 % 10'000, 300)) == 0) ++key;
    ASSERT_EQ(error, LUNAR_E_TXN_FULL);
    ASSERT_GT(key, fitted);
    ASSERT_GT(lunar_log_wanted(&t.db) * 512, log);
    ASSERT_LT(lunar_log_wanted(&t.db) * 512, 2 * log);
    fitted = key, log_bytes = lunar_log_wanted(&t.db) * 512 + 16 * 512;
  }
}

// A device that refuses a row can be emptied in one operation, whatever the mode and the log, and takes as many again.
TEST(FullDevices, are_emptied_and_filled_again) {
  for (const lunar_mode mode :
       {LUNAR_MODE_NONE, LUNAR_MODE_DISORDER, LUNAR_MODE_METADATA, LUNAR_MODE_DATA, LUNAR_MODE_FULL})
    for (const lunar_index index : {LUNAR_INDEX_HASH, LUNAR_INDEX_TREE})
      for (const std::uint32_t sectors : {128U, 512U, 8192U})
        for (const std::uint32_t log_bytes : {0U, 64U * 512}) {
          Table t(sectors, LUNAR_BUFFER_BYTES_MIN(512), mode, index, log_bytes);
          std::vector<std::int64_t> fits;
          for (int round = 0; round < 4; ++round) {
            std::int64_t key = 0;
            while (t.insert(key, round % 2 ? 20 : 600) == 0) ++key;
            fits.push_back(key);
            std::uint64_t left = 1;
            ASSERT_EQ(lunar_truncate(&t.table), 0) << sectors << ", mode " << mode;
            ASSERT_EQ(lunar_count(&t.table, &left), 0);
            ASSERT_EQ(left, 0U);
            ASSERT_TRUE(t.sound());
          }
          ASSERT_GT(fits[0], 3);
          ASSERT_GE(fits[2] * 100, fits[0] * 85) << sectors << ", mode " << mode;
          ASSERT_GE(fits[3] * 100, fits[1] * 85) << sectors << ", mode " << mode;
        }
}

TEST(FullDevices, with_secondary_indexes_are_emptied_too) {
  for (const lunar_mode mode :
       {LUNAR_MODE_NONE, LUNAR_MODE_DISORDER, LUNAR_MODE_METADATA, LUNAR_MODE_DATA, LUNAR_MODE_FULL})
    for (const std::uint32_t log_bytes : {0U, 160U * 512}) {
      Table t(2048, LUNAR_BUFFER_BYTES_MIN(512), mode, LUNAR_INDEX_HASH, log_bytes);
      ASSERT_EQ(lunar_index_create(&t.db, "t", "by content", 1, LUNAR_INDEX_TREE), 0);
      ASSERT_EQ(lunar_index_create(&t.db, "t", "by hash", 1, LUNAR_INDEX_HASH), 0);
      for (int round = 0; round < 2; ++round) {
        std::int64_t key = 0;
        while (t.insert(key, 100) == 0) ++key;
        ASSERT_GT(key, 100);
        ASSERT_EQ(lunar_truncate(&t.table), 0) << "mode " << mode;
        ASSERT_TRUE(t.sound());
      }
    }
}

TEST(Truncation, also_empties_the_indexes_and_can_be_undone) {
  Table t(4096, 16384, LUNAR_MODE_DATA, LUNAR_INDEX_HASH, 128 * 1024);
  for (std::int64_t key = 0; key < rows; ++key) ASSERT_EQ(t.insert(key, 20), 0);
  ASSERT_EQ(lunar_index_create(&t.db, "t", "by content", 1, LUNAR_INDEX_TREE), 0);
  ASSERT_EQ(lunar_index_create(&t.db, "t", "by hash", 1, LUNAR_INDEX_HASH), 0);
  lunar_cursor cursor;
  ASSERT_EQ(lunar_cursor_open(&cursor, &t.table, nullptr, nullptr, 0), 0);
  ASSERT_EQ(t.next(&cursor), 0);
  ASSERT_EQ(lunar_begin(&t.db), 0);
  ASSERT_EQ(lunar_truncate(&t.table), 0);
  ASSERT_FALSE(t.has(1, 20));
  ASSERT_EQ(lunar_rollback(&t.db), 0);
  ASSERT_TRUE(t.has(1, 20));
  ASSERT_EQ(t.next(&cursor), 1);
  ASSERT_EQ(lunar_truncate(&t.table), 0);
  ASSERT_EQ(t.next(&cursor), LUNAR_E_NOT_FOUND);
  ASSERT_TRUE(t.sound());
  for (std::int64_t key = 0; key < 100; ++key) ASSERT_EQ(t.insert(key, 20), 0);
  const std::string content = "none";
  const lunar_value none = blob(content);
  lunar_cursor by_index;
  ASSERT_EQ(lunar_index_cursor(&by_index, &t.table, "by hash", &none, &none, 0), 0);
  ASSERT_EQ(t.next(&by_index), LUNAR_E_NOT_FOUND);
  ASSERT_TRUE(t.sound());
}

// Blocks of two sectors, so that a small volume has many pages of allocation.
constexpr std::uint32_t small_blocks = 1024, small_log = 64 * 512;

// An operation that fills the log leaves room for the recovery that repeats it, or is refused.
TEST(Removal, of_a_table_does_not_fill_the_log_for_ever) {
  int dropped = 0, refused = 0;
  for (const bool truncates : {false, true})
    for (std::int64_t rows_now = 50; rows_now <= 1500; rows_now += 50) {
      Table t(8192, LUNAR_BUFFER_BYTES_MIN(512), LUNAR_MODE_FULL, LUNAR_INDEX_HASH, small_log, small_blocks);
      for (std::int64_t key = 0; key < rows_now; ++key) ASSERT_EQ(t.insert(key, 100), 0) << key;
      const int error = truncates ? lunar_truncate(&t.table) : lunar_table_drop(&t.db, "t");
      ASSERT_TRUE(error == 0 || error == LUNAR_E_TXN_FULL) << error;
      (error ? refused : dropped) += 1;
      ASSERT_EQ(t.mount_after_cut(), 0) << rows_now << " rows";
      ASSERT_TRUE(t.sound());
      ASSERT_EQ(lunar_table_open(&t.db, "t", &t.table), error || truncates ? 0 : LUNAR_E_NO_TABLE);
    }
  std::printf("%d removed, %d refused\n", dropped, refused);
  EXPECT_GT(dropped, 0);
  EXPECT_GT(refused, 0) << "no case is near the limit";
}

TEST(Indexes, are_made_of_more_pages_than_the_log_has_room_for) {
  Table t(65536, 16384, LUNAR_MODE_DATA, LUNAR_INDEX_TREE, 128 * 512);
  for (std::int64_t key = 0; key < 200'000; ++key) ASSERT_EQ(t.insert(key, 20), 0) << key;
  EXPECT_EQ(lunar_index_create(&t.db, "t", "by content", 1, LUNAR_INDEX_HASH), 0);
  EXPECT_TRUE(t.sound());
}

// With indexes a block has room for a few bytes less of row: rows that are too large for it stay where they are.
TEST(LargeRows, stay_where_they_are_when_indexes_have_made_them_too_large) {
  for (const lunar_mode mode : {LUNAR_MODE_NONE, LUNAR_MODE_DATA}) {
    Table t(8192, 16384, mode, LUNAR_INDEX_TREE, 160 * 512, 2048);
    std::uint32_t large = 2048;
    while (t.insert(0, large) == LUNAR_E_TOO_LARGE) --large;
    large -= 60;
    for (std::int64_t key = 1; key < 1000; ++key) ASSERT_EQ(t.insert(key, key % 2 ? 30 : large), 0);
    for (const char* name : {"a", "b", "c"}) ASSERT_EQ(lunar_index_create(&t.db, "t", name, 1, LUNAR_INDEX_HASH), 0);
    ASSERT_EQ(t.insert(1000, large), LUNAR_E_TOO_LARGE);
    for (std::int64_t key = 1; key < 1000; key += 2) ASSERT_EQ(t.remove(key), 0);
    int error = 0;
    for (std::int64_t key = 1001; error == 0; ++key) error = t.insert(key, 200);
    EXPECT_EQ(error, LUNAR_E_FULL);
    for (std::int64_t key = 2; key < 1000; key += 2) ASSERT_TRUE(t.has(key, large)) << key;
    ASSERT_EQ(t.remove(2), 0);
    ASSERT_TRUE(t.sound());
  }
}

// What a transaction leaves dead, the next one makes up for before it begins.
TEST(Transactions, of_updates_keep_their_space) {
  Table t(6144, 16384, LUNAR_MODE_DATA, LUNAR_INDEX_TREE, 1 << 20);
  std::mt19937_64 random(test_seed());
  for (std::int64_t key = 0; key < rows; ++key) ASSERT_EQ(t.insert(key, 250), 0);
  for (int transaction = 0; transaction < 400; ++transaction) {
    ASSERT_EQ(lunar_begin(&t.db), 0);
    for (int i = 0; i < 30; ++i)
      ASSERT_EQ(t.update(static_cast<std::int64_t>(random() % rows), static_cast<std::uint32_t>(230 + random() % 40)),
                0);
    ASSERT_EQ(lunar_commit(&t.db), 0);
  }
  EXPECT_LT(t.stat().dead_bytes, t.stat().live_bytes / 3);
  EXPECT_TRUE(t.sound());
}

}  // namespace
}  // namespace lunar_test
