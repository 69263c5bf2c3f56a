// Ordered tables, ring tables and cursors over both, compared with std::map.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "emubd.h"
#include "lunar.h"
#include "values.h"

namespace lunar_test {
namespace {

struct Setting {
  const char* name;
  lunar_index index;
  std::size_t buffer_bytes;
};

class Tables : public testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    ASSERT_EQ(emubd_open(&device, 512, 16384), 0);
    emubd_config(&device, &config);
    buffer.resize(GetParam().buffer_bytes / 4);
    config.buffer = buffer.data(), config.buffer_bytes = GetParam().buffer_bytes, config.mode = LUNAR_MODE_DATA;
    ASSERT_EQ(lunar_format(&config), 0);
    ASSERT_EQ(lunar_mount(&db, &config), 0);
  }
  void TearDown() override {
    lunar_findings found;
    EXPECT_EQ(lunar_check(&db, &found), 0) << found.text << ", sector " << found.sector;
    emubd_close(&device);
  }

  void create(lunar_type key, lunar_ring ring = LUNAR_RING_NONE, std::uint64_t limit = 0) {
    lunar_schema schema{};
    schema.column_count = 2, schema.index = GetParam().index, schema.ring = ring, schema.ring_limit = limit;
    std::strcpy(schema.columns[0].name, "key"), schema.columns[0].type = key;
    std::strcpy(schema.columns[1].name, "content"), schema.columns[1].type = LUNAR_TEXT;
    ASSERT_EQ(lunar_table_create(&db, "t", &schema), 0);
    ASSERT_EQ(lunar_table_open(&db, "t", &table), 0);
  }

  int insert(const lunar_value& key, const std::string& content) {
    const lunar_value values[] = {key, text(content)};
    return lunar_insert(&table, values);
  }

  bool has(const lunar_value& key) {
    lunar_value values[2];
    return lunar_get(&table, &key, row, sizeof row, values) == 0;
  }

  std::vector<std::string> scan(const lunar_value* from, const lunar_value* to, bool descending) {
    std::vector<std::string> keys;
    lunar_cursor cursor;
    EXPECT_EQ(lunar_cursor_open(&cursor, &table, from, to, descending), 0);
    lunar_value values[2];
    int error = 0;
    while ((error = lunar_cursor_next(&cursor, row, sizeof row, values)) == 0) keys.push_back(bytes_of(values[0]));
    EXPECT_EQ(error, LUNAR_E_NOT_FOUND);
    return keys;
  }

  std::vector<std::int64_t> scan_integers(bool descending = false) {
    std::vector<std::int64_t> keys;
    lunar_cursor cursor;
    EXPECT_EQ(lunar_cursor_open(&cursor, &table, nullptr, nullptr, descending), 0);
    lunar_value values[2];
    int error = 0;
    while ((error = lunar_cursor_next(&cursor, row, sizeof row, values)) == 0) keys.push_back(values[0].as.integer);
    EXPECT_EQ(error, LUNAR_E_NOT_FOUND);
    return keys;
  }

  emubd device{};
  lunar_config config{};
  std::vector<std::uint32_t> buffer;
  lunar db{};
  lunar_table table{};
  char row[4096];
};

using Trees = Tables;

std::string random_key(std::mt19937_64& random) {
  std::string key = random() % 2 == 0 ? "a common beginning of keys " : "";
  for (auto n = random() % 30; n > 0; --n) key += static_cast<char>("ab\xff\0"[random() % 4]);
  return key;
}

TEST_P(Trees, are_a_sorted_map_under_random_insertion_and_removal) {
  std::mt19937_64 random(test_seed());
  create(LUNAR_TEXT);
  std::map<std::string, std::string> model;
  for (int i = 0; i < 6000; ++i) {
    const bool grows = i % 3000 < 2000;
    const std::string key = random_key(random);
    if (random() % 10 < (grows ? 7U : 3U)) {
      const bool there = model.contains(key);
      ASSERT_EQ(insert(text(key), "of " + key), there ? LUNAR_E_EXISTS : 0);
      model.emplace(key, "of " + key);
    } else if (!model.empty()) {
      auto victim = model.lower_bound(key);
      if (victim == model.end()) victim = model.begin();
      const lunar_value k = text(victim->first);
      ASSERT_EQ(lunar_remove(&table, &k), 0);
      model.erase(victim);
    }
    if (i % 500 != 499) continue;
    std::vector<std::string> keys;
    for (const auto& [k, v] : model) keys.push_back(k);
    ASSERT_EQ(scan(nullptr, nullptr, false), keys);
    std::reverse(keys.begin(), keys.end());
    ASSERT_EQ(scan(nullptr, nullptr, true), keys);
  }
  for (int i = 0; i < 200; ++i) {
    const std::string from = random_key(random), to = random_key(random);
    const lunar_value f = text(from), t = text(to);
    std::vector<std::string> keys;
    for (const auto& [k, v] : model)
      if (k >= from && k <= to) keys.push_back(k);
    ASSERT_EQ(scan(&f, &t, false), keys);
    std::reverse(keys.begin(), keys.end());
    ASSERT_EQ(scan(&f, &t, true), keys);
  }
  while (!model.empty()) {
    const lunar_value k = text(model.begin()->first);
    ASSERT_EQ(lunar_remove(&table, &k), 0);
    model.erase(model.begin());
  }
  EXPECT_TRUE(scan(nullptr, nullptr, false).empty());
}

TEST_P(Trees, order_integers_by_value) {
  create(LUNAR_INT64);
  std::mt19937_64 random(test_seed());
  std::vector<std::int64_t> keys = {INT64_MIN, -1, 0, 1, INT64_MAX};
  for (int i = 0; i < 2000; ++i) keys.push_back(static_cast<std::int64_t>(random()));
  for (const auto key : keys) ASSERT_EQ(insert(integer(key), "x"), 0);
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(scan_integers(), keys);
}

TEST_P(Trees, refuse_a_key_that_is_too_long) {
  create(LUNAR_TEXT);
  const std::string longest(LUNAR_TREE_KEY_MAX, 'k'), longer = longest + "k";
  EXPECT_EQ(insert(text(longest), "x"), 0);
  EXPECT_EQ(insert(text(longer), "x"), LUNAR_E_TOO_LARGE);
}

TEST_P(Trees, are_filled_by_rising_keys_page_by_page) {
  create(LUNAR_INT32);
  for (int i = 0; i < 3000; ++i) ASSERT_EQ(insert(integer(i), "x"), 0);
  ASSERT_EQ(lunar_checkpoint(&db), 0);
  ASSERT_EQ(lunar_table_drop(&db, "t"), 0);
  EXPECT_EQ(lunar_checkpoint(&db), 0);
  EXPECT_EQ(db.chunks_free, db.geometry.chunk_count);
}

TEST_P(Trees, let_a_cursor_read_each_row_once_while_others_are_written) {
  create(LUNAR_INT64);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(insert(integer(10 * i), "x"), 0);
  const std::string longer(200, 'g');
  lunar_cursor cursor;
  ASSERT_EQ(lunar_cursor_open(&cursor, &table, nullptr, nullptr, 0), 0);
  lunar_value values[2];
  std::vector<std::int64_t> kept;
  std::int64_t last = -1;
  int error = 0;
  while ((error = lunar_cursor_next(&cursor, row, sizeof row, values)) == 0) {
    const std::int64_t key = values[0].as.integer;
    ASSERT_GT(key, last);
    last = key;
    if (key % 10 != 0) continue;
    kept.push_back(key);
    const lunar_value k = integer(key), behind = integer(key + 1), grown = text(longer);
    ASSERT_EQ(insert(behind, "y"), 0);
    ASSERT_EQ(key % 20 == 0 ? lunar_remove(&table, &k) : lunar_update(&table, &k, 1, &grown), 0);
  }
  EXPECT_EQ(error, LUNAR_E_NOT_FOUND);
  EXPECT_EQ(kept.size(), 1000U);
}

TEST_P(Trees, let_a_cursor_go_on_behind_leaves_that_have_left_the_tree) {
  create(LUNAR_INT64);
  for (const bool descending : {false, true}) {
    for (int i = 0; i < 400; ++i) ASSERT_EQ(insert(integer(i), "x"), 0);
    lunar_cursor cursor;
    ASSERT_EQ(lunar_cursor_open(&cursor, &table, nullptr, nullptr, descending), 0);
    lunar_value values[2];
    for (int i = 0; i < 10; ++i) ASSERT_EQ(lunar_cursor_next(&cursor, row, sizeof row, values), 0);
    for (int i = 0; i < 200; ++i) {
      const lunar_value gone = integer(descending ? 399 - i : i);
      ASSERT_EQ(lunar_remove(&table, &gone), 0);
    }
    ASSERT_EQ(lunar_cursor_next(&cursor, row, sizeof row, values), 0);
    EXPECT_EQ(values[0].as.integer, descending ? 199 : 200);
    for (int i = 0; i < 200; ++i) {
      const lunar_value gone = integer(descending ? i : 399 - i);
      ASSERT_EQ(lunar_remove(&table, &gone), 0);
    }
  }
}

using Keys = Tables;

TEST_P(Keys, that_are_text_of_any_length_are_found_removed_and_redone) {
  const bool hashed = GetParam().index == LUNAR_INDEX_HASH;
  create(LUNAR_TEXT);
  const auto key = [hashed](int i) {
    return std::string(static_cast<std::size_t>(i) % (hashed ? 300 : 55), 'k') + std::to_string(i);
  };
  for (int i = 0; i < 600; ++i) {
    const std::string k = key(i);
    ASSERT_EQ(insert(text(k), "x"), 0);
  }
  ASSERT_EQ(lunar_checkpoint(&db), 0);
  for (int i = 0; i < 600; i += 2) {
    const std::string k = key(i);
    const lunar_value gone = text(k);
    ASSERT_EQ(lunar_remove(&table, &gone), 0);
  }
  for (int i = 600; i < 700; ++i) {
    const std::string k = key(i);
    ASSERT_EQ(insert(text(k), "x"), 0);
  }
  ASSERT_EQ(lunar_sync(&db), 0);
  ASSERT_EQ(lunar_mount(&db, &config), 0);  // drops the previous handle, as a cut does
  ASSERT_EQ(lunar_table_open(&db, "t", &table), 0);
  for (int i = 0; i < 700; ++i) {
    const std::string k = key(i);
    ASSERT_EQ(has(text(k)), i % 2 == 1 || i >= 600) << i;
  }
}

// Chunks of two sectors: the segments of a hash index are runs of chunks, and without a free run the index stops
// growing.
TEST_P(Keys, are_found_in_an_index_that_is_longer_than_a_chunk) {
  ASSERT_EQ(lunar_unmount(&db), 0);
  config.class_bytes_max = 1024, config.sector_count = 4096, config.log_bytes = 512 * 1024;
  ASSERT_EQ(lunar_format(&config), 0);
  ASSERT_EQ(lunar_mount(&db, &config), 0);
  create(LUNAR_INT64);
  const auto all_there = [this](int rows, const char* when) {
    for (int i = 0; i < rows; ++i) ASSERT_TRUE(has(integer(i))) << i << " of " << rows << ", " << when;
  };
  int rows = 0;
  for (; rows < 1500; ++rows) {
    ASSERT_EQ(insert(integer(rows), "x"), 0);
    if (rows % 20 != 0) continue;
    ASSERT_EQ(lunar_sync(&db), 0);
    ASSERT_EQ(lunar_mount(&db, &config), 0);  // without an unmount: a segment may be allocated twice
    ASSERT_EQ(lunar_table_open(&db, "t", &table), 0);
  }
  all_there(rows, "redone");
  int error = 0;
  while ((error = insert(integer(rows), std::string(static_cast<std::size_t>(rows) % 200, 'x'))) == 0) ++rows;
  EXPECT_EQ(error, LUNAR_E_FULL);
  all_there(rows, "on a full device");
  lunar_findings found;
  EXPECT_EQ(lunar_check(&db, &found), 0) << found.text << ", sector " << found.sector;
  ASSERT_EQ(lunar_table_drop(&db, "t"), 0);
  ASSERT_EQ(lunar_checkpoint(&db), 0);
  EXPECT_EQ(db.chunks_free, db.geometry.chunk_count);
}

TEST_P(Keys, of_a_table_too_long_to_be_dropped_can_be_removed_and_then_it_is_dropped) {
  ASSERT_EQ(lunar_unmount(&db), 0);
  config.class_bytes_max = 1024, config.sector_count = 2048;
  ASSERT_EQ(lunar_format(&config), 0);
  ASSERT_EQ(lunar_mount(&db, &config), 0);
  create(LUNAR_INT64);
  int rows = 0;
  while (insert(integer(rows), std::string(200, 'x')) == 0) ++rows;
  const int dropped = lunar_table_drop(&db, "t");
  if (dropped == 0) return;  // it fits with more frames
  ASSERT_EQ(dropped, LUNAR_E_TXN_FULL);
  for (int i = 0; i < rows; ++i) {
    const lunar_value key = integer(i);
    ASSERT_EQ(lunar_remove(&table, &key), 0) << i << " of " << rows;
  }
  EXPECT_EQ(lunar_table_drop(&db, "t"), 0);
}

using Cursors = Tables;

TEST_P(Cursors, read_the_rows_in_the_order_in_which_they_came_and_backwards) {
  create(LUNAR_INT64);
  std::vector<std::int64_t> keys;
  for (int i = 0; i < 1500; ++i) keys.push_back(i * 7919 % 1500);
  for (const auto key : keys) ASSERT_EQ(insert(integer(key), std::string(static_cast<std::size_t>(key) % 600, 'x')), 0);
  auto expected = keys;
  if (GetParam().index == LUNAR_INDEX_TREE) std::sort(expected.begin(), expected.end());
  auto found = scan_integers();
  if (GetParam().index == LUNAR_INDEX_HASH)
    std::sort(found.begin(), found.end()), std::sort(expected.begin(), expected.end());
  EXPECT_EQ(found, expected);
  auto back = scan_integers(true);
  if (GetParam().index == LUNAR_INDEX_HASH)
    std::sort(back.begin(), back.end());
  else
    std::reverse(back.begin(), back.end());
  EXPECT_EQ(back, expected);
}

TEST_P(Cursors, may_remove_each_row_that_they_read) {
  for (const bool descending : {false, true}) {
    create(LUNAR_INT64);
    for (int i = 0; i < 1200; ++i)
      ASSERT_EQ(insert(integer(i), std::string(static_cast<std::size_t>(i) % 900, 'x')), 0);
    lunar_cursor cursor;
    ASSERT_EQ(lunar_cursor_open(&cursor, &table, nullptr, nullptr, descending), 0);
    lunar_value values[2];
    int rows = 0, error = 0;
    while ((error = lunar_cursor_next(&cursor, row, sizeof row, values)) == 0) {
      const lunar_value key = integer(values[0].as.integer);
      ASSERT_EQ(lunar_remove(&table, &key), 0);
      ++rows;
    }
    EXPECT_EQ(error, LUNAR_E_NOT_FOUND);
    EXPECT_EQ(rows, 1200);
    EXPECT_EQ(lunar_cursor_next(&cursor, row, sizeof row, values), LUNAR_E_NOT_FOUND);
    ASSERT_EQ(lunar_table_drop(&db, "t"), 0);
  }
}

TEST_P(Cursors, end_although_each_row_that_is_read_moves_to_the_end) {
  create(LUNAR_INT64);
  for (int i = 0; i < 300; ++i) ASSERT_EQ(insert(integer(i), "x"), 0);
  const std::string longer(100, 'g');
  lunar_cursor cursor;
  ASSERT_EQ(lunar_cursor_open(&cursor, &table, nullptr, nullptr, 0), 0);
  lunar_value values[2];
  int rows = 0;
  while (lunar_cursor_next(&cursor, row, sizeof row, values) == 0) {
    const lunar_value key = integer(values[0].as.integer), grown = text(longer);
    ASSERT_EQ(lunar_update(&table, &key, 1, &grown), 0);
    ASSERT_LE(++rows, 300);
  }
  EXPECT_EQ(rows, 300);
}

// The rollback removes the transaction's rows and blocks; other rows may use the same block numbers afterwards.
TEST_P(Cursors, go_on_among_the_rows_that_are_left_when_a_transaction_is_rolled_back) {
  create(LUNAR_INT64);
  for (const bool descending : {false, true}) {
    for (int i = 0; i < 3; ++i) ASSERT_EQ(insert(integer(i), std::string(600, 'x')), 0);
    ASSERT_EQ(lunar_begin(&db), 0);
    for (int i = 3; i < 20; ++i) ASSERT_EQ(insert(integer(i), std::string(600, 'y')), 0);
    lunar_cursor cursor;
    ASSERT_EQ(lunar_cursor_open(&cursor, &table, nullptr, nullptr, descending), 0);
    lunar_value values[2];
    for (int i = 0; i < (descending ? 1 : 18); ++i) ASSERT_EQ(lunar_cursor_next(&cursor, row, sizeof row, values), 0);
    ASSERT_EQ(lunar_rollback(&db), 0);
    for (int left = descending ? 3 : 0; left > 0; --left)
      EXPECT_EQ(lunar_cursor_next(&cursor, row, sizeof row, values), 0);
    EXPECT_EQ(lunar_cursor_next(&cursor, row, sizeof row, values), LUNAR_E_NOT_FOUND);
    for (int i = 0; i < 3; ++i) {
      const lunar_value key = integer(i);
      ASSERT_EQ(lunar_remove(&table, &key), 0);
    }
  }
}

TEST_P(Cursors, wait_before_a_row_for_which_the_buffer_is_too_small) {
  create(LUNAR_INT64);
  ASSERT_EQ(insert(integer(1), std::string(500, 'x')), 0);
  lunar_cursor cursor;
  ASSERT_EQ(lunar_cursor_open(&cursor, &table, nullptr, nullptr, 0), 0);
  lunar_value values[2];
  EXPECT_EQ(lunar_cursor_next(&cursor, row, 100, values), LUNAR_E_BUFFER);
  EXPECT_EQ(lunar_cursor_next(&cursor, row, sizeof row, values), 0);
}

TEST_P(Cursors, take_bounds_with_a_tree_only) {
  create(LUNAR_INT64);
  const lunar_value from = integer(1);
  lunar_cursor cursor;
  EXPECT_EQ(lunar_cursor_open(&cursor, &table, &from, nullptr, 0),
            GetParam().index == LUNAR_INDEX_TREE ? 0 : LUNAR_E_UNSUPPORTED);
}

using Rings = Tables;

/* The hash of an integer key in hash.c. */
std::uint32_t mixed(const lunar& db, std::uint64_t key) {
  key = (key + db.geometry.volume) * 0xff51afd7ed558ccdU;
  key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53U;
  return static_cast<std::uint32_t>(key ^ key >> 33);
}

class Hashes : public Tables {
 protected:
  /* Keys of one bucket that all move to another at 33 buckets; then others that make the index grow. */
  void crowd_a_bucket_then_grow() {
    create(LUNAR_INT64);
    std::int64_t key = 0;
    for (int crowded = 0; crowded < 500; ++key) {
      if (mixed(db, static_cast<std::uint64_t>(key)) % 64 != 32) continue;
      ASSERT_EQ(insert(integer(key), "x"), 0) << crowded;
      if (++crowded % 100 == 0) {
        ASSERT_EQ(lunar_checkpoint(&db), 0);
      }
    }
    for (int i = 1; i <= 2000; ++i) ASSERT_EQ(insert(integer(-i), "x"), 0) << i;
    EXPECT_EQ(scan_integers().size(), 2500U);
    for (int i = 1; i <= 2000; ++i) ASSERT_TRUE(has(integer(-i)));
  }
};

TEST_P(Hashes, grow_although_a_bucket_has_many_keys) { crowd_a_bucket_then_grow(); }

TEST_P(Hashes, grow_in_mode_none_too) {
  ASSERT_EQ(lunar_unmount(&db), 0);
  config.mode = LUNAR_MODE_NONE;
  ASSERT_EQ(lunar_mount(&db, &config), 0);
  crowd_a_bucket_then_grow();
}

TEST_P(Rings, keep_the_newest_rows) {
  create(LUNAR_INT64, LUNAR_RING_ROWS, 100);
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(insert(integer(i), std::string(static_cast<std::size_t>(i * 37 % 700), 'x')), 0) << i;
    ASSERT_TRUE(has(integer(i)));
    ASSERT_EQ(has(integer(i - 99)), i >= 99);
    ASSERT_FALSE(has(integer(i - 100)));
  }
  EXPECT_EQ(scan_integers().size(), 100U);
}

TEST_P(Rings, keep_within_their_bytes) {
  constexpr std::uint64_t limit = 256 * 1024;
  create(LUNAR_INT64, LUNAR_RING_BYTES, limit);
  ASSERT_EQ(lunar_checkpoint(&db), 0);
  for (int i = 0; i < 6000; ++i) ASSERT_EQ(insert(integer(i), std::string(300, 'x')), 0) << i;
  const auto keys = scan_integers();
  EXPECT_EQ(keys.back(), 5999);
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(keys.back() - keys.front() + 1));
  EXPECT_LE(keys.size() * 300, limit);
  EXPECT_GE(keys.size() * 300, limit / 2);
}

TEST_P(Rings, forget_what_is_older_than_their_age) {
  create(LUNAR_INT32, LUNAR_RING_AGE, 60);
  std::int64_t time = -1000;
  for (int i = 0; i < 500; ++i, time += 1 + i % 7) ASSERT_EQ(insert(integer(time), "x"), 0);
  const auto keys = scan_integers();
  EXPECT_GE(keys.front(), keys.back() - 60);
  EXPECT_LE(keys.front(), keys.back() - 53);
}

/* One operation could not delete all old rows: with a small buffer it would not fit into the log. */
TEST_P(Rings, forget_many_rows_over_several_insertions) {
  create(LUNAR_INT32, LUNAR_RING_AGE, 100'000);
  constexpr int rows = 3000;
  for (int i = 0; i < rows; ++i) ASSERT_EQ(insert(integer(i * 7919 % rows), "x"), 0) << i;
  int insertions = 0;
  for (std::uint64_t left = rows; left > 1; ++insertions) {
    ASSERT_EQ(insert(integer(1'000'000 + insertions), "x"), 0) << insertions;
    std::uint64_t now = 0;
    ASSERT_EQ(lunar_count(&table, &now), 0);
    ASSERT_LT(insertions, rows);
    left = now - static_cast<std::uint64_t>(insertions);
  }
  EXPECT_EQ(scan_integers().front(), 1'000'000);
}

/* Each deleted row changes another leaf, which a buffer of four frames must spill. */
TEST(Ring, forgets_rows_of_random_keys_with_the_smallest_log_and_buffer) {
  emubd device{};
  lunar_config config{};
  lunar db{};
  lunar_table table;
  std::vector<std::uint64_t> memory(LUNAR_BUFFER_BYTES_MIN(512) / 8 + 1);
  std::mt19937_64 random(1);
  ASSERT_EQ(emubd_open(&device, 512, 16384), 0);
  device.careless = 1;
  emubd_config(&device, &config);
  config.buffer = memory.data(), config.buffer_bytes = 8 * memory.size(), config.mode = LUNAR_MODE_FULL;
  config.log_bytes = 64 * 512, config.tables_max = 2;
  ASSERT_EQ(lunar_format(&config), 0);
  ASSERT_EQ(lunar_mount(&db, &config), 0);
  lunar_schema schema{};
  schema.column_count = 2, schema.index = LUNAR_INDEX_TREE, schema.ring = LUNAR_RING_AGE, schema.ring_limit = 1'000'000;
  schema.columns[0].name[0] = 'k', schema.columns[0].type = LUNAR_INT64;
  schema.columns[1].name[0] = 't', schema.columns[1].type = LUNAR_TEXT;
  ASSERT_EQ(lunar_table_create(&db, "t", &schema), 0);
  ASSERT_EQ(lunar_table_open(&db, "t", &table), 0);
  const std::string content(20, 'x');
  for (std::int64_t time = 0; time < 4; ++time) {
    for (int i = 0; i < 3000; ++i) {
      const auto age = static_cast<std::int64_t>(random() % 900'000);
      const lunar_value values[] = {integer(time * 10'000'000 + age), text(content)};
      const int error = lunar_insert(&table, values);
      if (error != LUNAR_E_EXISTS) {
        ASSERT_EQ(error, 0) << lunar_error_text(error);
      }
    }
  }
  lunar_findings found;
  EXPECT_EQ(lunar_check(&db, &found), 0) << found.text;
  emubd_close(&device);
}

TEST_P(Rings, keep_small_rows_within_their_bytes) {
  constexpr std::uint64_t limit = 256 * 1024;
  create(LUNAR_INT64, LUNAR_RING_BYTES, limit);
  std::uint64_t most = 0, rows = 0;
  for (int i = 0; i < 30000; ++i) {
    ASSERT_EQ(insert(integer(i), ""), 0) << i;
    ASSERT_EQ(lunar_count(&table, &rows), 0);
    most = std::max(most, rows);
  }
  EXPECT_LE(most * 16, limit);
  EXPECT_GE(rows * 16, limit / 2);
}

TEST_P(Rings, are_refused_without_a_limit_or_a_time) {
  lunar_schema schema{};
  schema.column_count = 1, schema.ring = LUNAR_RING_ROWS;
  std::strcpy(schema.columns[0].name, "key"), schema.columns[0].type = LUNAR_TEXT;
  EXPECT_EQ(lunar_table_create(&db, "t", &schema), LUNAR_E_INVALID);
  schema.ring = LUNAR_RING_AGE, schema.ring_limit = 5;
  EXPECT_EQ(lunar_table_create(&db, "t", &schema), LUNAR_E_INVALID);
}

const Setting tree{"tree", LUNAR_INDEX_TREE, LUNAR_BUFFER_BYTES_MIN(512)},
    tree_64{"tree_64_KiB", LUNAR_INDEX_TREE, 65536}, hash{"hash", LUNAR_INDEX_HASH, LUNAR_BUFFER_BYTES_MIN(512)},
    hash_64{"hash_64_KiB", LUNAR_INDEX_HASH, 65536};

const auto name_of = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Buffers, Trees, testing::Values(tree, tree_64), name_of);
INSTANTIATE_TEST_SUITE_P(Indexes, Keys, testing::Values(tree, hash, hash_64), name_of);
INSTANTIATE_TEST_SUITE_P(Indexes, Cursors, testing::Values(tree, tree_64, hash, hash_64), name_of);
INSTANTIATE_TEST_SUITE_P(Buffers, Hashes, testing::Values(hash, hash_64), name_of);
INSTANTIATE_TEST_SUITE_P(Indexes, Rings, testing::Values(tree, hash, hash_64), name_of);

}  // namespace
}  // namespace lunar_test
