// Provokes every error that lunar.h documents for a function; a documented error without a provocation fails.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "damage.h"
#include "values.h"
#include "world.h"

extern "C" {
#include "device/checksum.h"
}

namespace lunar_test {
namespace {

using Errors = std::map<std::string, std::set<std::string>>;

class Provoked {
 public:
  int operator()(const char* function, const char* error, int result) {
    errors[function].insert(std::string(error).substr(std::strlen("LUNAR_")));
    return result;
  }
  Errors errors;
};

Provoked provoked;

#define PROVOKE(error, function, ...) EXPECT_EQ(provoked(#function, #error, function(__VA_ARGS__)), error)

struct Call {
  const char* function;
  bool reads_pages;  // it may need a damaged page
  std::function<int(lunar&, lunar_table&)> make;
};

struct Prepared {
  Prepared(lunar& db, const std::string& sql, std::size_t bytes = sizeof memory)
      : error(lunar_prepare(&db, sql.data(), sql.size(), memory, bytes, &statement, nullptr)) {}
  lunar_statement* statement = nullptr;
  std::uint64_t memory[1000];
  int error;
};

lunar_schema one_column() {
  lunar_schema schema{};
  schema.column_count = 1;
  std::strcpy(schema.columns[0].name, "key"), schema.columns[0].type = LUNAR_INT64;
  return schema;
}

const std::vector<Call>& calls() {
  static const lunar_value key = integer(1), number = integer(7);
  static const std::string content(900, 'x');
  static const lunar_value row_of[] = {integer(77), blob(content), integer(7)};
  static const lunar_schema schema = one_column();
  static char row[4000];
  static lunar_value values[3];
  static const std::vector<Call> all = {
      {"lunar_revalidate", false, [](lunar& db, lunar_table&) { return lunar_revalidate(&db); }},
      {"lunar_unmount", false, [](lunar& db, lunar_table&) { return lunar_unmount(&db); }},
      {"lunar_table_create", true, [](lunar& db, lunar_table&) { return lunar_table_create(&db, "new", &schema); }},
      {"lunar_table_open", true,
       [](lunar& db, lunar_table&) {
         lunar_table table;
         return lunar_table_open(&db, "rows", &table);
       }},
      {"lunar_table_drop", true, [](lunar& db, lunar_table&) { return lunar_table_drop(&db, "rows"); }},
      {"lunar_table_list", true,
       [](lunar& db, lunar_table&) {
         std::uint16_t at = 0;
         char name[LUNAR_NAME_MAX + 1];
         return lunar_table_list(&db, &at, name);
       }},
      {"lunar_table_schema", true,
       [](lunar&, lunar_table& table) {
         lunar_schema found;
         return lunar_table_schema(&table, &found);
       }},
      {"lunar_insert", true, [](lunar&, lunar_table& table) { return lunar_insert(&table, row_of); }},
      {"lunar_get", true, [](lunar&, lunar_table& table) { return lunar_get(&table, &key, row, sizeof row, values); }},
      {"lunar_update", true, [](lunar&, lunar_table& table) { return lunar_update(&table, &key, 2, &number); }},
      {"lunar_remove", true, [](lunar&, lunar_table& table) { return lunar_remove(&table, &key); }},
      {"lunar_truncate", true, [](lunar&, lunar_table& table) { return lunar_truncate(&table); }},
      {"lunar_count", true,
       [](lunar&, lunar_table& table) {
         std::uint64_t rows = 0;
         return lunar_count(&table, &rows);
       }},
      {"lunar_cache_open", true,
       [](lunar&, lunar_table& table) {
         static lunar_cache cache;
         static std::uint32_t memory[100];
         return lunar_cache_open(&table, &cache, memory, sizeof memory, 20);
       }},
      {"lunar_cursor_next", true,
       [](lunar&, lunar_table& table) {
         lunar_cursor cursor;
         EXPECT_EQ(lunar_cursor_open(&cursor, &table, nullptr, nullptr, 0), 0);
         return lunar_cursor_next(&cursor, row, sizeof row, values);
       }},
      {"lunar_repair", true,
       [](lunar&, lunar_table& table) {
         lunar_losses losses;
         return lunar_repair(&table, &losses);
       }},
      {"lunar_index_create", true,
       [](lunar& db, lunar_table&) { return lunar_index_create(&db, "rows", "new", 2, LUNAR_INDEX_TREE); }},
      {"lunar_index_drop", true, [](lunar& db, lunar_table&) { return lunar_index_drop(&db, "tree by number"); }},
      {"lunar_index_list", true,
       [](lunar&, lunar_table& table) {
         std::uint8_t at = 0;
         lunar_index_info info;
         return lunar_index_list(&table, &at, &info);
       }},
      {"lunar_index_cursor", true,
       [](lunar&, lunar_table& table) {
         lunar_cursor cursor;
         return lunar_index_cursor(&cursor, &table, "tree by number", nullptr, nullptr, 0);
       }},
      {"lunar_begin", false, [](lunar& db, lunar_table&) { return lunar_begin(&db); }},
      {"lunar_commit", false, [](lunar& db, lunar_table&) { return lunar_commit(&db); }},
      {"lunar_rollback", false, [](lunar& db, lunar_table&) { return lunar_rollback(&db); }},
      {"lunar_sync", false, [](lunar& db, lunar_table&) { return lunar_sync(&db); }},
      {"lunar_write_out", false, [](lunar& db, lunar_table&) { return lunar_write_out(&db); }},
      {"lunar_checkpoint", false, [](lunar& db, lunar_table&) { return lunar_checkpoint(&db); }},
      {"lunar_compact", false,
       [](lunar& db, lunar_table&) {
         std::uint32_t moved;
         return lunar_compact(&db, 1, &moved);
       }},
      {"lunar_check", true,
       [](lunar& db, lunar_table&) {
         lunar_findings found;
         return lunar_check(&db, &found);
       }},
      {"lunar_stat", true,
       [](lunar& db, lunar_table&) {
         lunar_statistics stat;
         return lunar_stat(&db, &stat);
       }},
      {"lunar_prepare", true,
       [](lunar& db, lunar_table&) {
         Prepared select(db, "SELECT * FROM rows");
         return select.error;
       }},
      {"lunar_step", true,
       [](lunar& db, lunar_table&) {
         Prepared drop(db, "DROP TABLE rows");
         EXPECT_EQ(drop.error, 0);
         return lunar_step(drop.statement);
       }},
  };
  return all;
}

int insert(World& world, std::int64_t key, const std::string& content) {
  const lunar_value row_of[] = {integer(key), blob(content), integer(1)};
  return lunar_insert(&world.table, row_of);
}

// Returns a world with an index and room for another one's name.
std::unique_ptr<World> world_with_index(lunar_mode mode = LUNAR_MODE_DATA) {
  auto world =
      std::make_unique<World>(Options{.mode = mode, .sectors = 1024, .log_bytes = 192 * 512, .secondary = 1}, 1);
  for (std::int64_t key = 1; key < 9; ++key) EXPECT_EQ(insert(*world, key, "a row"), 0);
  return world;
}

std::unique_ptr<World> world_with_rows(lunar_mode mode = LUNAR_MODE_DATA, lunar_index index = LUNAR_INDEX_HASH) {
  auto world = std::make_unique<World>(Options{.mode = mode, .sectors = 1024, .index = index}, 1);
  for (std::int64_t key = 1; key < 9; ++key) EXPECT_EQ(insert(*world, key, "a row"), 0);
  return world;
}

std::unique_ptr<World> world_for(const Call& call) {
  return std::string(call.function).starts_with("lunar_index_") ? world_with_index() : world_with_rows();
}

void fail_from_now_on(World& world, std::uint64_t calls_that_work = 0) {
  emubd_reset(&world.device);
  world.device.fail_at = 1 + calls_that_work, world.device.fail_until = ~0ULL;
}

void handle_is_not_mounted() {
  for (const auto& call : calls()) {
    lunar db{};
    lunar_table table{};
    table.db = &db;
    EXPECT_EQ(provoked(call.function, "LUNAR_E_INVALID", call.make(db, table)), LUNAR_E_INVALID) << call.function;
  }
}

void handle_was_taken_over() {
  for (const auto& call : calls()) {
    auto world = world_for(call);
    lunar other{};
    world->device.mounted = &other;
    EXPECT_EQ(provoked(call.function, "LUNAR_E_BUSY", call.make(world->db, world->table)), LUNAR_E_BUSY)
        << call.function;
  }
}

void device_fails() {
  for (const auto& call : calls()) {
    auto world = world_for(call);
    const bool in_transaction =
        std::strcmp(call.function, "lunar_commit") == 0 || std::strcmp(call.function, "lunar_rollback") == 0;
    ASSERT_EQ(lunar_unmount(&world->db), 0);
    ASSERT_EQ(lunar_mount(&world->db, world->db.config), 0);
    if (in_transaction) {
      ASSERT_EQ(lunar_begin(&world->db), 0);
    }
    if (!call.reads_pages) {
      ASSERT_EQ(insert(*world, 50, "not written yet"), 0);
    }
    fail_from_now_on(*world);
    EXPECT_EQ(provoked(call.function, "LUNAR_E_IO", call.make(world->db, world->table)), LUNAR_E_IO) << call.function;
  }
}

// After a failed read, SUPER is of another volume.
void card_was_changed() {
  for (const auto& call : calls()) {
    auto world = world_for(call);
    const bool in_transaction =
        std::strcmp(call.function, "lunar_commit") == 0 || std::strcmp(call.function, "lunar_rollback") == 0;
    if (in_transaction) {
      ASSERT_EQ(lunar_begin(&world->db), 0);
    }
    fail_from_now_on(*world);
    EXPECT_EQ(lunar_revalidate(&world->db), LUNAR_E_IO);
    emubd_reset(&world->device);
    std::memset(world->device.sectors, 0, std::size_t{2} * 512);
    EXPECT_EQ(provoked(call.function, "LUNAR_E_OTHER_VOLUME", call.make(world->db, world->table)), LUNAR_E_OTHER_VOLUME)
        << call.function;
  }
}

/* A world whose device failed during an insertion and during its undo. */
std::unique_ptr<World> world_that_failed() {
  for (std::uint64_t calls_that_work = 0; calls_that_work < 200; ++calls_that_work) {
    auto world = world_with_rows();
    fail_from_now_on(*world, calls_that_work);
    int error = 0;
    for (std::int64_t key = 100; error == 0; ++key) error = insert(*world, key, std::string(1000, 'x'));
    EXPECT_EQ(error, LUNAR_E_IO);
    emubd_reset(&world->device);
    std::uint64_t rows = 0;
    if (lunar_count(&world->table, &rows) == LUNAR_E_FAILED) return world;
  }
  throw std::runtime_error("no failure was found that cannot be undone");
}

void failure_could_not_be_undone() {
  for (const auto& call : calls()) {
    auto world = world_that_failed();
    EXPECT_EQ(provoked(call.function, "LUNAR_E_FAILED", call.make(world->db, world->table)), LUNAR_E_FAILED)
        << call.function;
  }
}

int lose_transaction(World& world) {
  int error = lunar_begin(&world.db);
  for (std::int64_t key = 100; error == 0; ++key) error = insert(world, key, "a row");
  return error;
}

void transaction_was_lost() {
  for (const auto& call : calls()) {
    auto world = world_for(call);
    ASSERT_EQ(lose_transaction(*world), LUNAR_E_TXN_FULL);
    const int result = call.make(world->db, world->table);
    const std::set<std::string> allowed = {"lunar_unmount", "lunar_rollback", "lunar_revalidate"};
    if (allowed.contains(call.function)) {
      EXPECT_EQ(result, 0) << call.function;
    } else {
      EXPECT_EQ(provoked(call.function, "LUNAR_E_TXN", result), LUNAR_E_TXN) << call.function;
    }
  }
}

void transaction_fills_the_buffer() {
  World world({.mode = LUNAR_MODE_FULL,
               .sectors = 4000,
               .buffer_bytes = 6144,
               .log_bytes = 400 * 512,
               .index = LUNAR_INDEX_TREE,
               .secondary = 1},
              1);
  int error = 0;
  for (std::int64_t i = 0; error == 0 && i < 1000; ++i) {
    if (i % 20 == 0 && i != 0) error = lunar_commit(&world.db);
    if (i % 20 == 0 && error == 0) error = lunar_begin(&world.db);
    if (error == 0) error = insert(world, 100 + i * 7919 % 10007, std::string(200, 'x'));
    if (error == 0) error = lunar_revalidate(&world.db);
  }
  EXPECT_EQ(provoked("lunar_revalidate", "LUNAR_E_TXN", error), LUNAR_E_TXN);
}

void pages_are_damaged() {
  for (const auto& call : calls()) {
    if (!call.reads_pages) continue;
    auto world = world_for(call);
    for (int i = 0; i < 2; ++i) {  // the second time without images that would heal
      ASSERT_EQ(lunar_unmount(&world->db), 0);
      ASSERT_EQ(lunar_mount(&world->db, world->db.config), 0);
    }
    const auto& zones = world->db.geometry;
    for (std::uint32_t sector = zones.root_at; sector < world->device.sector_count; ++sector)
      if (sector < zones.log_at || sector >= zones.data_at) world->device.sectors[512 * sector + 300] ^= 1;
    EXPECT_EQ(provoked(call.function, "LUNAR_E_CORRUPT", call.make(world->db, world->table)), LUNAR_E_CORRUPT)
        << call.function;
  }
}

// SUPER of FORMAT.md.
constexpr std::uint32_t super_magic_at = 4, super_version_at = 8, super_tables_at = 58, magic = 0x524e554c;

void format_and_mount() {
  World world({.sectors = 1024}, 1);
  lunar_config good = *world.db.config, config = good;
  lunar db{};
  PROVOKE(LUNAR_E_BUSY, lunar_format, &good);
  PROVOKE(LUNAR_E_BUSY, lunar_mount, &db, &good);
  ASSERT_EQ(world.unmount(), 0);
  config.sector_bytes = 1000;
  PROVOKE(LUNAR_E_INVALID, lunar_format, &config);
  PROVOKE(LUNAR_E_INVALID, lunar_mount, &db, &config);
  config = good, config.buffer_bytes = 100;
  PROVOKE(LUNAR_E_BUFFER, lunar_format, &config);
  PROVOKE(LUNAR_E_BUFFER, lunar_mount, &db, &config);
  config = good, config.sector_count = 100;
  PROVOKE(LUNAR_E_DEVICE, lunar_format, &config);
  config = good, config.sector_count = 600;
  PROVOKE(LUNAR_E_DEVICE, lunar_mount, &db, &config);
  const std::vector<std::uint8_t> image(world.device.sectors, world.device.sectors + 512 * 1024);
  const auto super = [&](std::uint32_t offset, std::uint16_t value, bool seal) {
    for (std::uint32_t copy = 0; copy < 2; ++copy) {
      std::uint8_t* sector = world.device.sectors + 512 * copy;
      std::memcpy(sector, image.data(), 512);
      std::memcpy(sector + offset, &value, sizeof value);
      const std::uint32_t sum = ln_checksum(magic, sector + 4, 508);
      if (seal) std::memcpy(sector, &sum, sizeof sum);
    }
  };
  super(super_magic_at, 0, true);
  PROVOKE(LUNAR_E_NO_VOLUME, lunar_mount, &db, &good);
  super(super_version_at, 99, true);
  PROVOKE(LUNAR_E_VERSION, lunar_mount, &db, &good);
  super(super_tables_at, 1, false);
  PROVOKE(LUNAR_E_CORRUPT, lunar_mount, &db, &good);
  fail_from_now_on(world);
  PROVOKE(LUNAR_E_IO, lunar_format, &good);
  PROVOKE(LUNAR_E_IO, lunar_mount, &db, &good);
}

void mode_none() {
  auto world = world_with_rows(LUNAR_MODE_NONE);
  PROVOKE(LUNAR_E_UNSUPPORTED, lunar_begin, &world->db);
  lunar_config full = *world->db.config;
  full.mode = LUNAR_MODE_FULL, full.mounted = nullptr;
  lunar db{};
  PROVOKE(LUNAR_E_UNCLEAN, lunar_mount, &db, &full);
}

void tables() {
  auto world = world_with_rows();
  lunar* db = &world->db;
  lunar_schema schema = one_column();
  lunar_table table;
  PROVOKE(LUNAR_E_EXISTS, lunar_table_create, db, "rows", &schema);
  PROVOKE(LUNAR_E_INVALID, lunar_table_create, db, "", &schema);
  PROVOKE(LUNAR_E_INVALID, lunar_table_open, db, "", &table);
  PROVOKE(LUNAR_E_INVALID, lunar_table_drop, db, "");
  PROVOKE(LUNAR_E_NO_TABLE, lunar_table_open, db, "none", &table);
  PROVOKE(LUNAR_E_NO_TABLE, lunar_table_drop, db, "none");
  std::uint16_t at = 2;
  char name[LUNAR_NAME_MAX + 1];
  PROVOKE(LUNAR_E_NO_TABLE, lunar_table_list, db, &at, name);
  ASSERT_EQ(lunar_table_create(db, "second", &schema), 0);
  PROVOKE(LUNAR_E_TABLES, lunar_table_create, db, "third", &schema);
  ASSERT_EQ(lunar_table_drop(db, "second"), 0);
}

void table_was_dropped() {
  for (const auto& call : calls()) {
    auto world = world_for(call);
    ASSERT_EQ(lunar_table_drop(&world->db, "rows"), 0);
    static const std::set<std::string> of_a_table = {"lunar_table_schema", "lunar_insert",       "lunar_get",
                                                     "lunar_update",       "lunar_remove",       "lunar_count",
                                                     "lunar_truncate",     "lunar_cache_open",   "lunar_cursor_next",
                                                     "lunar_index_list",   "lunar_index_cursor", "lunar_repair"};
    if (!of_a_table.count(call.function)) continue;
    EXPECT_EQ(provoked(call.function, "LUNAR_E_NO_TABLE", call.make(world->db, world->table)), LUNAR_E_NO_TABLE)
        << call.function;
  }
}

// More tables than blocks.
void no_block_for_a_table() {
  World world({.sectors = 512}, 1);
  lunar_config config = *world.db.config;
  config.class_growth = 1, config.tables_max = 100;
  lunar db{};
  ASSERT_EQ(world.unmount(), 0);
  ASSERT_EQ(lunar_format(&config), 0);
  ASSERT_EQ(lunar_mount(&db, &config), 0);
  const lunar_schema schema = one_column();
  int error = 0;
  for (int i = 0; error == 0; ++i) error = lunar_table_create(&db, std::to_string(i).c_str(), &schema);
  EXPECT_EQ(provoked("lunar_table_create", "LUNAR_E_FULL", error), LUNAR_E_FULL);
}

void rows() {
  auto world = world_with_rows(LUNAR_MODE_DATA, LUNAR_INDEX_TREE);
  lunar_table* table = &world->table;
  const std::string large(60000, 'x'), x = "x";
  const lunar_value key = integer(1), none = integer(4711), text = blob(x);
  const lunar_value row_of[] = {key, text, integer(1)}, wrong[] = {text, text, integer(1)},
                    too_large[] = {none, blob(large), integer(1)};
  const lunar_value grown = blob(large);
  char row[4000];
  lunar_value values[3];
  PROVOKE(LUNAR_E_EXISTS, lunar_insert, table, row_of);
  PROVOKE(LUNAR_E_INVALID, lunar_insert, table, wrong);
  PROVOKE(LUNAR_E_TOO_LARGE, lunar_insert, table, too_large);
  PROVOKE(LUNAR_E_NOT_FOUND, lunar_get, table, &none, row, sizeof row, values);
  PROVOKE(LUNAR_E_INVALID, lunar_get, table, &text, row, sizeof row, values);
  PROVOKE(LUNAR_E_BUFFER, lunar_get, table, &key, row, 3, values);
  PROVOKE(LUNAR_E_NOT_FOUND, lunar_update, table, &none, 2, &key);
  PROVOKE(LUNAR_E_INVALID, lunar_update, table, &key, 0, &none);
  PROVOKE(LUNAR_E_TOO_LARGE, lunar_update, table, &key, 1, &grown);
  PROVOKE(LUNAR_E_NOT_FOUND, lunar_remove, table, &none);
  PROVOKE(LUNAR_E_INVALID, lunar_remove, table, &text);
  lunar_cursor cursor;
  PROVOKE(LUNAR_E_INVALID, lunar_cursor_open, &cursor, table, &text, nullptr, 0);
  ASSERT_EQ(lunar_cursor_open(&cursor, table, &none, nullptr, 0), 0);
  PROVOKE(LUNAR_E_NOT_FOUND, lunar_cursor_next, &cursor, row, sizeof row, values);
  ASSERT_EQ(lunar_cursor_open(&cursor, table, nullptr, nullptr, 0), 0);
  PROVOKE(LUNAR_E_BUFFER, lunar_cursor_next, &cursor, row, 3, values);
}

void keys_that_are_text() {
  World world({.sectors = 1024}, 1);
  lunar_schema schema = one_column();
  schema.columns[0].type = LUNAR_BLOB, schema.index = LUNAR_INDEX_TREE;
  ASSERT_EQ(lunar_table_create(&world.db, "text", &schema), 0);
  lunar_table table;
  ASSERT_EQ(lunar_table_open(&world.db, "text", &table), 0);
  const std::string large(LUNAR_TREE_KEY_MAX + 1, 'k');
  const lunar_value key = blob(large);
  char row[200];
  lunar_value values[1];
  lunar_cursor cursor;
  PROVOKE(LUNAR_E_TOO_LARGE, lunar_get, &table, &key, row, sizeof row, values);
  PROVOKE(LUNAR_E_TOO_LARGE, lunar_cursor_open, &cursor, &table, &key, nullptr, 0);
  const lunar_value number = integer(1);
  PROVOKE(LUNAR_E_UNSUPPORTED, lunar_cursor_open, &cursor, &world.table, &number, nullptr, 0);
}

void caches() {
  auto world = world_with_rows();
  static lunar_cache cache, second;
  static std::uint32_t memory[100];
  PROVOKE(LUNAR_E_INVALID, lunar_cache_open, &world->table, &cache, memory, sizeof memory, 0);
  PROVOKE(LUNAR_E_INVALID, lunar_cache_open, &world->table, &cache, memory, sizeof memory, 65536);
  PROVOKE(LUNAR_E_INVALID, lunar_cache_open, &world->table, &cache, reinterpret_cast<char*>(memory) + 1, 200, 20);
  PROVOKE(LUNAR_E_BUFFER, lunar_cache_open, &world->table, &cache, memory, 4 * (LUNAR_CACHED_ROW_BYTES + 20) - 1, 20);
  EXPECT_EQ(lunar_cache_open(&world->table, &cache, memory, 4 * (LUNAR_CACHED_ROW_BYTES + 20), 20), 0);
  PROVOKE(LUNAR_E_EXISTS, lunar_cache_open, &world->table, &second, memory, sizeof memory, 20);
  EXPECT_EQ(lunar_cache_close(&cache), 0);
  PROVOKE(LUNAR_E_INVALID, lunar_cache_close, &cache);
  EXPECT_EQ(lunar_cache_open(&world->table, &cache, memory, sizeof memory, 20), 0);
  EXPECT_EQ(lunar_unmount(&world->db), 0);
  PROVOKE(LUNAR_E_INVALID, lunar_cache_close, &cache);
  auto failed = world_that_failed();
  second = lunar_cache{};
  second.db = &failed->db;
  PROVOKE(LUNAR_E_FAILED, lunar_cache_close, &second);
}

void indexes() {
  auto world = world_with_index();
  lunar* db = &world->db;
  lunar_table* table = &world->table;
  const lunar_value number = integer(1), wrong = bytes_of(LUNAR_TEXT, "x", 1);
  PROVOKE(LUNAR_E_NO_TABLE, lunar_index_create, db, "none", "i", 1, LUNAR_INDEX_HASH);
  PROVOKE(LUNAR_E_EXISTS, lunar_index_create, db, "rows", "tree by number", 1, LUNAR_INDEX_HASH);
  PROVOKE(LUNAR_E_INVALID, lunar_index_create, db, "rows", "", 1, LUNAR_INDEX_HASH);
  PROVOKE(LUNAR_E_INVALID, lunar_index_create, db, "rows", "i", 3, LUNAR_INDEX_HASH);
  PROVOKE(LUNAR_E_INVALID, lunar_index_create, db, "rows", "i", 1, 2);
  ASSERT_EQ(lunar_index_create(db, "rows", "i", 1, LUNAR_INDEX_HASH), 0);
  lunar_cursor cursor;
  PROVOKE(LUNAR_E_NO_TABLE, lunar_index_cursor, &cursor, table, "rows", &number, &number, 0);
  PROVOKE(LUNAR_E_INVALID, lunar_index_cursor, &cursor, table, "", &number, &number, 0);
  PROVOKE(LUNAR_E_INVALID, lunar_index_cursor, &cursor, table, "tree by number", &wrong, nullptr, 0);
  PROVOKE(LUNAR_E_UNSUPPORTED, lunar_index_cursor, &cursor, table, "i", nullptr, nullptr, 0);
  std::uint8_t at = 2;
  lunar_index_info info;
  PROVOKE(LUNAR_E_NOT_FOUND, lunar_index_list, table, &at, &info);
  PROVOKE(LUNAR_E_NO_TABLE, lunar_index_drop, db, "none");
  PROVOKE(LUNAR_E_NO_TABLE, lunar_index_drop, db, "rows");
  PROVOKE(LUNAR_E_INVALID, lunar_index_drop, db, "");
  const lunar_schema schema = one_column();
  ASSERT_EQ(lunar_table_create(db, "last", &schema), 0);
  PROVOKE(LUNAR_E_TABLES, lunar_index_create, db, "rows", "j", 1, LUNAR_INDEX_HASH);
  ASSERT_EQ(lunar_begin(db), 0);
  PROVOKE(LUNAR_E_TXN, lunar_index_create, db, "rows", "j", 1, LUNAR_INDEX_HASH);
  ASSERT_EQ(lunar_rollback(db), 0);
  int error = 0;
  for (std::int64_t key = 100; error == 0; ++key) error = insert(*world, key, "x");
  ASSERT_EQ(lunar_index_drop(db, "i"), 0);
  ASSERT_EQ(lunar_checkpoint(db), 0);
  error = 0;
  for (std::int64_t key = 10000; error == 0; ++key) error = insert(*world, key, "x");
  PROVOKE(LUNAR_E_FULL, lunar_index_create, db, "rows", "j", 1, LUNAR_INDEX_HASH);
  World short_log({.sectors = 512}, 1);
  PROVOKE(LUNAR_E_TXN_FULL, lunar_index_create, &short_log.db, "rows", "i", 1, LUNAR_INDEX_HASH);
}

void no_room() {
  auto world = world_with_rows();
  std::int64_t key = 100;
  int error = 0;
  while ((error = provoked("lunar_insert", "LUNAR_E_FULL", insert(*world, key, std::string(900, 'x')))) == 0) ++key;
  EXPECT_EQ(error, LUNAR_E_FULL);
  const std::string grown(901, 'y');
  const lunar_value k = integer(100), v = blob(grown);
  PROVOKE(LUNAR_E_FULL, lunar_update, &world->table, &k, 1, &v);
  error = 0;
  while (error == 0) error = insert(*world, ++key, "x");
  ASSERT_EQ(error, LUNAR_E_FULL);
  // Each page of the index is in a sector that cannot be read any more, and no other block is free.
  ASSERT_EQ(world->unmount(), 0);
  int pages = 0;
  for (std::uint32_t i = world->db.geometry.data_at; i < world->device.sector_count; ++i)
    if (const std::uint8_t kind = world->device.sectors[std::size_t{512} * i + 4]; kind == 6 || kind == 7)
      emubd_set_bad(&world->device, i, EMUBD_BAD_READ), ++pages;
  ASSERT_GT(pages, 0);
  ASSERT_EQ(world->mount(), 0);
  lunar_losses losses{};
  PROVOKE(LUNAR_E_FULL, lunar_repair, &world->table, &losses);
}

// On a full device rows move although a cursor is in use.
void rows_move() {
  World world({.mode = LUNAR_MODE_DATA, .sectors = 4096}, 1);
  const std::string small(60, 'x'), large(700, 'y');
  for (std::int64_t key = 0; key < 3000; ++key) ASSERT_EQ(insert(world, key, small), 0);
  char row[4096];
  lunar_value values[3];
  lunar_cursor cursor;
  ASSERT_EQ(lunar_cursor_open(&cursor, &world.table, nullptr, nullptr, 0), 0);
  ASSERT_EQ(lunar_cursor_next(&cursor, row, sizeof row, values), 0);
  const Prepared select(world.db, "SELECT * FROM rows");
  ASSERT_EQ(lunar_step(select.statement), LUNAR_ROW);
  for (std::int64_t key = 0; key < 3000; key += 2) {
    const lunar_value k = integer(key);
    ASSERT_EQ(lunar_remove(&world.table, &k), 0);
  }
  for (std::int64_t key = 10'000; insert(world, key, large) == 0; ++key) continue;
  PROVOKE(LUNAR_E_MOVED, lunar_cursor_next, &cursor, row, sizeof row, values);
  PROVOKE(LUNAR_E_MOVED, lunar_step, select.statement);
}

// A row whose key does not fit into the tree is not inserted in part, even in a mode without rollback.
void no_height() {
  for (const lunar_mode mode : {LUNAR_MODE_NONE, LUNAR_MODE_DATA}) {
    World world({.mode = mode, .sectors = 1U << 14}, 1);
    lunar_schema schema = one_column();
    schema.index = LUNAR_INDEX_TREE;
    ASSERT_EQ(lunar_table_drop(&world.db, "rows"), 0);
    ASSERT_EQ(lunar_table_create(&world.db, "rows", &schema), 0);
    ASSERT_EQ(lunar_table_open(&world.db, "rows", &world.table), 0);
    lunar_value key = integer(0);
    ASSERT_EQ(lunar_insert(&world.table, &key), 0);
    ASSERT_EQ(damage_tree_height(&world.db), 0);
    int error = 0;
    for (key.as.integer = 1; error == 0 && key.as.integer < 1000; ++key.as.integer)
      error = lunar_insert(&world.table, &key);
    EXPECT_EQ(provoked("lunar_insert", "LUNAR_E_INDEX_FULL", error), LUNAR_E_INDEX_FULL);
    std::uint64_t rows = 0;
    EXPECT_EQ(lunar_count(&world.table, &rows), 0);
    EXPECT_EQ(static_cast<std::int64_t>(rows), key.as.integer - 1);
    char row[64];
    lunar_value values[1];
    for (key.as.integer = 0; key.as.integer < static_cast<std::int64_t>(rows); ++key.as.integer)
      ASSERT_EQ(lunar_get(&world.table, &key, row, sizeof row, values), 0) << key.as.integer;
  }
}

// Fills a transaction's half of the log with each kind of operation.
void transaction_is_too_large() {
  const std::map<const char*, std::function<int(World&, std::int64_t)>> operations = {
      {"lunar_insert", [](World& world, std::int64_t i) { return insert(world, 100 + i, "a row"); }},
      {"lunar_update",
       [](World& world, std::int64_t i) {
         const lunar_value key = integer(1), value = integer(i);
         return lunar_update(&world.table, &key, 2, &value);
       }},
  };
  for (const char* function : {"lunar_insert", "lunar_update"}) {
    auto world = world_with_rows();
    ASSERT_EQ(lunar_begin(&world->db), 0);
    int error = 0;
    for (std::int64_t i = 0; error == 0; ++i) error = operations.at(function)(*world, i);
    EXPECT_EQ(provoked(function, "LUNAR_E_TXN_FULL", error), LUNAR_E_TXN_FULL);
  }
  // The others follow insertions that nearly fill the log: a transaction of one operation less has no room for them.
  const lunar_schema schema = one_column();
  const lunar_value key = integer(1), value = integer(7);
  const std::map<const char*, std::function<int(World&)>> last = {
      {"lunar_remove", [&](World& world) { return lunar_remove(&world.table, &key); }},
      {"lunar_table_create", [&](World& world) { return lunar_table_create(&world.db, "new", &schema); }},
      {"lunar_table_drop", [&](World& world) { return lunar_table_drop(&world.db, "rows"); }},
      {"lunar_index_drop", [&](World& world) { return lunar_index_drop(&world.db, "tree by number"); }},
      {"lunar_truncate", [&](World& world) { return lunar_truncate(&world.table); }},
  };
  for (const auto& [function, call] : last) {
    const auto after_updates = [&](int count) {
      const bool of_an_index = std::string(function) == "lunar_index_drop";
      auto world = of_an_index ? world_with_index() : world_with_rows();
      int error = lunar_begin(&world->db);
      for (int i = 0; i < count && error == 0; ++i) error = lunar_update(&world->table, &key, 2, &value);
      return error != 0 ? error : call(*world);
    };
    int fits = 0, too_many = 1;
    while (after_updates(too_many) == 0) fits = too_many, too_many *= 2;
    while (too_many - fits > 1) {
      const int middle = (fits + too_many) / 2;
      (after_updates(middle) == 0 ? fits : too_many) = middle;
    }
    EXPECT_GT(fits, 0);
    const int error = after_updates(too_many);
    EXPECT_EQ(provoked(function, "LUNAR_E_TXN_FULL", error), LUNAR_E_TXN_FULL) << function << " after " << too_many;
  }
}

void transactions() {
  auto world = world_with_rows();
  lunar* db = &world->db;
  lunar_findings found;
  PROVOKE(LUNAR_E_TXN, lunar_commit, db);
  PROVOKE(LUNAR_E_TXN, lunar_rollback, db);
  ASSERT_EQ(lunar_begin(db), 0);
  PROVOKE(LUNAR_E_TXN, lunar_begin, db);
  PROVOKE(LUNAR_E_TXN, lunar_sync, db);
  PROVOKE(LUNAR_E_TXN, lunar_write_out, db);
  PROVOKE(LUNAR_E_TXN, lunar_checkpoint, db);
  std::uint32_t moved;
  PROVOKE(LUNAR_E_TXN, lunar_compact, db, 1, &moved);
  PROVOKE(LUNAR_E_TXN, lunar_check, db, &found);
}

void program_stops() {
  auto world = world_with_rows();
  ASSERT_EQ(world->unmount(), 0);
  world->config().progress = [](const lunar_config*) { return 1; };
  ASSERT_EQ(world->mount(), 0);
  lunar_findings found;
  PROVOKE(LUNAR_E_STOPPED, lunar_check, &world->db, &found);
}

void sql() {
  auto world = world_with_rows();
  lunar& db = world->db;
  const auto prepared = [&](const std::string& text, std::size_t bytes = 8000) {
    return Prepared(db, text, bytes).error;
  };
  const auto stepped = [&](const std::string& text) {
    Prepared made(db, text);
    EXPECT_EQ(made.error, 0) << text;
    return lunar_step(made.statement);
  };
  EXPECT_EQ(provoked("lunar_prepare", "LUNAR_E_SQL", prepared("SELECT")), LUNAR_E_SQL);
  EXPECT_EQ(provoked("lunar_prepare", "LUNAR_E_NO_TABLE", prepared("SELECT * FROM none")), LUNAR_E_NO_TABLE);
  for (std::size_t bytes = 0; bytes < 2000; bytes += 100) {
    const int error = prepared("SELECT * FROM rows WHERE key IN (1, 2, 3, 4, 5, 6, 7, 8, 9)", bytes);
    if (error != 0) {
      EXPECT_EQ(provoked("lunar_prepare", "LUNAR_E_BUFFER", error), LUNAR_E_BUFFER) << bytes;
    }
  }
  const std::pair<const char*, std::vector<const char*>> texts[] = {
      {"LUNAR_E_INVALID", {"INSERT INTO rows (key) VALUES ('one')", "SELECT * FROM rows LIMIT 'one'"}},
      {"LUNAR_E_EXISTS", {"INSERT INTO rows (key) VALUES (1)", "CREATE TABLE rows (n INT PRIMARY KEY)"}},
      {"LUNAR_E_NO_TABLE", {"DROP TABLE none", "DROP INDEX none"}},
      {"LUNAR_E_TXN", {"COMMIT", "ROLLBACK"}}};
  const std::map<std::string, int> errors = {{"LUNAR_E_INVALID", LUNAR_E_INVALID},
                                             {"LUNAR_E_EXISTS", LUNAR_E_EXISTS},
                                             {"LUNAR_E_NO_TABLE", LUNAR_E_NO_TABLE},
                                             {"LUNAR_E_TXN", LUNAR_E_TXN}};
  for (const auto& [error, of] : texts)
    for (const char* text : of) EXPECT_EQ(provoked("lunar_step", error, stepped(text)), errors.at(error)) << text;
  {
    auto without_log = world_with_rows(LUNAR_MODE_NONE);
    Prepared begin(without_log->db, "BEGIN");
    PROVOKE(LUNAR_E_UNSUPPORTED, lunar_step, begin.statement);
  }
  ASSERT_EQ(stepped("CREATE TABLE second (n INT PRIMARY KEY)"), 0);
  EXPECT_EQ(provoked("lunar_step", "LUNAR_E_TABLES", stepped("CREATE TABLE third (n INT PRIMARY KEY)")),
            LUNAR_E_TABLES);
  {
    Prepared select(db, "SELECT * FROM second");
    ASSERT_EQ(stepped("DROP TABLE second"), 0);
    ASSERT_EQ(stepped("CREATE TABLE second (n INT8 PRIMARY KEY)"), 0);
    PROVOKE(LUNAR_E_SCHEMA, lunar_step, select.statement);
  }
  {
    Prepared put(db, "INSERT INTO rows (key, text) VALUES (?, ?)");
    ASSERT_EQ(put.error, 0);
    const std::string large(60000, 'x'), some(5000, 'x');
    const lunar_value too_large = blob(large), bytes = blob(some);
    lunar_value key = integer(1000);
    PROVOKE(LUNAR_E_INVALID, lunar_bind, put.statement, 3, &key);
    ASSERT_EQ(lunar_bind(put.statement, 1, &key), 0);
    ASSERT_EQ(lunar_bind(put.statement, 2, &too_large), 0);
    PROVOKE(LUNAR_E_TOO_LARGE, lunar_step, put.statement);
    ASSERT_EQ(lunar_bind(put.statement, 2, &bytes), 0);
    ASSERT_EQ(lunar_step(put.statement), LUNAR_DONE);
    Prepared select(db, "SELECT * FROM rows WHERE key = 1000", 3000);
    PROVOKE(LUNAR_E_BUFFER, lunar_step, select.statement);
    for (const char* error : {"LUNAR_E_TXN_FULL", "LUNAR_E_FULL"}) {
      const bool within = std::strcmp(error, "LUNAR_E_TXN_FULL") == 0;
      if (within) {
        ASSERT_EQ(stepped("BEGIN"), 0);
        ASSERT_EQ(lunar_bind_null(put.statement, 2), 0);
      } else {
        ASSERT_EQ(lunar_bind(put.statement, 2, &bytes), 0);
      }
      int result = 0;
      while (result == 0) {
        ++key.as.integer;
        ASSERT_EQ(lunar_bind(put.statement, 1, &key), 0);
        result = provoked("lunar_step", error, lunar_step(put.statement));
      }
      EXPECT_EQ(result, within ? LUNAR_E_TXN_FULL : LUNAR_E_FULL);
      if (within) {
        ASSERT_EQ(stepped("ROLLBACK"), 0);
      }
    }
  }
}

// Reads the errors from the comment before each function.
Errors documented() {
  std::ifstream header(LUNAR_HEADER);
  Errors errors;
  std::string comment;
  const std::regex function("LUNAR_MUST_CHECK int (lunar_\\w+)\\("),
      error("E_[A-Z_]+\\b(?! \\(an index (?:or ring )?that)");
  for (std::string line; std::getline(header, line);) {
    std::smatch found;
    if (std::regex_search(line, found, function)) {
      auto& of = errors[found[1]];
      for (std::sregex_iterator it(comment.begin(), comment.end(), error), end; it != end; ++it) of.insert(it->str());
      comment.clear();
    } else if (line.empty()) {
      comment.clear();
    } else {
      comment += std::regex_replace(line, std::regex("^/?\\s*\\*\\s*"), "") + " ";
    }
  }
  return errors;
}

TEST(DocumentedErrors, are_provoked_each) {
  handle_is_not_mounted();
  handle_was_taken_over();
  device_fails();
  card_was_changed();
  failure_could_not_be_undone();
  transaction_was_lost();
  transaction_fills_the_buffer();
  pages_are_damaged();
  format_and_mount();
  mode_none();
  tables();
  table_was_dropped();
  no_block_for_a_table();
  rows();
  keys_that_are_text();
  caches();
  indexes();
  no_room();
  no_height();
  rows_move();
  transaction_is_too_large();
  transactions();
  program_stops();
  sql();
  const Errors all = documented();
  EXPECT_EQ(all.size(), calls().size() + 5)
      << "calls() has every function but format, mount, cache_close, cursor_open and bind";
  for (const auto& [function, errors] : all)
    for (const auto& error : errors)
      EXPECT_TRUE(provoked.errors[function].count(error))
          << function << ": " << error << " is documented, not provoked";
  for (const auto& call : calls())
    for (const char* error : {"E_INVALID", "E_BUSY", "E_FAILED", "E_IO"})
      EXPECT_TRUE(provoked.errors[call.function].count(error)) << call.function << ": " << error;
}

// Gives every page of the kind an impossible number and a correct checksum.
void make_impossible(World& world, std::uint8_t kind, std::uint32_t offset) {
  for (std::uint32_t sector = world.db.geometry.data_at; sector < world.device.sector_count; ++sector) {
    std::uint8_t* page = world.device.sectors + std::size_t{512} * sector;
    std::uint32_t sum = 0;
    std::memcpy(&sum, page, sizeof sum);
    if (page[4] != kind || sum != ln_checksum(world.db.geometry.volume ^ sector, page + 4, 508)) continue;
    page[offset] = page[offset + 1] = 0xff;
    sum = ln_checksum(world.db.geometry.volume ^ sector, page + 4, 508);
    std::memcpy(page, &sum, sizeof sum);
  }
}

TEST(Pages, that_have_a_right_checksum_and_an_impossible_number_are_damaged) {
  struct {
    lunar_index index;
    std::uint8_t kind;
    std::uint32_t offset;
  } const pages[] = {{LUNAR_INDEX_HASH, 5, 10}, {LUNAR_INDEX_HASH, 6, 6}, {LUNAR_INDEX_TREE, 7, 6}};  // FORMAT.md
  for (const auto& page : pages) {
    auto world = world_with_rows(LUNAR_MODE_DATA, page.index);
    for (int i = 0; i < 2; ++i) {  // the second time without images that would heal
      ASSERT_EQ(lunar_unmount(&world->db), 0);
      ASSERT_EQ(world->mount(), 0);
    }
    make_impossible(*world, page.kind, page.offset);
    EXPECT_EQ(insert(*world, 70, "a row"), LUNAR_E_CORRUPT) << "kind " << int{page.kind};
  }
}

TEST(DocumentedErrors, have_texts_each_its_own) {
  std::set<std::string> texts;
  for (int error = 0; error >= LUNAR_E_STOPPED; --error) texts.insert(lunar_error_text(error));
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(1 - LUNAR_E_STOPPED));
  EXPECT_STREQ(lunar_error_text(LUNAR_E_STOPPED - 1), "unknown error");
  EXPECT_STREQ(lunar_error_text(1), lunar_error_text(0));
}

// A reason for each refused configuration and schema, and none for the others: the checks are the same ones.
TEST(Faults, of_configurations_name_the_field) {
  emubd device;
  ASSERT_EQ(emubd_open(&device, 512, 4096), 0);
  alignas(8) static std::uint8_t buffer[LUNAR_BUFFER_BYTES_MIN(512)];
  lunar_config good{};
  emubd_config(&device, &good);
  good.buffer = buffer, good.buffer_bytes = sizeof buffer;
  const auto fault = [&](const std::function<void(lunar_config&)>& change) {
    lunar_config config = good;
    change(config);
    const std::string text = lunar_config_fault(&config);
    EXPECT_EQ(text.empty(), lunar_format(&config) != LUNAR_E_INVALID) << text;
    return text;
  };
  EXPECT_EQ(fault([](lunar_config&) {}), "");
  EXPECT_STREQ(lunar_config_fault(nullptr), "the configuration is NULL");
  EXPECT_EQ(fault([](auto& c) { c.sync = nullptr; }), "read, write or sync is NULL");
  EXPECT_EQ(fault([](auto& c) { c.lock = [](const lunar_config*) {}; }), "one of lock and unlock is NULL");
  EXPECT_EQ(fault([](auto& c) { c.sector_bytes = 1024; }), "sector_bytes is neither 512 nor 4096");
  EXPECT_EQ(fault([](auto& c) { c.mode = static_cast<lunar_mode>(6); }), "mode is no enum lunar_mode");
  EXPECT_EQ(fault([](auto& c) { c.buffer = buffer + 1; }), "buffer is not aligned for a pointer");
  EXPECT_EQ(fault([](auto& c) { c.buffer_bytes = 100; }), "") << "E_BUFFER";
  EXPECT_EQ(fault([](auto& c) { c.class_growth = 3; }), "class_growth is neither 1 nor 2");
  EXPECT_EQ(fault([](auto& c) { c.class_bytes_min = 700; }),
            "class_bytes_min is no power of two, or less than a sector");
  EXPECT_EQ(fault([](auto& c) { c.class_bytes_max = 1 << 17; }),
            "class_bytes_max is no power of two from two sectors to 64 KiB");
  EXPECT_EQ(fault([](auto& c) { c.class_bytes_min = 4096, c.class_bytes_max = 2048; }),
            "class_bytes_max is less than class_bytes_min, or more than 128 times as much");
  EXPECT_EQ(fault([](auto& c) { c.log_bytes = 63 * 512; }), "log_bytes is less than 64 sectors");
  emubd_close(&device);
}

TEST(Faults, of_schemas_and_values_name_field_and_column) {
  World world({.sectors = 512}, 1);
  const auto fault = [&](const std::function<void(lunar_schema&)>& change) {
    lunar_schema schema = one_column();
    schema.column_count = 2, schema.columns[1] = schema.columns[0], schema.columns[1].name[0] = 'z';
    change(schema);
    const std::string text = lunar_schema_fault(&schema);
    EXPECT_EQ(text.empty(), lunar_table_create(&world.db, "new", &schema) != LUNAR_E_INVALID) << text;
    return text;
  };
  EXPECT_EQ(fault([](auto& s) { s.column_count = 17; }), "column_count is not from 1 to 16");
  EXPECT_EQ(fault([](auto& s) { s.key = 2; }), "key is the number of no column");
  EXPECT_EQ(fault([](auto& s) { s.columns[1].name[0] = 0; }), "a column's name is empty, or longer than 23 bytes");
  EXPECT_EQ(fault([](auto& s) { s.columns[1].type = 9; }), "a column's type is no enum lunar_type");
  EXPECT_EQ(fault([](auto& s) { s.columns[1].flags = 2; }), "a column's flags have an unknown bit");
  EXPECT_EQ(fault([](auto& s) { s.columns[1] = s.columns[0]; }), "two columns have one name");
  EXPECT_EQ(fault([](auto& s) { s.columns[0].type = LUNAR_REAL; }), "the key's column is REAL or BOOLEAN");
  EXPECT_EQ(fault([](auto& s) { s.ring = 4; }), "ring is no enum lunar_ring");
  EXPECT_EQ(fault([](auto& s) { s.ring = LUNAR_RING_ROWS; }), "ring_limit is 0");
  EXPECT_EQ(fault([](auto& s) { s.ring = LUNAR_RING_AGE, s.ring_limit = 1, s.columns[0].type = LUNAR_TEXT; }),
            "the key of a ring by age is no integer");
  EXPECT_EQ(fault([](auto& s) { s.index = 2; }), "index is no enum lunar_index");
  EXPECT_EQ(fault([](lunar_schema&) {}), "");

  const std::string content = "a row";
  lunar_value row[] = {integer(7), blob(content), integer(1)};
  EXPECT_EQ(lunar_values_fault(&world.table, row), -1);
  row[2].as.integer = std::int64_t{1} << 40;
  EXPECT_EQ(lunar_insert(&world.table, row), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_values_fault(&world.table, row), 2);
  row[0].type = LUNAR_NULL;
  EXPECT_EQ(lunar_values_fault(&world.table, row), 0);
}

TEST(InvalidArgument, is_named) {
  World world({}, 1);
  lunar* db = &world.db;
  lunar_table* table = &world.table;
  EXPECT_STREQ(lunar_invalid_argument(db), "");
  EXPECT_STREQ(lunar_invalid_argument(nullptr), "");
  const auto argument = [&](int error) {
    return error == LUNAR_E_INVALID ? std::string(lunar_invalid_argument(db)) : "error " + std::to_string(error);
  };
  const std::string word = "word", long_name(24, 'n');
  const lunar_value key = integer(1), no_key = text(word);
  lunar_schema schema{};
  lunar_cache cache{};
  lunar_cursor cursor{};
  std::uint32_t memory[64];
  lunar_value values[8]{};
  char row[64];
  EXPECT_EQ(argument(lunar_table_create(db, "", &schema)), "schema");
  EXPECT_EQ(argument(lunar_table_drop(db, "")), "name");
  EXPECT_EQ(argument(lunar_table_open(db, long_name.c_str(), table)), "name");
  EXPECT_EQ(argument(lunar_insert(table, values)), "values");
  EXPECT_EQ(argument(lunar_get(table, &no_key, row, sizeof row, values)), "key");
  EXPECT_EQ(argument(lunar_remove(table, &no_key)), "key");
  EXPECT_EQ(argument(lunar_update(table, &key, 9, &key)), "column");
  EXPECT_EQ(argument(lunar_update(table, &key, 0, &key)), "column");
  EXPECT_EQ(argument(lunar_update(table, &key, 1, &key)), "value");
  const std::string name = [&] {
    char listed[LUNAR_NAME_MAX + 1];
    std::uint16_t number = 0;
    EXPECT_EQ(lunar_table_list(db, &number, listed), 0);
    return std::string(listed);
  }();
  EXPECT_EQ(argument(lunar_index_create(db, name.c_str(), "i", 9, LUNAR_INDEX_TREE)), "column");
  EXPECT_EQ(argument(lunar_index_create(db, name.c_str(), "i", 1, 7)), "kind");
  EXPECT_EQ(argument(lunar_index_create(db, name.c_str(), "", 1, LUNAR_INDEX_TREE)), "name");
  EXPECT_EQ(argument(lunar_cache_open(table, &cache, memory, sizeof memory, 0)), "row_bytes");
  EXPECT_EQ(argument(lunar_cache_open(table, &cache, reinterpret_cast<char*>(memory) + 1, 64, 1)), "memory");
  EXPECT_EQ(argument(lunar_cursor_open(&cursor, table, &no_key, nullptr, 0)), "error -17");  // a hash index
  ASSERT_EQ(lunar_unmount(db), 0);
  EXPECT_EQ(argument(lunar_sync(db)), "db");
}

}  // namespace
}  // namespace lunar_test
