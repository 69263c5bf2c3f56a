#include <cstring>
#include <vector>

#include "require.h"
#include "reseal.h"
#include "targets.h"
#include "values.h"
#include "world.h"

namespace lunar_fuzz {
namespace {

using lunar_test::integer;

constexpr std::uint32_t sectors = 256, sector_bytes = 512;
constexpr std::uint64_t requests_max = 3'000'000;

struct Base {
  std::vector<std::uint8_t> image;
  std::vector<sealed> seals;
  std::vector<std::uint32_t> used;  // sectors that are not all zero
};

Base base(const lunar_test::Options& options, int steps, bool unmounted) {
  lunar_test::World world(options, 7);
  for (int i = 0; i < steps; ++i) require(world.step() == 0, "a sound volume works");
  if (unmounted) require(world.unmount() == 0, "a sound volume can be unmounted");
  if (!unmounted) require(world.sync() == 0, "a sound volume can be synced");
  Base made;
  made.image.assign(world.device.sectors, world.device.sectors + std::size_t{sectors} * sector_bytes);
  for (std::uint32_t sector = 0; sector < sectors; ++sector) {
    made.seals.push_back(sealed_as(made.image.data(), sectors, sector));
    const auto* at = made.image.data() + std::size_t{sector} * sector_bytes;
    for (std::uint32_t i = 0; i < sector_bytes; ++i) {
      if (at[i] == 0) continue;
      made.used.push_back(sector);
      break;
    }
  }
  return made;
}

const std::vector<Base>& bases() {
  static const std::vector<Base> made = [] {
    std::vector<Base> all;
    for (const bool unmounted : {false, true}) {
      for (const auto index : {LUNAR_INDEX_HASH, LUNAR_INDEX_TREE}) {
        all.push_back(base({.mode = LUNAR_MODE_FULL, .sectors = sectors, .index = index}, 60, unmounted));
        all.push_back(base({.mode = LUNAR_MODE_DATA,
                            .sectors = sectors,
                            .buffer_bytes = 16384,
                            .keys = 60,
                            .text_bytes_max = 300,
                            .index = index},
                           150, unmounted));
      }
      all.push_back(base({.mode = LUNAR_MODE_FULL, .sectors = sectors, .ring_rows = 12}, 60, unmounted));
      all.push_back(
          base({.mode = LUNAR_MODE_FULL, .sectors = sectors, .log_bytes = 96 * 512, .secondary = 1}, 60, unmounted));
      all.push_back(base({.mode = LUNAR_MODE_DATA,
                          .sectors = sectors,
                          .buffer_bytes = 16384,
                          .log_bytes = 128 * 512,
                          .keys = 40,
                          .text_bytes_max = 200,
                          .secondary = 2},
                         100, unmounted));
      all.push_back(base({.mode = LUNAR_MODE_NONE, .sectors = sectors}, 60, unmounted));
    }
    return all;
  }();
  return made;
}

struct Device {
  std::vector<std::uint8_t> image;
  std::uint64_t requests = 0;
};

Device& of(const lunar_config* config) { return *static_cast<Device*>(config->context); }

void request(const lunar_config* config, std::uint32_t sector, std::uint32_t count) {
  require(count > 0 && count <= sectors && sector <= sectors - count, "a request is inside the device");
  require(++of(config).requests < requests_max, "the volume is done with in a bounded number of requests");
}

int read(const lunar_config* config, std::uint32_t sector, void* data, std::uint32_t count) {
  request(config, sector, count);
  std::memcpy(data, of(config).image.data() + std::size_t{sector} * sector_bytes, std::size_t{count} * sector_bytes);
  return 0;
}

int write(const lunar_config* config, std::uint32_t sector, const void* data, std::uint32_t count) {
  request(config, sector, count);
  std::memcpy(of(config).image.data() + std::size_t{sector} * sector_bytes, data, std::size_t{count} * sector_bytes);
  return 0;
}

int sync(const lunar_config* config) {
  require(++of(config).requests < requests_max, "the volume is done with in a bounded number of requests");
  return 0;
}

void write_rows(lunar_table& table, const lunar_schema& schema, std::int64_t key) {
  static char text[900];
  lunar_value values[LUNAR_COLUMNS_MAX];
  for (std::uint8_t i = 0; i < LUNAR_COLUMNS_MAX; ++i) {
    const auto type = schema.columns[i].type;
    values[i] = integer(key);
    if (type == LUNAR_REAL || type == LUNAR_BOOLEAN) values[i].type = type;
    if (type == LUNAR_TEXT || type == LUNAR_BLOB) {
      values[i].type = type, values[i].as.data = text, values[i].bytes = static_cast<std::uint32_t>(key % 3 * 300);
    }
  }
  known(lunar_insert(&table, values));
  const std::uint8_t column = schema.column_count > 1 ? 1 : 0;
  known(lunar_update(&table, &values[schema.key], column, &values[column]));
  if (key % 2 == 0) known(lunar_remove(&table, &values[schema.key]));
}

void use_indexes(lunar& db, lunar_table& table, const char* name) {
  std::uint8_t at = 0;
  lunar_index_info info{};
  static std::vector<char> row(2000);
  lunar_value values[LUNAR_COLUMNS_MAX];
  while (known(lunar_index_list(&table, &at, &info)) == 0) {
    lunar_cursor cursor{};
    const lunar_value number = integer(1);
    const lunar_value* bound = info.kind == LUNAR_INDEX_HASH ? &number : nullptr;
    if (known(lunar_index_cursor(&cursor, &table, info.name, bound, bound, at % 2)) != 0) continue;
    for (int i = 0; i < 100 && known(lunar_cursor_next(&cursor, row.data(), row.size(), values)) == 0; ++i) continue;
  }
  known(lunar_index_create(&db, name, "another", 0, LUNAR_INDEX_TREE));
  if (at > 0) known(lunar_index_drop(&db, info.name));
}

void use_table(lunar& db, const char* name) {
  lunar_table table{};
  lunar_schema schema{};
  std::uint64_t rows = 0;
  if (known(lunar_table_open(&db, name, &table)) != 0 || known(lunar_table_schema(&table, &schema)) != 0) return;
  require(schema.column_count > 0 && schema.column_count <= LUNAR_COLUMNS_MAX && schema.key < schema.column_count,
          "a schema that is given is one that could be created");
  known(lunar_count(&table, &rows));
  static std::vector<char> row(2000);
  lunar_value values[LUNAR_COLUMNS_MAX];
  lunar_cursor cursor{};
  if (known(lunar_cursor_open(&cursor, &table, nullptr, nullptr, 0)) == 0) {
    for (int i = 0; i < 100 && known(lunar_cursor_next(&cursor, row.data(), row.size(), values)) == 0; ++i) continue;
  }
  for (std::int64_t key = 0; key < 70; ++key) {
    const lunar_value k = integer(key);
    known(lunar_get(&table, &k, row.data(), row.size(), values));
  }
  use_indexes(db, table, name);
  for (std::int64_t key = 0; key < 70; key += 6) write_rows(table, schema, key);
}

void use(const lunar_config& config) {
  lunar db{};
  if (known(lunar_mount(&db, &config)) != 0) return;
  lunar_findings found{};
  known(lunar_check(&db, &found));
  char name[LUNAR_NAME_MAX + 1];
  std::uint16_t number = 0;
  std::vector<std::string> names;
  while (known(lunar_table_list(&db, &number, name)) == 0) names.emplace_back(name);
  for (const auto& n : names) use_table(db, n.c_str());
  known(lunar_checkpoint(&db));
  std::uint32_t moved = 0;
  known(lunar_compact(&db, 50, &moved));
  if (!names.empty()) known(lunar_table_drop(&db, names.front().c_str()));
  known(lunar_begin(&db));
  if (names.size() > 1) use_table(db, names.back().c_str());
  known(lunar_rollback(&db));
  known(lunar_check(&db, &found));
  known(lunar_unmount(&db));
}

}  // namespace

// Byte 0: the image (low half) and whether nothing is sealed again (128). Then edits of 6 bytes: which of the used
// sectors, offset (2), how, value (2).
void use_damaged_image(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return;
  const Base& chosen = bases()[(data[0] & 0x7f) % bases().size()];
  Device device{chosen.image};
  for (std::size_t i = 1; i + 6 <= size && i < 1 + 6 * 64; i += 6) {
    const std::uint32_t sector = chosen.used[data[i] % chosen.used.size()];
    const std::uint32_t offset = static_cast<std::uint32_t>(data[i + 1] | data[i + 2] << 8) % sector_bytes;
    std::uint8_t* at = device.image.data() + std::size_t{sector} * sector_bytes + offset;
    const std::uint32_t width = 1U << (data[i + 3] & 3) % 3;
    const std::uint32_t value = static_cast<std::uint32_t>(data[i + 4] | data[i + 5] << 8);
    const std::uint32_t wide = data[i + 3] & 8 ? ~value : value;
    for (std::uint32_t k = 0; k < width && offset + k < sector_bytes; ++k) {
      const auto byte = static_cast<std::uint8_t>(wide >> 8 * k);
      at[k] = static_cast<std::uint8_t>(data[i + 3] & 4 ? at[k] + byte : byte);
    }
  }
  for (std::uint32_t sector = 0; sector < sectors && (data[0] & 128) == 0; ++sector) {
    reseal(device.image.data(), sectors, sector, chosen.seals[sector]);
  }
  static std::vector<std::uint32_t> buffer(16384 / 4);
  lunar_config config{};
  config.context = &device, config.read = read, config.write = write, config.sync = sync;
  config.sector_bytes = sector_bytes, config.sector_count = sectors;
  config.buffer = buffer.data();
  config.buffer_bytes = size % 2 == 0 ? LUNAR_BUFFER_BYTES_MIN(512) : buffer.size() * 4;
  config.mode = static_cast<lunar_mode>(size % 6);
  use(config);
  use(config);
}

}  // namespace lunar_fuzz
