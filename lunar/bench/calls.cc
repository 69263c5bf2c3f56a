#include "calls.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "emubd.h"

namespace lunar_bench {
namespace {

constexpr std::uint32_t sectors = 131'072, rows_compacted = 16;

void must(int error) {
  if (error != 0) throw std::runtime_error(std::string("lunar: ") + lunar_error_text(error));
}

// The sum and the most of each kind of request, and of all.
class Tally {
 public:
  explicit Tally(const emubd& device) : device_(device) {}
  template <class Call>
  void count(Call call) {
    const auto reads = device_.reads, writes = device_.writes, flushes = device_.syncs;
    must(call());
    add(reads_, device_.reads - reads);
    add(writes_, device_.writes - writes);
    add(flushes_, device_.syncs - flushes);
    add(requests_, device_.reads - reads + device_.writes - writes + device_.syncs - flushes);
    ++calls_;
  }
  nlohmann::json json() const {
    const auto of = [this](const Kind& kind) {
      return nlohmann::json{{"mean", static_cast<double>(kind.sum) / static_cast<double>(calls_)}, {"most", kind.most}};
    };
    return {{"reads", of(reads_)},
            {"writes", of(writes_)},
            {"flushes", of(flushes_)},
            {"requests", of(requests_)},
            {"calls", calls_}};
  }

 private:
  struct Kind {
    std::uint64_t sum = 0, most = 0;
  };
  static void add(Kind& kind, std::uint64_t requests) {
    kind.sum += requests, kind.most = std::max(kind.most, requests);
  }
  const emubd& device_;
  Kind reads_, writes_, flushes_, requests_;
  std::uint64_t calls_ = 0;
};

}  // namespace

nlohmann::json calls(const Calling& calling) {
  emubd device;
  if (emubd_open(&device, 512, sectors) != 0) throw std::bad_alloc();
  struct Close {
    emubd* device;
    ~Close() { emubd_close(device); }
  } closing{&device};
  lunar_config config{};
  emubd_config(&device, &config);
  std::vector<std::uint64_t> buffer(calling.buffer_bytes / 8);
  config.buffer = buffer.data(), config.buffer_bytes = calling.buffer_bytes, config.mode = LUNAR_MODE_FULL;
  lunar db;
  lunar_table table;
  Tally format(device), mount(device), insert(device), get(device), update(device), remove(device), next(device),
      compact(device), check(device), index(device), repair(device), truncate(device), drop(device);
  format.count([&] { return lunar_format(&config); });
  must(lunar_mount(&db, &config));
  lunar_schema schema{};
  schema.column_count = 2, schema.index = static_cast<std::uint8_t>(calling.index);
  schema.ring = calling.ring ? LUNAR_RING_ROWS : LUNAR_RING_NONE;
  schema.ring_limit = calling.ring ? static_cast<std::uint64_t>(calling.rows) : 0;
  std::strcpy(schema.columns[0].name, "time"), schema.columns[0].type = LUNAR_INT64;
  std::strcpy(schema.columns[1].name, "value"), schema.columns[1].type = LUNAR_REAL;
  must(lunar_table_create(&db, "log", &schema));
  must(lunar_table_open(&db, "log", &table));
  lunar_value row[2] = {};
  row[0].type = LUNAR_INT64, row[1].type = LUNAR_REAL;
  auto& key = row[0].as.integer;
  std::mt19937_64 random(1);
  for (key = 0; key < calling.rows; ++key) {
    row[1].as.real = static_cast<double>(random() >> 11);
    must(lunar_insert(&table, row));
  }

  std::int64_t first = 0, end = calling.rows;
  const auto any = [&] {
    return first + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end - first));
  };
  char space[64];
  lunar_value values[2];
  for (std::int64_t i = 0; i < calling.calls; ++i) {
    key = end++;
    insert.count([&] { return lunar_insert(&table, row); });
    if (calling.ring) first = end - calling.rows;
    key = any();
    get.count([&] { return lunar_get(&table, row, space, sizeof space, values); });
    update.count([&] { return lunar_update(&table, row, 1, &row[1]); });
  }
  for (std::int64_t i = 0; i < calling.calls / 2; ++i) { /* every second of the oldest */
    key = first + 2 * i;
    remove.count([&] { return lunar_remove(&table, row); });
  }
  std::uint64_t state = 1;
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 37; ++k) key = end++, must(lunar_insert(&table, row));
    emubd_cut(&device, &state, 128, 0);
    emubd_reset(&device);
    mount.count([&] { return lunar_mount(&db, &config); });
    must(lunar_table_open(&db, "log", &table));
  }
  lunar_findings found;
  check.count([&] { return lunar_check(&db, &found); });
  std::uint32_t moved = 0;
  for (int i = 0; i < 20 && !calling.ring; ++i)
    compact.count([&] { return lunar_compact(&db, rows_compacted, &moved); });
  lunar_cursor cursor;
  must(lunar_cursor_open(&cursor, &table, nullptr, nullptr, 0));
  for (std::int64_t i = 0; i < calling.calls / 2; ++i)
    next.count([&] { return lunar_cursor_next(&cursor, space, sizeof space, values); });
  lunar_cursor_close(&cursor);
  index.count([&] { return lunar_index_create(&db, "log", "value", 1, LUNAR_INDEX_TREE); });
  must(lunar_index_drop(&db, "value"));

  must(lunar_unmount(&db));
  const std::vector<std::uint8_t> content(device.sectors, device.sectors + std::size_t{sectors} * 512);
  const auto with_all_rows = [&](Tally& tally, auto call) {
    std::ranges::copy(content, device.sectors);
    must(lunar_mount(&db, &config));
    must(lunar_table_open(&db, "log", &table));
    tally.count(call);
    must(lunar_unmount(&db));
  };
  lunar_losses losses;
  with_all_rows(repair, [&] { return lunar_repair(&table, &losses); });
  with_all_rows(truncate, [&] { return lunar_truncate(&table); });
  with_all_rows(drop, [&] { return lunar_table_drop(&db, "log"); });
  nlohmann::json all{{"format", format.json()}, {"mount", mount.json()},
                     {"insert", insert.json()}, {"get", get.json()},
                     {"update", update.json()}, {"remove", remove.json()},
                     {"cursor", next.json()},   {"check", check.json()},
                     {"repair", repair.json()}, {"index create", index.json()},
                     {"drop", drop.json()},     {"truncate", truncate.json()}};
  if (!calling.ring) all["compact"] = compact.json();
  return all;
}

}  // namespace lunar_bench
