// Several tables share a small volume that is full for most of its life: random operations of every kind, and power
// cuts, beside a model of the rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "emubd.h"
#include "lunar.h"
#include "values.h"

namespace lunar_test {
namespace {

constexpr unsigned tables_count = 4, indexes_max = 3;
constexpr std::int64_t ring_limit = 60;

struct Content {
  std::int64_t number = 0;
  std::string bytes;
};
using Rows = std::map<std::string, Content>;

struct Table {
  std::string name;
  lunar_schema schema{};
  lunar_table open{};
  Rows rows;  // of a ring: also those that it has removed
  unsigned indexes = 0;
  std::uint32_t bytes_max = 0;
  bool exists = false;
};

bool is_no_room(int error) {
  return error == LUNAR_E_FULL || error == LUNAR_E_TXN_FULL || error == LUNAR_E_TOO_LARGE ||
         error == LUNAR_E_INDEX_FULL;
}
bool ends_transaction(int error) { return error == LUNAR_E_FULL || error == LUNAR_E_TXN_FULL; }

class Life {
 public:
  explicit Life(std::uint64_t seed) : random_(seed) {}
  ~Life() { emubd_close(&device_); }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  // Returns the first fault as text; empty: none.
  std::string run(unsigned steps) {
    begin();
    for (unsigned step = 0; step < steps && fault_.empty(); ++step) {
      if (step % 200 == 0) phase_ = random(4);
      one(tables_[random(static_cast<std::uint32_t>(tables_.size()))]);
      if (!fault_.empty()) return "step " + std::to_string(step) + ": " + fault_;
    }
    return fault_;
  }

 private:
  std::uint32_t random(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }
  void is(bool good, const std::string& what) {
    if (!good && fault_.empty()) fault_ = what;
  }
  void is_ok(int error, const std::string& what) { is(error == 0, what + " returned " + std::to_string(error)); }

  void begin() {
    constexpr std::uint32_t sizes[] = {256, 300, 400, 512, 800, 1024, 2048, 4096, 8192};
    constexpr std::uint32_t rows[] = {8, 40, 120, 380, 600, 2000, 8000};
    const std::uint32_t sector = random(4) ? 512 : 4096, sectors = sizes[random(9)];
    is_ok(emubd_open(&device_, sector, sectors), "emubd_open");
    emubd_config(&device_, &config_);
    const std::size_t frames = random(3) ? random(60) : 0;
    buffer_.resize((LUNAR_BUFFER_BYTES_MIN(sector) + frames * (sector + LUNAR_FRAME_BYTES)) / 8 + 1);
    config_.buffer = buffer_.data(), config_.buffer_bytes = buffer_.size() * 8;
    config_.mode = random_mode();
    config_.atomic_write_bytes = random(2) ? sector : 0;
    if (random(2)) config_.class_growth = 1 + random(2);
    if (random(2)) config_.class_bytes_max = std::min(sector << (1 + random(5)), 65536U);
    if (random(2)) config_.log_bytes = (64 + random(sectors / 6)) * sector;
    config_.seed = random(1000);
    if (lunar_format(&config_) != 0) {  // no room for this log and these blocks
      config_.log_bytes = config_.class_bytes_max = 0;
      is_ok(lunar_format(&config_), "lunar_format");
    }
    is_ok(lunar_mount(&db_, &config_), "lunar_mount");
    keys_ = 1 + random(4000);
    tables_.resize(1 + random(tables_count));
    for (Table& table : tables_) {
      table.name = "t" + std::to_string(&table - tables_.data());
      lunar_schema& schema = table.schema;
      std::strcpy(schema.columns[0].name, "key");
      schema.columns[0].type = random(3) ? LUNAR_INT64 : LUNAR_TEXT, schema.columns[0].flags = LUNAR_NOT_NULL;
      std::strcpy(schema.columns[1].name, "number"), schema.columns[1].type = LUNAR_INT64;
      std::strcpy(schema.columns[2].name, "bytes"), schema.columns[2].type = LUNAR_BLOB;
      schema.column_count = 3, schema.index = static_cast<std::uint8_t>(random(2)), schema.checksum = random(3) == 0;
      if (random(6) == 0) schema.ring = LUNAR_RING_ROWS, schema.ring_limit = ring_limit;
      table.bytes_max = rows[random(7)];
    }
  }
  lunar_mode random_mode() {
    constexpr lunar_mode modes[] = {LUNAR_MODE_NONE, LUNAR_MODE_DISORDER, LUNAR_MODE_METADATA, LUNAR_MODE_DATA,
                                    LUNAR_MODE_FULL};
    return modes[random(5)];
  }
  lunar_value key_of(const Table& table, const std::string& key) {
    return table.schema.columns[0].type == LUNAR_TEXT ? text(key) : integer(std::stoll(key));
  }
  std::string random_key(const Table& table) {
    const std::uint32_t number = random(keys_);
    std::string key = std::to_string(number);
    return table.schema.columns[0].type == LUNAR_TEXT ? std::string(1 + number % 37, 'x') + key : key;
  }
  std::string random_bytes(const Table& table) {
    const std::uint32_t most = random(10) ? table.bytes_max : 2 * table.bytes_max;
    return std::string(random(most), static_cast<char>(random(256)));
  }

  void one(Table& table) {
    if (lost_) {
      end_transaction(lunar_rollback(&db_), false);
    } else if (!table.exists) {
      if (!in_transaction_) create(table);
    } else {
      constexpr std::uint32_t insertions[] = {800, 450, 200, 100}, updates[] = {150, 150, 150, 600};
      const std::uint32_t kind = random(1000), inserted = insertions[phase_], updated = inserted + updates[phase_];
      if (kind < inserted)
        insert(table);
      else if (kind < updated)
        update(table);
      else if (kind < 984)
        remove(table);
      else if (kind < 988)
        transaction();
      else if (!in_transaction_)
        of_table_or_volume(table, kind - 988);
    }
  }
  void create(Table& table) {
    const int error = lunar_table_create(&db_, table.name.c_str(), &table.schema);
    if (is_no_room(error)) return;
    is_ok(error, "lunar_table_create");
    table.exists = true, table.indexes = 0, table.rows.clear();
    is_ok(lunar_table_open(&db_, table.name.c_str(), &table.open), "lunar_table_open");
  }
  // 1: the operation had no room, and with it the transaction is lost.
  bool had_no_room(int error) {
    if (in_transaction_ && ends_transaction(error)) lost_ = true;
    return is_no_room(error);
  }
  void insert(Table& table) {
    const std::string key = random_key(table);
    const Content content{random(50), random_bytes(table)};
    const lunar_value values[] = {key_of(table, key), integer(content.number), blob(content.bytes)};
    const int error = lunar_insert(&table.open, values);
    if (had_no_room(error)) return;
    const bool known = table.rows.count(key) > 0;
    if (error == LUNAR_E_EXISTS) return is(known, "lunar_insert: a row exists that was not inserted");
    is_ok(error, "lunar_insert");
    is(!known || table.schema.ring, "lunar_insert replaced a row");
    table.rows[key] = content;
  }
  void update(Table& table) {
    const std::string key = random_key(table);
    const lunar_value key_value = key_of(table, key);
    Content content{random(50), random_bytes(table)};
    const bool of_number = random(2) != 0;
    const int error =
        lunar_update(&table.open, &key_value, of_number ? 1 : 2,
                     of_number ? std::array{integer(content.number)}.data() : std::array{blob(content.bytes)}.data());
    if (had_no_room(error)) return;
    const auto row = table.rows.find(key);
    if (error == LUNAR_E_NOT_FOUND) return is(row == table.rows.end() || table.schema.ring, "lunar_update: no row");
    is_ok(error, "lunar_update");
    if (row == table.rows.end()) return is(false, "lunar_update changed a row that was not inserted");
    if (of_number)
      row->second.number = content.number;
    else
      row->second.bytes = content.bytes;
  }
  void remove(Table& table) {
    auto row = table.rows.lower_bound(random_key(table));
    if (row == table.rows.end()) row = table.rows.begin();
    const std::string key = row == table.rows.end() || random(2) ? random_key(table) : row->first;
    const lunar_value key_value = key_of(table, key);
    const int error = lunar_remove(&table.open, &key_value);
    if (in_transaction_ && error == LUNAR_E_TXN_FULL) {
      lost_ = true;
      return;
    }
    row = table.rows.find(key);
    if (error == LUNAR_E_NOT_FOUND) return is(row == table.rows.end() || table.schema.ring, "lunar_remove: no row");
    is_ok(error, "lunar_remove");
    if (row == table.rows.end()) return is(false, "lunar_remove removed a row that was not inserted");
    table.rows.erase(row);
  }
  void transaction() {
    if (config_.mode == LUNAR_MODE_NONE) return;
    if (in_transaction_) {
      const bool commits = random(2) != 0;
      return end_transaction(commits ? lunar_commit(&db_) : lunar_rollback(&db_), commits);
    }
    is_ok(lunar_begin(&db_), "lunar_begin");
    in_transaction_ = true;
    before_.clear();
    for (const Table& table : tables_) before_.push_back(table.rows);
  }
  void end_transaction(int error, bool commits) {
    is_ok(error, commits ? "lunar_commit" : "lunar_rollback");
    in_transaction_ = lost_ = false;
    for (std::size_t i = 0; !commits && i < tables_.size(); ++i) tables_[i].rows = before_[i];
  }

  void of_table_or_volume(Table& table, std::uint32_t kind) {
    const std::string index = table.name + "i" + std::to_string(table.indexes - (kind == 1));
    std::uint32_t moved = 0;
    if (kind == 0 && table.indexes < indexes_max) {
      const int error =
          lunar_index_create(&db_, table.name.c_str(), index.c_str(), static_cast<std::uint8_t>(1 + random(2)),
                             static_cast<std::uint8_t>(random(2)));
      if (!is_no_room(error)) is_ok(error, "lunar_index_create"), ++table.indexes;
    } else if (kind == 1 && table.indexes) {
      const int error = lunar_index_drop(&db_, index.c_str());
      if (error != LUNAR_E_TXN_FULL) is_ok(error, "lunar_index_drop"), --table.indexes;
    } else if (kind == 2) {
      const int error = lunar_table_drop(&db_, table.name.c_str());
      if (error != LUNAR_E_TXN_FULL) is_ok(error, "lunar_table_drop"), table.exists = false;
    } else if (kind == 3 && random(3) == 0) {
      const int error = lunar_truncate(&table.open);
      if (error != LUNAR_E_TXN_FULL) is_ok(error, "lunar_truncate"), table.rows.clear();
    } else if (kind <= 5) {
      is_ok(lunar_compact(&db_, random(200), &moved), "lunar_compact");
    } else if (kind == 6) {
      is_ok(lunar_checkpoint(&db_), "lunar_checkpoint");
    } else if (kind == 7) {
      is_ok(lunar_sync(&db_), "lunar_sync");
    } else if (kind <= 9 && config_.mode != LUNAR_MODE_NONE) {
      if (config_.mode != LUNAR_MODE_FULL) is_ok(lunar_sync(&db_), "lunar_sync before a cut");
      for (unsigned cuts = 1 + random(2); cuts && fault_.empty(); --cuts) {  // the second one ends the recovery
        cut();
        is_ok(lunar_mount(&db_, &config_), "lunar_mount after a cut");
      }
      open_all();
    } else if (kind == 10) {
      is_ok(lunar_unmount(&db_), "lunar_unmount");
      if (random(3) == 0) config_.mode = random_mode();
      is_ok(lunar_mount(&db_, &config_), "lunar_mount");
      open_all();
    }
    if (kind >= 8 && fault_.empty()) verify();
  }
  void cut() {
    std::uint64_t state = random_();
    emubd_cut(&device_, &state, 128, config_.sector_bytes / 4);
    device_.mounted = nullptr;
  }
  void open_all() {
    for (Table& table : tables_)
      if (table.exists) is_ok(lunar_table_open(&db_, table.name.c_str(), &table.open), "lunar_table_open");
  }
  void verify() {
    lunar_findings found{};
    const int error = lunar_check(&db_, &found);
    is(error == 0, "lunar_check returned " + std::to_string(error) + ": " + (error ? found.text : "") + ", " +
                       found.table + ", sector " + std::to_string(found.sector));
    for (Table& table : tables_)
      if (table.exists && fault_.empty()) verify(table);
  }
  void verify(Table& table) {
    std::uint64_t count = 0, found = 0;
    is_ok(lunar_count(&table.open, &count), "lunar_count");
    std::vector<char> memory(70000);
    for (auto row = table.rows.begin(); row != table.rows.end() && fault_.empty();) {
      lunar_value values[3];
      const lunar_value key = key_of(table, row->first);
      const int error = lunar_get(&table.open, &key, memory.data(), memory.size(), values);
      if (table.schema.ring && error == LUNAR_E_NOT_FOUND) {
        row = table.rows.erase(row);
        continue;
      }
      is_ok(error, "lunar_get");
      is(error || (values[1].as.integer == row->second.number && bytes_of(values[2]) == row->second.bytes),
         "the row " + row->first + " of " + table.name + " differs");
      ++found, ++row;
    }
    is(count == found, table.name + " has " + std::to_string(count) + " rows instead of " + std::to_string(found));
    is(!table.schema.ring || count <= ring_limit, table.name + " has more rows than its limit");
  }

  std::mt19937_64 random_;
  emubd device_{};
  lunar_config config_{};
  std::vector<std::uint64_t> buffer_;
  lunar db_{};
  std::vector<Table> tables_;
  std::vector<Rows> before_;  // the transaction
  std::uint32_t keys_ = 0, phase_ = 0;
  bool in_transaction_ = false, lost_ = false;
  std::string fault_;
};

std::string fault_of(std::uint64_t seed) {
  Life life(seed);
  const std::string fault = life.run(6000);
  return fault.empty() ? "" : "seed " + std::to_string(seed) + ", " + fault;
}

TEST(SharedVolume, keeps_the_rows_in_lives_that_once_lost_them) {
  for (const std::uint64_t seed : {869, 2491, 2877, 3181, 3695}) EXPECT_EQ(fault_of(seed), "");
}

TEST(SharedVolume, keeps_the_rows_of_every_table) {
  const std::uint64_t first = test_seed(), lives = 2000 / one_in(40);
  for (std::uint64_t seed = first; seed < first + lives; ++seed) ASSERT_EQ(fault_of(seed), "");
}

}  // namespace
}  // namespace lunar_test
