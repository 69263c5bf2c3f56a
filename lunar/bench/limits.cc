#include "limits.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "emubd.h"
#include "engine.h"
#include "lunar.h"
#include "process.h"

namespace lunar_bench {
namespace {

void must(int error) {
  if (error != 0) throw BenchError(std::string("lunar: ") + lunar_error_text(error));
}

// A table in a tree on a device in memory.
class Volume {
 public:
  Volume(std::uint32_t megabytes, std::size_t buffer_bytes) : buffer_(buffer_bytes / 8) {
    if (emubd_open(&device, 512, megabytes * 2048) != 0) throw std::bad_alloc();
    device.careless = 1;
    emubd_config(&device, &config_);
    config_.buffer = buffer_.data(), config_.buffer_bytes = buffer_bytes, config_.mode = LUNAR_MODE_DATA;
    must(lunar_format(&config_));
    must(lunar_mount(&db, &config_));
    lunar_schema schema{};
    schema.column_count = 2, schema.index = LUNAR_INDEX_TREE;
    std::strcpy(schema.columns[0].name, "key"), schema.columns[0].type = LUNAR_INT64;
    std::strcpy(schema.columns[1].name, "content"), schema.columns[1].type = LUNAR_TEXT;
    must(lunar_table_create(&db, "t", &schema));
    must(lunar_table_open(&db, "t", &table_));
  }
  ~Volume() { emubd_close(&device); }
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  int insert(const std::string& content) {
    lunar_value row[2]{};
    row[0].type = LUNAR_INT64, row[0].as.integer = key_++;
    row[1].type = LUNAR_TEXT, row[1].bytes = static_cast<std::uint32_t>(content.size()),
    row[1].as.data = content.data();
    return lunar_insert(&table_, row);
  }

  emubd device{};
  lunar db{};

 private:
  lunar_config config_{};
  lunar_table table_{};
  std::vector<std::uint64_t> buffer_;
  std::int64_t key_ = 0;
};

}  // namespace

nlohmann::json refused(std::uint32_t megabytes) {
  Volume volume(megabytes, LUNAR_BUFFER_BYTES_MIN(512));
  const std::string content(3000, 'x');
  int error = 0;
  while (error == 0) error = volume.insert(content);
  if (error != LUNAR_E_FULL) must(error);
  std::uint64_t sum = 0, most = 0;
  constexpr int calls = 10;
  for (int i = 0; i < calls; ++i) {
    const auto before = volume.device.reads + volume.device.writes;
    if (volume.insert(content) != LUNAR_E_FULL) throw BenchError("lunar: a full volume takes a row");
    const auto requests = volume.device.reads + volume.device.writes - before;
    sum += requests, most = std::max(most, requests);
  }
  return {{"mean", static_cast<double>(sum) / calls}, {"most", most}};
}

nlohmann::json idle(std::size_t buffer_bytes) {
  Volume volume(256, buffer_bytes);
  const std::string content(200, 'x');
  for (std::size_t bytes = 0; bytes < 2 * buffer_bytes; bytes += content.size()) must(volume.insert(content));
  must(lunar_sync(&volume.db));
  constexpr int calls = 1'000'000;
  const double cpu = cpu_s();
  for (int i = 0; i < calls; ++i) must(lunar_sync(&volume.db));
  return {{"cpu_us", (cpu_s() - cpu) / calls * 1e6}};
}

}  // namespace lunar_bench
