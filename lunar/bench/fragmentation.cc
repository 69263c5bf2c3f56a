#include "fragmentation.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "block_walk.h"
#include "engine.h"
#include "posix.h"

namespace lunar_bench {
namespace {

constexpr int row_bytes = 850;             // with headers, four fill a block of 4 KB
constexpr std::uint32_t unit_sectors = 8;  // 4 KB

void must(int error, const char* what) {
  if (error != 0) throw BenchError(std::string("lunar: ") + what + ": " + lunar_error_text(error));
}

struct Table {
  std::string name;
  std::uint64_t payload;
};

// Agrawal et al., FAST '09: of the pieces of a file behind its first one, the share that lies right behind the piece
// before it.
struct Layout {
  std::uint64_t blocks = 0, blocks_behind = 0;  // pieces: blocks as they were allocated
  std::uint64_t units = 0, units_behind = 0;    // pieces: 4 KB, as a file system's blocks
  std::uint64_t bytes = 0;                      // of all blocks
  std::uint32_t end = 0;                        // of the table's last block; 0 before its first

  void add(std::uint32_t sector, std::uint32_t sectors) {
    const bool behind = sector == end, first = end == 0;
    blocks += !first, blocks_behind += behind;
    const auto pieces = (sectors + unit_sectors - 1) / unit_sectors;
    units += pieces - first, units_behind += pieces - 1 + behind;
    bytes += std::uint64_t{sectors} * 512;
    end = sector + sectors;
  }
};

class Volume {
 public:
  explicit Volume(const Aging& aging) : memory_(memfd_create("lunar-aging", 0)), buffer_(1 << 17) {
    if (memory_ < 0 || ftruncate(memory_, static_cast<off_t>(aging.volume_bytes)) != 0) throw BenchError("no memory");
    config_.sector_bytes = 512;
    const std::string path = "/proc/self/fd/" + std::to_string(memory_);
    if (lunar_posix_open(&posix_, &config_, path.c_str(), 0) != 0) throw BenchError(path + ": cannot be opened");
    config_.buffer = buffer_.data(), config_.buffer_bytes = buffer_.size() * 8;
    config_.mode = LUNAR_MODE_METADATA, config_.tables_max = 8000;
    if (aging.fixed) config_.class_growth = 1, config_.class_bytes_max = 4096;
    must(lunar_format(&config_), "format");
    must(lunar_mount(&db_, &config_), "mount");
  }
  ~Volume() {
    lunar_posix_close(&posix_);
    close(memory_);
  }
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  // False, and nothing of the table is there, when the volume is full.
  bool create(const std::string& name, std::int64_t rows) {
    lunar_schema schema{};
    schema.column_count = 2;
    std::snprintf(schema.columns[0].name, sizeof schema.columns[0].name, "key");
    schema.columns[0].type = LUNAR_INT64;
    std::snprintf(schema.columns[1].name, sizeof schema.columns[1].name, "bytes");
    schema.columns[1].type = LUNAR_BLOB;
    const int error = lunar_table_create(&db_, name.c_str(), &schema);
    if (error == LUNAR_E_FULL) return false;
    must(error, "create");
    if (fill(name, rows)) return true;
    drop(name);
    return false;
  }
  void drop(const std::string& name) { must(lunar_table_drop(&db_, name.c_str()), "drop"); }

 private:
  bool fill(const std::string& name, std::int64_t rows) {
    lunar_table table{};
    must(lunar_table_open(&db_, name.c_str(), &table), "open");
    static const std::string row(row_bytes, 'x');
    for (std::int64_t key = 0; key < rows; ++key) {
      lunar_value values[2]{};
      values[0].type = LUNAR_INT64, values[0].as.integer = key;
      values[1].type = LUNAR_BLOB, values[1].bytes = row_bytes, values[1].as.data = row.data();
      const int error = lunar_insert(&table, values);
      if (error == LUNAR_E_FULL) return false;
      must(error, "insert");
    }
    return true;
  }

 public:
  void add_layout(const std::string& name, Layout& layout) {
    lunar_table table{};
    must(lunar_table_open(&db_, name.c_str(), &table), "open");
    layout.end = 0;
    must(
        lunar_block_walk(
            &table,
            [](void* l, std::uint32_t sector, std::uint32_t sectors) { static_cast<Layout*>(l)->add(sector, sectors); },
            &layout),
        "walk");
  }
  std::uint64_t data_bytes() const {
    return std::uint64_t{db_.geometry.chunk_count} * db_.geometry.chunk_sectors * 512;
  }
  std::uint64_t free_bytes() const { return std::uint64_t{db_.chunks_free} * db_.geometry.chunk_sectors * 512; }
  void checkpoint() { must(lunar_checkpoint(&db_), "checkpoint"); }

 private:
  int memory_;
  std::vector<std::uint64_t> buffer_;
  lunar_config config_{};
  lunar_posix posix_{};
  lunar db_{};
};

}  // namespace

nlohmann::json age(const Aging& aging) {
  const auto start = std::chrono::steady_clock::now();
  std::mt19937_64 random(aging.seed);
  Volume volume(aging);
  std::vector<Table> tables;
  std::uint64_t written = 0, live = 0, live_most = 0, number = 0, full = 0;
  const auto limit = static_cast<std::uint64_t>(aging.full * static_cast<double>(volume.data_bytes()));
  const auto drop_one = [&] {
    const auto i = random() % tables.size();
    volume.drop(tables[i].name);
    live -= tables[i].payload;
    tables[i] = tables.back();
    tables.pop_back();
  };
  while (written < aging.written_bytes) {
    const std::uint64_t payload = 8192 + random() % (504 * 1024);
    while (live + payload > limit) drop_one();
    const auto rows = static_cast<std::int64_t>((payload + row_bytes - 1) / row_bytes);
    const Table table{std::to_string(number++), static_cast<std::uint64_t>(rows) * row_bytes};
    written += table.payload;
    if (!volume.create(table.name, rows)) {
      full++;
      drop_one();
      continue;
    }
    tables.push_back(table);
    live += table.payload;
    live_most = std::max(live_most, live);
  }
  volume.checkpoint();
  Layout layout;
  for (const auto& table : tables) volume.add_layout(table.name, layout);
  const auto share = [](std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  return {{"fixed", aging.fixed},
          {"tables_created", number},
          {"tables", tables.size()},
          {"times_full", full},
          {"payload_share_most", share(live_most, volume.data_bytes())},
          {"payload_bytes", live},
          {"block_bytes", layout.bytes},
          {"wasted_share", share(layout.bytes - live, layout.bytes)},
          {"volume_bytes", volume.data_bytes()},
          {"volume_free_bytes", volume.free_bytes()},
          {"layout_score_4k", share(layout.units_behind, layout.units)},
          {"layout_score_blocks", share(layout.blocks_behind, layout.blocks)},
          {"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}};
}

}  // namespace lunar_bench
