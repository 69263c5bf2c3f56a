// The query cache returns the table's row after any change of it.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "emubd.h"
#include "lunar.h"
#include "values.h"

namespace lunar_test {
namespace {

constexpr int keys = 60;

lunar_schema schema_of(lunar_index index, lunar_type key, lunar_ring ring) {
  lunar_schema schema{};
  schema.column_count = 3, schema.key = 1, schema.index = index, schema.ring = ring, schema.ring_limit = keys / 2;
  std::strcpy(schema.columns[0].name, "number"), schema.columns[0].type = LUNAR_INT32;
  std::strcpy(schema.columns[1].name, "key"), schema.columns[1].type = key;
  std::strcpy(schema.columns[2].name, "content"), schema.columns[2].type = LUNAR_TEXT;
  return schema;
}

// A table whose cache has room for `rows` rows of 64 bytes.
class Cached {
 public:
  explicit Cached(const lunar_schema& schema, int rows = 16, lunar_mode mode = LUNAR_MODE_DATA)
      : schema_(schema), memory_(static_cast<std::size_t>(rows) * (LUNAR_CACHED_ROW_BYTES + row_bytes) / 4) {
    EXPECT_EQ(emubd_open(&device, 512, 16384), 0);
    emubd_config(&device, &config_);
    config_.buffer = buffer_.data(), config_.buffer_bytes = 4 * buffer_.size(), config_.mode = mode;
    config_.atomic_write_bytes = 512, config_.log_bytes = 2 << 20;
    EXPECT_EQ(lunar_format(&config_), 0);
    mount();
    EXPECT_EQ(lunar_table_create(&db, "t", &schema_), 0);
    open();
  }
  ~Cached() { emubd_close(&device); }
  Cached(const Cached&) = delete;
  Cached& operator=(const Cached&) = delete;

  void mount() { EXPECT_EQ(lunar_mount(&db, &config_), 0); }
  void open() {
    EXPECT_EQ(lunar_table_open(&db, "t", &table), 0);
    EXPECT_EQ(lunar_cache_open(&table, &cache, memory_.data(), 4 * memory_.size(), row_bytes), 0);
  }
  void recreate() {
    EXPECT_EQ(lunar_table_drop(&db, "t"), 0);
    EXPECT_EQ(get(1), std::nullopt);
    EXPECT_EQ(lunar_cache_close(&cache), 0);
    EXPECT_EQ(lunar_table_create(&db, "t", &schema_), 0);
    open();
  }

  // Returns a key of the table's type; the text stays valid until the next call.
  lunar_value key(int number) {
    if (schema_.columns[1].type != LUNAR_TEXT) return integer(number);
    key_ = "key " + std::to_string(number);
    return text(key_);
  }
  int insert(int number, const std::string& content) {
    const lunar_value row_of[] = {integer(-number), key(number), text(content)};
    return lunar_insert(&table, row_of);
  }
  int update(int number, const std::string& content) {
    const lunar_value wanted = key(number), value = text(content);
    return lunar_update(&table, &wanted, 2, &value);
  }
  int remove(int number) {
    const lunar_value wanted = key(number);
    return lunar_remove(&table, &wanted);
  }
  std::optional<std::string> get(int number) {
    const lunar_value wanted = key(number);
    const int error = lunar_get(&table, &wanted, row, sizeof row, values);
    if (error != 0) return std::nullopt;
    EXPECT_EQ(values[0].as.integer, -number);
    return bytes_of(values[2]);
  }

  static constexpr std::uint32_t row_bytes = 64;
  emubd device{};
  lunar db{};
  lunar_table table{};
  lunar_cache cache{};
  char row[1000] = {};
  lunar_value values[3] = {};

 private:
  lunar_schema schema_;
  lunar_config config_{};
  std::vector<std::uint32_t> buffer_ = std::vector<std::uint32_t>(8192 / 4), memory_;
  std::string key_;
};

struct Kind {
  const char* name;
  lunar_index index;
  lunar_type key;
  lunar_ring ring;
  lunar_mode mode;
};

class CacheBesideAModel : public testing::TestWithParam<Kind> {};

TEST_P(CacheBesideAModel, gives_what_the_table_has) {
  const Kind kind = GetParam();
  std::mt19937_64 random(test_seed());
  const auto below = [&](std::uint64_t n) { return static_cast<int>(random() % n); };
  Cached world(schema_of(kind.index, kind.key, kind.ring), 16, kind.mode);
  std::map<int, std::string> model, before;
  std::vector<int> age;  // the ring's rows, oldest first
  bool transaction = false;
  std::uint32_t hits = 0;
  const auto evict = [&] {
    while (kind.ring != LUNAR_RING_NONE && model.size() > keys / 2) model.erase(age.front()), age.erase(age.begin());
  };
  const auto content = [&] {
    return std::string(static_cast<std::size_t>(below(70)), static_cast<char>('a' + below(26)));
  };
  for (int step = 0; step < 20000; ++step) {
    const int number = below(2) != 0 ? below(keys) : below(keys / 8), what = below(100);
    if (what < 60) {
      const auto found = model.find(number);
      ASSERT_EQ(world.get(number), found == model.end() ? std::nullopt : std::optional(found->second))
          << "step " << step;
    } else if (what < 75) {
      const std::string made = content();
      ASSERT_EQ(world.insert(number, made), model.count(number) != 0 ? LUNAR_E_EXISTS : 0);
      if (model.emplace(number, made).second) age.push_back(number), evict();
    } else if (what < 85 && kind.ring == LUNAR_RING_NONE) {
      const auto found = model.find(number);
      const std::string made =
          below(2) != 0 && found != model.end() ? std::string(found->second.size(), 'z') : content();
      ASSERT_EQ(world.update(number, made), found == model.end() ? LUNAR_E_NOT_FOUND : 0);
      if (found != model.end()) found->second = made;
    } else if (what < 92 && kind.ring == LUNAR_RING_NONE) {
      ASSERT_EQ(world.remove(number), model.erase(number) != 0 ? 0 : LUNAR_E_NOT_FOUND);
    } else if (what < 97 && kind.mode != LUNAR_MODE_NONE && kind.ring == LUNAR_RING_NONE) {
      if (!transaction) {
        ASSERT_EQ(lunar_begin(&world.db), 0);
        before = model;
      } else if (below(2) != 0) {
        ASSERT_EQ(lunar_commit(&world.db), 0);
      } else {
        ASSERT_EQ(lunar_rollback(&world.db), 0);
        model = before;
      }
      transaction = !transaction;
    } else if (what == 97 && !transaction && below(4) == 0) {
      hits += world.cache.hits;
      ASSERT_EQ(lunar_unmount(&world.db), 0);
      world.mount(), world.open();
    } else if (what == 98 && !transaction && below(8) == 0) {
      hits += world.cache.hits;
      world.recreate();
      model.clear(), age.clear();
    }
  }
  EXPECT_GT(hits + world.cache.hits, 1000U);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, CacheBesideAModel,
    testing::Values(Kind{"hash", LUNAR_INDEX_HASH, LUNAR_INT32, LUNAR_RING_NONE, LUNAR_MODE_DATA},
                    Kind{"tree", LUNAR_INDEX_TREE, LUNAR_INT8, LUNAR_RING_NONE, LUNAR_MODE_FULL},
                    Kind{"hash_of_text", LUNAR_INDEX_HASH, LUNAR_TEXT, LUNAR_RING_NONE, LUNAR_MODE_METADATA},
                    Kind{"tree_of_text", LUNAR_INDEX_TREE, LUNAR_TEXT, LUNAR_RING_NONE, LUNAR_MODE_NONE},
                    Kind{"ring", LUNAR_INDEX_HASH, LUNAR_INT64, LUNAR_RING_ROWS, LUNAR_MODE_METADATA}),
    [](const auto& of) { return std::string(of.param.name); });

TEST(Cache, answers_without_the_device) {
  Cached world(schema_of(LUNAR_INDEX_HASH, LUNAR_INT64, LUNAR_RING_NONE), 64);
  for (int number = 0; number < 2000; ++number) ASSERT_EQ(world.insert(number, "content"), 0);
  ASSERT_EQ(lunar_checkpoint(&world.db), 0);
  for (int number = 0; number < 2000; ++number) ASSERT_EQ(world.get(number), "content");
  for (int round = 0; round < 2; ++round)
    for (int number = 0; number < 20; ++number) ASSERT_EQ(world.get(100 * number), "content");
  const auto reads = world.device.reads, hits = std::uint64_t{world.cache.hits};
  for (int number = 0; number < 20; ++number) ASSERT_EQ(world.get(100 * number), "content");
  EXPECT_GE(world.cache.hits - hits, 18U);
  EXPECT_LE(world.device.reads - reads, 4U);
}

TEST(Cache, keeps_what_is_asked_for_again) {
  Cached world(schema_of(LUNAR_INDEX_HASH, LUNAR_INT64, LUNAR_RING_NONE), 4);  // one set
  for (int number = 0; number < 10; ++number) ASSERT_EQ(world.insert(number, "content"), 0);
  ASSERT_EQ(world.get(0), "content");
  for (int number = 1; number < 10; ++number) {
    const auto hits = world.cache.hits;
    ASSERT_EQ(world.get(number), "content");
    ASSERT_EQ(world.cache.hits, hits);
    ASSERT_EQ(world.get(0), "content");
    ASSERT_EQ(world.cache.hits, hits + 1) << number;
  }
}

TEST(Cache, does_not_need_the_key_elsewhere_than_in_the_row_buffer) {
  Cached world(schema_of(LUNAR_INDEX_HASH, LUNAR_TEXT, LUNAR_RING_NONE));
  for (int number = 0; number < 4; ++number) ASSERT_EQ(world.insert(number, std::to_string(number)), 0);
  for (int round = 0; round < 2; ++round)
    for (int number = 0; number < 4; ++number) ASSERT_EQ(world.get(number), std::to_string(number));
  ASSERT_EQ(lunar_get(&world.table, &world.values[1], world.row, sizeof world.row, world.values), 0);
  EXPECT_EQ(bytes_of(world.values[2]), "3");
  EXPECT_EQ(bytes_of(world.values[1]), "key 3");
}

TEST(Cache, distinguishes_keys_of_one_hash) {
  Cached world(schema_of(LUNAR_INDEX_HASH, LUNAR_INT64, LUNAR_RING_NONE), 4);
  const std::int64_t alike[] = {5, (std::int64_t{1} << 32) + 4};
  for (int i = 0; i < 2; ++i) {
    const lunar_value row_of[] = {integer(i), integer(alike[i]), text("content")};
    ASSERT_EQ(lunar_insert(&world.table, row_of), 0);
  }
  for (int round = 0; round < 4; ++round) {
    const lunar_value key = integer(alike[round % 2]);
    ASSERT_EQ(lunar_get(&world.table, &key, world.row, sizeof world.row, world.values), 0);
    EXPECT_EQ(world.values[0].as.integer, round % 2);
  }
  EXPECT_EQ(world.cache.hits, 2U);
}

TEST(Cache, of_a_dropped_table_is_none_of_the_next) {
  Cached world(schema_of(LUNAR_INDEX_HASH, LUNAR_INT64, LUNAR_RING_NONE));
  ASSERT_EQ(world.insert(1, "content"), 0);
  ASSERT_EQ(world.get(1), "content");
  lunar_schema schema{};
  ASSERT_EQ(lunar_table_schema(&world.table, &schema), 0);
  ASSERT_EQ(lunar_table_drop(&world.db, "t"), 0);
  ASSERT_EQ(world.get(1), std::nullopt);
  ASSERT_EQ(lunar_table_create(&world.db, "t", &schema), 0);
  ASSERT_EQ(lunar_table_open(&world.db, "t", &world.table), 0);
  lunar_cache second;
  std::uint32_t memory[200];
  EXPECT_EQ(lunar_cache_open(&world.table, &world.cache, memory, sizeof memory, 64), LUNAR_E_EXISTS);
  EXPECT_EQ(lunar_cache_open(&world.table, &second, memory, sizeof memory, 64), 0);
  EXPECT_EQ(lunar_cache_close(&world.cache), 0);
  EXPECT_EQ(lunar_cache_close(&second), 0);
}

TEST(Cache, says_when_the_row_buffer_is_too_small) {
  Cached world(schema_of(LUNAR_INDEX_HASH, LUNAR_INT64, LUNAR_RING_NONE));
  ASSERT_EQ(world.insert(1, "content"), 0);
  ASSERT_EQ(world.get(1), "content");
  const lunar_value key = integer(1);
  EXPECT_EQ(lunar_get(&world.table, &key, world.row, 10, world.values), LUNAR_E_BUFFER);
  EXPECT_EQ(world.cache.hits, 1U);
}

TEST(Cache, is_that_of_a_table_and_not_of_a_handle) {
  Cached world(schema_of(LUNAR_INDEX_HASH, LUNAR_INT64, LUNAR_RING_NONE));
  ASSERT_EQ(world.insert(1, "content"), 0);
  ASSERT_EQ(world.get(1), "content");
  alignas(8) static char memory[4096];
  for (const char* sql : {"UPDATE t SET content = 'other' WHERE key = 1", "SELECT content FROM t WHERE key = 1"}) {
    lunar_statement* statement = nullptr;
    ASSERT_EQ(lunar_prepare(&world.db, sql, std::strlen(sql), memory, sizeof memory, &statement, nullptr), 0);
    for (int row = LUNAR_ROW; row == LUNAR_ROW;) ASSERT_GE(row = lunar_step(statement), 0);
    lunar_finalize(statement);
  }
  const auto hits = world.cache.hits;
  EXPECT_EQ(world.get(1), "other");
  EXPECT_EQ(world.cache.hits, hits + 1) << "SQL has read it before";
  EXPECT_EQ(lunar_cache_close(&world.cache), 0);
  EXPECT_EQ(world.get(1), "other");
  EXPECT_EQ(world.cache.hits, hits + 1);
}

}  // namespace
}  // namespace lunar_test
