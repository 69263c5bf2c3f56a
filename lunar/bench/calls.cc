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

void must(int error) {
  if (error != 0) throw std::runtime_error(std::string("lunar: ") + lunar_error_text(error));
}

struct Requests {
  std::uint64_t reads, writes, flushes;
};

// The sum and the most of each kind of request.
class Tally {
 public:
  explicit Tally(const emubd& device) : device_(device) {}
  template <class Call>
  void count(Call call) {
    const auto before = now();
    must(call());
    const auto after = now();
    add(reads_, after.reads - before.reads);
    add(writes_, after.writes - before.writes);
    add(flushes_, after.flushes - before.flushes);
    ++calls_;
  }
  nlohmann::json json() const {
    const auto of = [this](const Kind& kind) {
      return nlohmann::json{{"mean", static_cast<double>(kind.sum) / static_cast<double>(calls_)}, {"most", kind.most}};
    };
    return {{"reads", of(reads_)}, {"writes", of(writes_)}, {"flushes", of(flushes_)}};
  }

 private:
  struct Kind {
    std::uint64_t sum = 0, most = 0;
  };
  static void add(Kind& kind, std::uint64_t requests) {
    kind.sum += requests, kind.most = std::max(kind.most, requests);
  }
  Requests now() const { return {device_.reads, device_.writes, device_.syncs}; }

  const emubd& device_;
  Kind reads_, writes_, flushes_;
  std::uint64_t calls_ = 0;
};

}  // namespace

nlohmann::json calls(const Calling& calling) {
  emubd device;
  if (emubd_open(&device, 512, 131'072) != 0) throw std::bad_alloc();
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
  must(lunar_format(&config));
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
  for (key = 0; key < calling.rows; ++key) must(lunar_insert(&table, row));

  std::mt19937_64 random(1);
  std::int64_t first = 0, end = calling.rows;
  const auto any = [&] {
    return first + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end - first));
  };
  char space[64];
  lunar_value values[2];
  Tally insert(device), get(device), update(device), remove(device), mount(device), check(device), drop(device);
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
  drop.count([&] { return lunar_table_drop(&db, "log"); });
  return {{"insert", insert.json()}, {"get", get.json()},     {"update", update.json()}, {"remove", remove.json()},
          {"mount", mount.json()},   {"check", check.json()}, {"drop", drop.json()}};
}

}  // namespace lunar_bench
