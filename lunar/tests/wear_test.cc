// How the writes of loggers spread over the sectors of the device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>
#include <regex>
#include <string>
#include <vector>

#include "emubd.h"
#include "lunar.h"
#include "values.h"

namespace lunar_test {
namespace {

std::vector<std::uint32_t>* written;  // how often each sector was
int (*write_through)(const lunar_config*, std::uint32_t, const void*, std::uint32_t);

int counting_write(const lunar_config* config, std::uint32_t sector, const void* data, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) ++written->at(sector + i);
  return write_through(config, sector, data, count);
}

// The numbers of the README's sentence about wear.
struct Promise {
  double metadata, hottest;  // writes a row
};
Promise promise() {
  std::ifstream file(LUNAR_README);
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  std::smatch found;
  const std::regex sentence(R"(less than one row in (\d+),[^.]*more\s+often than for one row in (\d+))");
  if (!std::regex_search(readme, found, sentence)) return {};
  return {1 / std::stod(found[1]), 1 / std::stod(found[2])};
}

struct Logger {
  const char* name;
  std::uint64_t ring_rows;
  std::uint32_t counters;  // rows that are updated in turn; 0: rows are inserted
  std::size_t buffer_bytes;
  lunar_index index = LUNAR_INDEX_HASH;
};
void PrintTo(const Logger& logger, std::ostream* to) { *to << logger.name << ", " << logger.buffer_bytes; }

class Wear : public testing::TestWithParam<Logger> {};

TEST_P(Wear, is_spread) {
  const Logger& logger = GetParam();
  const std::int64_t rows = one_in(4) == 1 ? 604'800 : 60'000;  // a week at 1 Hz
  emubd device;
  lunar_config config{};
  ASSERT_EQ(emubd_open(&device, 512, logger.ring_rows || logger.counters ? 32768 : 262144), 0);
  device.careless = 1;
  emubd_config(&device, &config);
  std::vector<std::uint64_t> buffer(logger.buffer_bytes / 8);
  std::vector<std::uint32_t> counts(device.sector_count);
  written = &counts, write_through = config.write, config.write = counting_write;
  config.buffer = buffer.data(), config.buffer_bytes = logger.buffer_bytes, config.mode = LUNAR_MODE_FULL;
  lunar db;
  lunar_table table;
  ASSERT_EQ(lunar_format(&config), 0);
  ASSERT_EQ(lunar_mount(&db, &config), 0);
  lunar_schema schema{};
  schema.column_count = 3, schema.index = logger.index;
  schema.ring = logger.ring_rows ? LUNAR_RING_ROWS : LUNAR_RING_NONE, schema.ring_limit = logger.ring_rows;
  std::strcpy(schema.columns[0].name, "time"), schema.columns[0].type = LUNAR_INT64;
  std::strcpy(schema.columns[1].name, "value"), schema.columns[1].type = LUNAR_REAL;
  std::strcpy(schema.columns[2].name, "text"), schema.columns[2].type = LUNAR_TEXT;
  ASSERT_EQ(lunar_table_create(&db, "log", &schema), 0);
  ASSERT_EQ(lunar_table_open(&db, "log", &table), 0);
  const std::string content(20, 'x');
  lunar_value row[] = {integer(0), {}, text(content)};
  row[1].type = LUNAR_REAL;
  const auto insert = [&](std::int64_t key) {
    row[0].as.integer = key, row[1].as.real = static_cast<double>(key);
    return lunar_insert(&table, row);
  };
  for (std::int64_t key = 0; key < logger.counters; ++key) ASSERT_EQ(insert(key), 0);
  std::fill(counts.begin(), counts.end(), 0);
  for (std::int64_t i = 0; i < rows; ++i) {
    row[0].as.integer = i % std::max(1U, logger.counters), row[1].as.real = static_cast<double>(i);
    ASSERT_EQ(logger.counters ? lunar_update(&table, &row[0], 1, &row[1]) : insert(i), 0) << i;
  }
  const auto& g = db.geometry;
  const double sum = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  const auto hottest = std::max_element(counts.begin(), counts.end());
  const auto used =
      static_cast<double>(counts.size() - static_cast<std::size_t>(std::count(counts.begin(), counts.end(), 0U)));
  const auto metadata = std::accumulate(counts.begin() + g.root_at, counts.begin() + g.log_at, std::uint64_t{0});
  const double factor = *hottest / (sum / used);
  std::printf(
      "%-22s %6zu B: %.2f sectors a row, %.3f of them metadata; hottest sector %u (%s): %.1f times the mean of %.0f "
      "written sectors, %.0f times that of all\n",
      logger.name, logger.buffer_bytes, sum / static_cast<double>(rows),
      static_cast<double>(metadata) / static_cast<double>(rows), static_cast<unsigned>(hottest - counts.begin()),
      hottest - counts.begin() < g.log_at    ? "metadata"
      : hottest - counts.begin() < g.data_at ? "log"
                                             : "data",
      factor, used, *hottest / (sum / static_cast<double>(counts.size())));
  EXPECT_LE(static_cast<double>(metadata) / static_cast<double>(rows), promise().metadata);
  EXPECT_LE(*hottest / static_cast<double>(rows), promise().hottest * (rows > 100'000 ? 1 : 1.5));
  emubd_close(&device);
}

constexpr std::size_t least = LUNAR_BUFFER_BYTES_MIN(512);
INSTANTIATE_TEST_SUITE_P(Of, Wear,
                         testing::Values(Logger{"ring", 4000, 0, least}, Logger{"ring", 4000, 0, 4096},
                                         Logger{"ring", 4000, 0, 16384},
                                         Logger{"ring, tree", 4000, 0, least, LUNAR_INDEX_TREE},
                                         Logger{"ring, tree", 4000, 0, 4096, LUNAR_INDEX_TREE},
                                         Logger{"ring, tree", 4000, 0, 16384, LUNAR_INDEX_TREE},
                                         Logger{"counters", 0, 10, least}, Logger{"counters", 0, 10, 16384},
                                         Logger{"append", 0, 0, least}, Logger{"append", 0, 0, 16384},
                                         Logger{"append, tree", 0, 0, least, LUNAR_INDEX_TREE}));

}  // namespace
}  // namespace lunar_test
