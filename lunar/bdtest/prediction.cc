#include "prediction.h"

#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "emubd.h"

namespace bdtest {
namespace {

void must(int error, const char* what) {
  if (error != 0) throw std::runtime_error(std::string(what) + ": " + lunar_error_text(error));
}

class Volume {
 public:
  Volume(const card_parameters& parameters, const Workload& workload) : buffer_(workload.buffer_bytes / 8 + 1) {
    const std::uint64_t rows = std::uint64_t{workload.rows} + workload.kept;
    const std::uint64_t bytes = (std::uint64_t{8} << 20) + 2 * rows * (workload.row_bytes + 100U);
    if (emubd_open(&device_, 512, static_cast<std::uint32_t>(bytes / 512)) != 0) throw std::bad_alloc();
    card_start(&card, &parameters);
    device_.card = &card, device_.careless = 1;
    emubd_config(&device_, &config_);
    config_.buffer = buffer_.data(), config_.buffer_bytes = workload.buffer_bytes, config_.mode = workload.mode;
  }
  ~Volume() { emubd_close(&device_); }
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  void make() {
    lunar_schema schema{};
    schema.column_count = 2;
    std::strcpy(schema.columns[0].name, "key");
    std::strcpy(schema.columns[1].name, "bytes");
    schema.columns[0].type = LUNAR_INT64, schema.columns[1].type = LUNAR_BLOB;
    must(lunar_format(&config_), "format");
    must(lunar_mount(&db_, &config_), "mount");
    must(lunar_table_create(&db_, "rows", &schema), "create");
    must(lunar_table_open(&db_, "rows", &table_), "open");
  }
  void insert(std::int64_t key, const std::vector<char>& row) {
    const lunar_value values[2] = {integer(key), blob(row)};
    must(lunar_insert(&table_, values), "insert");
  }
  void update(std::int64_t key, const std::vector<char>& row) {
    const lunar_value k = integer(key), v = blob(row);
    must(lunar_update(&table_, &k, 1, &v), "update");
  }
  void checkpoint() { must(lunar_checkpoint(&db_), "checkpoint"); }

  ::card card{};

 private:
  static lunar_value integer(std::int64_t key) {
    lunar_value value{};
    value.type = LUNAR_INT64, value.as.integer = key;
    return value;
  }
  static lunar_value blob(const std::vector<char>& row) {
    lunar_value value{};
    value.type = LUNAR_BLOB, value.bytes = static_cast<std::uint32_t>(row.size()), value.as.data = row.data();
    return value;
  }
  emubd device_{};
  std::vector<std::uint64_t> buffer_;
  lunar_config config_{};
  lunar db_{};
  lunar_table table_{};
};

}  // namespace

Prediction predict(const card_parameters& parameters, const Workload& workload) {
  const auto volume = std::make_unique<Volume>(parameters, workload);
  volume->make();
  std::mt19937_64 random(1);
  std::vector<char> row(workload.row_bytes, 'x');
  std::int64_t keys = 0;
  for (; keys < workload.kept; ++keys) volume->insert(keys, row);
  volume->checkpoint();
  const ::card before = volume->card;
  for (std::uint32_t i = 0; i < workload.rows; ++i) {
    if (keys > 0 && static_cast<double>(random() % 1000) < workload.updates * 1000)
      volume->update(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(keys)), row);
    else
      volume->insert(keys++, row);
  }
  volume->checkpoint();
  const ::card& after = volume->card;
  const double rows = workload.rows;
  return {rows / ((after.time_ns - before.time_ns) * 1e-9), (card_energy_j(&after) - card_energy_j(&before)) / rows,
          static_cast<double>((after.pages_written - before.pages_written) * parameters.page_bytes) / rows,
          static_cast<double>(after.flushes - before.flushes) / rows};
}

double card_years(const Prediction& prediction, double rows_per_day, double endurance_bytes) {
  return endurance_bytes / (prediction.card_bytes_per_row * rows_per_day) / 365.25;
}

}  // namespace bdtest
