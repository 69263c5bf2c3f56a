// A database under measurement: rows of equally wide columns under an integer key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

namespace lunar_bench {

struct BenchError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Shape {
  int columns = 1;
  int column_bytes = 4096;
  std::size_t row_bytes() const { return static_cast<std::size_t>(columns) * static_cast<std::size_t>(column_bytes); }
};

struct EngineOptions {
  std::string engine;  // lunar, sqlite, lmdb, raw
  std::string path;    // lunar, raw: a device or image; empty with lunar: the simulated card. Others: a folder
  std::string mode = "metadata";
  std::string load_mode = "data";  // lunar: of the rows that are there before the measurement
  std::size_t buffer_bytes = std::size_t{1} << 20;
  std::size_t query_cache_bytes = 0;  // lunar: beside buffer_bytes
  std::uint64_t card_bytes = std::uint64_t{256} << 20;
  std::uint32_t atomic_write_bytes = 512;
  bool page_cache = false;  // lunar: through it, not past it
  bool direct = false;      // sqlite: past it
  std::string journal = "truncate";
  std::string synchronous = "full";
  int raw_writes = 1;
};

// What an engine counted by itself, since it was created.
struct OwnCounts {
  std::uint64_t writes = 0, flushes = 0, bytes_written = 0, log_bytes = 0, reads = 0, bytes_read = 0;
  double card_s = 0, card_j = 0;  // of the simulated card
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual void create(const Shape& shape) = 0;
  // Instead of create: the rows of an earlier run are there.
  virtual void reopen(const Shape&) { throw BenchError("this engine cannot take the rows of an earlier run"); }
  // Inserts many rows, as fast as it goes, makes them durable, and is ready to be measured.
  virtual void load(std::int64_t from, std::int64_t to, const std::function<const char*()>& row) = 0;
  virtual void insert(std::int64_t key, const char* row) = 0;
  virtual void update(std::int64_t key, int column, const char* bytes) = 0;
  virtual void read(std::int64_t key) = 0;
  virtual void sync() { throw BenchError("no sync of this engine's own"); }
  virtual void close() = 0;  // everything durable and at rest
  virtual OwnCounts own_counts() const { return {}; }
  // First sectors of the device's parts, where the engine has a device to itself.
  virtual std::map<std::string, std::uint32_t> zones() const { return {}; }
};

std::unique_ptr<Engine> open_lunar(const EngineOptions& options);
std::unique_ptr<Engine> open_sqlite(const EngineOptions& options);
std::unique_ptr<Engine> open_lmdb(const EngineOptions& options);
std::unique_ptr<Engine> open_raw(const EngineOptions& options);

}  // namespace lunar_bench
