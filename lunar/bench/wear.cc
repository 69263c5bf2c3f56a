#include "wear.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "emubd.h"

namespace lunar_bench {
namespace {

// A device that counts the writes of each sector.
class Counted {
 public:
  explicit Counted(std::uint32_t sectors) : counts(sectors) {
    if (emubd_open(&device_, 512, sectors) != 0) throw std::bad_alloc();
    device_.careless = 1;
    emubd_config(&device_, &config);
    inner_ = config;
    config.context = this, config.read = read, config.write = write, config.sync = sync;
  }
  ~Counted() { emubd_close(&device_); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  lunar_config config{};
  std::vector<std::uint32_t> counts;

 private:
  static Counted& of(const lunar_config* c) { return *static_cast<Counted*>(c->context); }
  static int read(const lunar_config* c, std::uint32_t sector, void* data, std::uint32_t count) {
    return of(c).inner_.read(&of(c).inner_, sector, data, count);
  }
  static int write(const lunar_config* c, std::uint32_t sector, const void* data, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) ++of(c).counts.at(sector + i);
    return of(c).inner_.write(&of(c).inner_, sector, data, count);
  }
  static int sync(const lunar_config* c) { return of(c).inner_.sync(&of(c).inner_); }

  emubd device_{};
  lunar_config inner_{};
};

void must(int error) {
  if (error != 0) throw std::runtime_error(std::string("lunar: ") + lunar_error_text(error));
}

}  // namespace

nlohmann::json wear(const Logging& logging) {
  const std::uint32_t usual = logging.ring_rows != 0 || logging.counters != 0 ? 32'768 : 262'144;
  Counted device(logging.sectors != 0 ? logging.sectors : usual);
  std::vector<std::uint64_t> buffer(logging.buffer_bytes / 8);
  device.config.buffer = buffer.data(), device.config.buffer_bytes = logging.buffer_bytes;
  device.config.mode = logging.mode;
  lunar db;
  lunar_table table;
  must(lunar_format(&device.config));
  must(lunar_mount(&db, &device.config));
  lunar_schema schema{};
  schema.column_count = 3, schema.index = static_cast<std::uint8_t>(logging.index);
  schema.ring = logging.ring_rows != 0 ? LUNAR_RING_ROWS : LUNAR_RING_NONE, schema.ring_limit = logging.ring_rows;
  std::strcpy(schema.columns[0].name, "time"), schema.columns[0].type = LUNAR_INT64;
  std::strcpy(schema.columns[1].name, "value"), schema.columns[1].type = LUNAR_REAL;
  std::strcpy(schema.columns[2].name, "text"), schema.columns[2].type = LUNAR_TEXT;
  must(lunar_table_create(&db, "log", &schema));
  must(lunar_table_open(&db, "log", &table));
  lunar_value row[3] = {};
  row[0].type = LUNAR_INT64, row[1].type = LUNAR_REAL, row[2].type = LUNAR_TEXT;
  const std::string content(logging.text_bytes, 'x');
  row[2].as.data = content.data(), row[2].bytes = logging.text_bytes;
  for (row[0].as.integer = 0; row[0].as.integer < logging.counters; ++row[0].as.integer)
    must(lunar_insert(&table, row));
  std::fill(device.counts.begin(), device.counts.end(), 0);
  for (std::int64_t i = 0; i < logging.rows; ++i) {
    row[0].as.integer = logging.counters != 0 ? i % logging.counters : i;
    row[1].as.real = static_cast<double>(i);
    must(logging.counters != 0 ? lunar_update(&table, &row[0], 1, &row[1]) : lunar_insert(&table, row));
  }

  const auto& counts = device.counts;
  const auto& g = db.geometry;
  const auto rows = static_cast<double>(logging.rows);
  const auto sum = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  const auto metadata = std::accumulate(counts.begin() + g.root_at, counts.begin() + g.log_at, std::uint64_t{0});
  const auto written = std::count_if(counts.begin(), counts.end(), [](std::uint32_t count) { return count != 0; });
  const auto hottest = std::max_element(counts.begin(), counts.end());
  const auto at = hottest - counts.begin();
  const double most = *hottest;
  return {{"sectors_a_row", sum / rows},
          {"metadata_a_row", static_cast<double>(metadata) / rows},
          {"hottest_a_row", most / rows},
          {"hottest_zone", at < g.log_at    ? "metadata"
                           : at < g.data_at ? "log"
                                            : "data"},
          {"hottest_by_mean_of_written", most * static_cast<double>(written) / sum},
          {"hottest_by_mean_of_all", most * static_cast<double>(counts.size()) / sum}};
}

}  // namespace lunar_bench
