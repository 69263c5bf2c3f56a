#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "card.h"
#include "counted_device.h"
#include "emubd.h"
#include "engine.h"
#include "lunar.h"
#include "posix.h"

namespace lunar_bench {
namespace {

void must(int error, const char* what) {
  if (error != 0) throw BenchError(std::string("lunar: ") + what + ": " + lunar_error_text(error));
}

lunar_mode mode_of(const std::string& name) {
  static const std::map<std::string, lunar_mode> modes{{"none", LUNAR_MODE_NONE},
                                                       {"disorder", LUNAR_MODE_DISORDER},
                                                       {"metadata", LUNAR_MODE_METADATA},
                                                       {"data", LUNAR_MODE_DATA},
                                                       {"full", LUNAR_MODE_FULL}};
  const auto found = modes.find(name);
  if (found == modes.end()) throw BenchError("lunar: no mode " + name);
  return found->second;
}

lunar_index index_of(const std::string& name) { return name == "tree" ? LUNAR_INDEX_TREE : LUNAR_INDEX_HASH; }

lunar_value integer(std::int64_t integer) {
  lunar_value value{};
  value.type = LUNAR_INT64, value.as.integer = integer;
  return value;
}

class Lunar : public Engine {
 public:
  explicit Lunar(const EngineOptions& options)
      : options_(options),
        counted_(&device_),
        buffer_(options.buffer_bytes / sizeof(std::uint64_t)),
        query_cache_rows_(options.query_cache_bytes / sizeof(std::uint64_t)) {
    device_.sector_bytes = 512;
    if (options.path.empty()) {
      open_card();
    } else if (const int error = lunar_posix_open(&posix_, &device_, options.path.c_str(), !options.page_cache)) {
      throw BenchError(options.path + ": " + std::strerror(error));
    }
    counted_.attach(&config_);
    config_.buffer = buffer_.data(), config_.buffer_bytes = options.buffer_bytes;
    config_.atomic_write_bytes = options.atomic_write_bytes;
    config_.mode = mode_of(options.mode);
  }

  ~Lunar() override {
    if (options_.path.empty()) {
      emubd_close(&emubd_);
    } else {
      lunar_posix_close(&posix_);
    }
  }
  Lunar(const Lunar&) = delete;
  Lunar& operator=(const Lunar&) = delete;

  void create(const Shape& shape) override {
    shaped(shape);
    must(lunar_format(&config_), "format");
    mount(options_.mode);
    lunar_schema schema{};
    schema.column_count = static_cast<std::uint8_t>(shape.number(shape.columns));
    schema.index = static_cast<std::uint8_t>(index_of(options_.index));
    std::strcpy(schema.columns[0].name, "key");
    schema.columns[0].type = LUNAR_INT64;
    if (shape.integer) std::strcpy(schema.columns[1].name, "number"), schema.columns[1].type = LUNAR_INT64;
    for (int i = 0; i < shape.columns; ++i) {
      auto& column = schema.columns[shape.number(i)];
      std::snprintf(column.name, sizeof column.name, "c%d", i + 1);
      column.type = LUNAR_TEXT;
    }
    must(lunar_table_create(&db_, "rows", &schema), "create");
    open_table();
    must(lunar_checkpoint(&db_), "checkpoint");
  }

  void reopen(const Shape& shape) override {
    shaped(shape);
    mount(options_.mode);
    open_table();
  }

  void load(std::int64_t from, std::int64_t to, const std::function<const char*()>& row) override {
    remount(options_.load_mode);
    for (auto key = from; key < to; ++key) insert(key * shape_.key_step, row());
    remount(options_.mode);
  }

  void insert(std::int64_t key, const char* row) override {
    values_[0] = integer(key);
    if (shape_.integer) values_[1] = integer(integer_of(row));
    for (int i = 0; i < shape_.columns; ++i) {
      auto& value = values_[shape_.number(i)];
      value.type = LUNAR_TEXT, value.bytes = static_cast<std::uint32_t>(shape_.column_bytes);
      value.as.data = row + shape_.begin(i);
    }
    must(lunar_insert(&table_, values_), "insert");
  }

  void update(std::int64_t key, int column, const char* bytes) override {
    const lunar_value k = integer(key);
    lunar_value v{};
    v.type = LUNAR_TEXT, v.bytes = static_cast<std::uint32_t>(shape_.column_bytes), v.as.data = bytes;
    must(lunar_update(&table_, &k, static_cast<std::uint8_t>(shape_.number(column)), &v), "update");
  }

  void read(std::int64_t key) override {
    const lunar_value k = integer(key);
    must(lunar_get(&table_, &k, row_.data(), row_.size(), values_), "get");
  }

  void remove(std::int64_t key) override {
    const lunar_value k = integer(key);
    must(lunar_remove(&table_, &k), "remove");
  }

  void remove_from(std::int64_t key) override {
    remount(options_.load_mode);
    each_row([&] {
      if (values_[0].as.integer >= key) must(lunar_remove(&table_, &values_[0]), "remove");
    });
    remount(options_.mode);
  }

  std::int64_t scan() override {
    std::int64_t rows = 0;
    each_row([&] { ++rows; });
    return rows;
  }

  void check() override {
    lunar_findings found{};
    must(lunar_check(&db_, &found), "check");
  }

  void create_index() override {
    must(lunar_index_create(&db_, "rows", "by number", 1, static_cast<std::uint8_t>(index_of(options_.index))),
         "index");
  }
  void drop_index() override { must(lunar_index_drop(&db_, "by number"), "drop of the index"); }

  void resize(int column_bytes) override {
    shape_.column_bytes = column_bytes;
    shaped(shape_);
  }

  Room room() override {
    lunar_statistics stat{};
    must(lunar_stat(&db_, &stat), "stat");
    return {std::uint64_t{stat.chunks_used} * stat.chunk_bytes, stat.data_bytes};
  }

  void cut() override {}
  void sync() override { must(lunar_sync(&db_), "sync"); }

  void close() override {
    must(lunar_checkpoint(&db_), "checkpoint");  // at rest: in place, not in the log
    must(lunar_unmount(&db_), "unmount");
  }

  OwnCounts own_counts() const override {
    OwnCounts counts;
    counts.reads = counted_.reads, counts.bytes_read = counted_.sectors_read * config_.sector_bytes;
    counts.writes = counted_.writes, counts.flushes = counted_.flushes;
    counts.bytes_written = counted_.sectors_written * config_.sector_bytes;
    counts.log_bytes = counted_.log_sectors_written * config_.sector_bytes;
    counts.card_s = card_.time_ns * 1e-9, counts.card_j = card_energy_j(&card_);
    return counts;
  }

  std::map<std::string, std::uint32_t> zones() const override {
    const auto& at = db_.geometry;
    return {{"SUPER", 0},       {"ROOT", at.root_at}, {"META", at.meta_at},
            {"map", at.map_at}, {"LOG", at.log_at},   {"DATA", at.data_at}};
  }

 private:
  void shaped(const Shape& shape) {
    shape_ = shape;
    row_.resize(shape.row_bytes() + 80 + 4 * static_cast<std::size_t>(shape.columns));
  }

  template <class Row>
  void each_row(Row row) {
    lunar_cursor cursor;
    must(lunar_cursor_open(&cursor, &table_, nullptr, nullptr, 0), "cursor");
    int error = 0;
    while ((error = lunar_cursor_next(&cursor, row_.data(), row_.size(), values_)) == 0) row();
    if (error != LUNAR_E_NOT_FOUND) must(error, "next");
  }

  void open_card() {
    if (emubd_open(&emubd_, 512, static_cast<std::uint32_t>(options_.card_bytes / 512)) != 0) throw std::bad_alloc();
    card_start(&card_, &card_sandisk_ultra);
    emubd_.card = &card_, emubd_.careless = 1;
    emubd_config(&emubd_, &device_);
  }

  void mount(const std::string& mode) {
    config_.mode = mode_of(mode);
    must(lunar_mount(&db_, &config_), "mount");
    counted_.log_at = db_.geometry.log_at, counted_.log_sectors = db_.geometry.log_sectors;
  }

  void open_table() {
    must(lunar_table_open(&db_, "rows", &table_), "open");
    if (options_.query_cache_bytes == 0) return;
    // As lunar_get has a row: NULL bits, the key, and each column behind its size.
    const auto row_bytes = static_cast<std::uint32_t>(2 + 8 + shape_.columns * (2 + shape_.column_bytes));
    must(lunar_cache_open(&table_, &query_cache_, query_cache_rows_.data(), options_.query_cache_bytes, row_bytes),
         "query cache");
  }

  void remount(const std::string& mode) {
    must(lunar_unmount(&db_), "unmount");
    mount(mode);
    open_table();
  }

  EngineOptions options_;
  lunar_config device_{}, config_{};
  CountedDevice counted_;
  lunar_posix posix_{};
  emubd emubd_{};
  card card_{};
  std::vector<std::uint64_t> buffer_, query_cache_rows_;
  lunar db_{};
  lunar_table table_{};
  lunar_cache query_cache_{};
  Shape shape_;
  lunar_value values_[LUNAR_COLUMNS_MAX]{};
  std::vector<char> row_;
};

}  // namespace

std::unique_ptr<Engine> open_lunar(const EngineOptions& options) { return std::make_unique<Lunar>(options); }

}  // namespace lunar_bench
