// Changes tables of each kind, with transactions, a ring, SQL and mounts on a device in RAM, and compares nothing.
// Linked with a mutant of the library (assertions.cmake), it must end by an assertion.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "lunar.h"

namespace lunar_test {
namespace {

constexpr std::uint32_t sector_bytes = 512, sectors = 4096;
constexpr unsigned seed = 1;

std::uint8_t* at(const lunar_config* config, std::uint32_t sector) {
  return static_cast<std::uint8_t*>(config->context) + std::size_t{sector} * sector_bytes;
}

int read(const lunar_config* config, std::uint32_t sector, void* data, std::uint32_t count) {
  std::memcpy(data, at(config, sector), std::size_t{count} * sector_bytes);
  return 0;
}

int write(const lunar_config* config, std::uint32_t sector, const void* data, std::uint32_t count) {
  std::memcpy(at(config, sector), data, std::size_t{count} * sector_bytes);
  return 0;
}

int sync(const lunar_config*) { return 0; }

lunar_value integer(std::int64_t number) {
  lunar_value value{};
  value.type = LUNAR_INT64;
  value.as.integer = number;
  return value;
}

lunar_value text(const std::string& bytes) {
  lunar_value value{};
  value.type = LUNAR_TEXT;
  value.bytes = static_cast<std::uint32_t>(bytes.size());
  value.as.data = bytes.data();
  return value;
}

lunar_schema schema_of(lunar_index index, lunar_ring ring) {
  lunar_schema schema{};
  schema.column_count = 3;
  schema.index = static_cast<std::uint8_t>(index);
  schema.ring = static_cast<std::uint8_t>(ring);
  schema.ring_limit = ring == LUNAR_RING_NONE ? 0 : 200;
  std::strcpy(schema.columns[0].name, "k");
  std::strcpy(schema.columns[1].name, "n");
  std::strcpy(schema.columns[2].name, "t");
  schema.columns[0].type = ring == LUNAR_RING_NONE ? LUNAR_TEXT : LUNAR_INT64;
  schema.columns[1].type = LUNAR_INT64;
  schema.columns[2].type = LUNAR_TEXT;
  return schema;
}

void run(lunar& db, const std::string& sql) {
  static std::vector<std::uint64_t> memory(2000);
  lunar_statement* statement = nullptr;
  if (lunar_prepare(&db, sql.data(), sql.size(), memory.data(), memory.size() * 8, &statement, nullptr) != 0) return;
  while (lunar_step(statement) == LUNAR_ROW) {
  }
  lunar_finalize(statement);
}

void any(int /*result*/) {}

struct Rows {
  lunar& db;
  std::mt19937& random;

  void work(const char* name, bool texts) {
    lunar_table table;
    static std::vector<std::uint8_t> row(70'000);
    lunar_value values[3];
    if (lunar_table_open(&db, name, &table) != 0) return;
    for (int i = 0; i < 1500; ++i) {
      const auto number = static_cast<std::int64_t>(random() % 600);
      const auto key_text = "key " + std::to_string(number * 7919 % 1000) + std::string(random() % 20, 'k');
      const auto content = std::string(random() % (i % 50 == 0 ? 3000 : 100), 't');
      const auto key = texts ? text(key_text) : integer(i);
      const lunar_value stored[] = {key, integer(number % 50), text(content)};
      if (i % 100 == 0) any(lunar_begin(&db));
      any(lunar_insert(&table, stored));
      any(lunar_get(&table, &key, row.data(), row.size(), values));
      if (i % 3 == 0) any(lunar_update(&table, &key, 2, &stored[2]));
      if (i % 4 == 0) any(lunar_update(&table, &key, 1, &stored[1]));
      if (i % 2 == 0 && texts) any(lunar_remove(&table, &key));
      if (i % 100 == 60) any(i % 200 < 100 ? lunar_commit(&db) : lunar_rollback(&db));
      if (i % 250 == 249) any(lunar_sync(&db));
    }
  }
};

void everything(lunar_mode mode) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> device(std::size_t{sectors} * sector_bytes);
  std::vector<std::uint64_t> buffer(4000);
  lunar_config config{};
  config.context = device.data();
  config.read = read, config.write = write, config.sync = sync;
  config.sector_bytes = config.atomic_write_bytes = sector_bytes;
  config.sector_count = sectors;
  config.buffer = buffer.data(), config.buffer_bytes = buffer.size() * 8;
  config.mode = mode;
  lunar db;
  if (lunar_format(&config) != 0 || lunar_mount(&db, &config) != 0) return;
  const auto hash = schema_of(LUNAR_INDEX_HASH, LUNAR_RING_NONE), tree = schema_of(LUNAR_INDEX_TREE, LUNAR_RING_NONE),
             ring = schema_of(LUNAR_INDEX_TREE, LUNAR_RING_ROWS);
  any(lunar_table_create(&db, "hash", &hash));
  any(lunar_table_create(&db, "tree", &tree));
  any(lunar_table_create(&db, "ring", &ring));
  any(lunar_index_create(&db, "hash", "by n", 1, LUNAR_INDEX_TREE));
  any(lunar_index_create(&db, "tree", "by t", 2, LUNAR_INDEX_HASH));
  Rows rows{db, random};
  for (int round = 0; round < 2; ++round) {
    rows.work("hash", true);
    rows.work("tree", true);
    rows.work("ring", false);
    run(db, "SELECT k, n FROM tree WHERE k >= 'key 3' AND n IN (1, 2, 3) OR NOT n < 40 ORDER BY n DESC, t");
    run(db, "SELECT n, COUNT(*), SUM(n), AVG(n), MIN(t), MAX(t) FROM hash GROUP BY n ORDER BY n");
    run(db, "UPDATE hash SET n = n + 1, t = 'x' WHERE n BETWEEN 10 AND 20");
    run(db, "DELETE FROM tree WHERE t LIKE 't%' AND n <> 3");
    run(db, "SELECT * FROM ring WHERE k > 1000 ORDER BY t, k LIMIT 20");
    if (round == 0) any(lunar_unmount(&db));
    // The second round ends like a power cut: without an unmount.
    if (lunar_mount(&db, &config) != 0) return;
  }
  any(lunar_checkpoint(&db));
  any(lunar_table_drop(&db, "hash"));
  any(lunar_table_drop(&db, "tree"));
  any(lunar_unmount(&db));
}

}  // namespace
}  // namespace lunar_test

int main() {
  std::printf("seed %u\n", lunar_test::seed);
  for (const auto mode : {LUNAR_MODE_NONE, LUNAR_MODE_METADATA, LUNAR_MODE_FULL}) lunar_test::everything(mode);
  std::puts("ended without an assertion");
}
