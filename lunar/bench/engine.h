// A database under measurement: rows of equally wide columns under an integer key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
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
  bool integer = false;       // a column before them, in the row's first eight bytes
  std::int64_t key_step = 1;  // from one loaded row to the next
  std::size_t integer_bytes() const { return integer ? sizeof(std::int64_t) : 0; }
  std::size_t begin(int column) const {
    return integer_bytes() + static_cast<std::size_t>(column) * static_cast<std::size_t>(column_bytes);
  }
  std::size_t row_bytes() const { return begin(columns); }
  int number(int column) const { return column + 1 + static_cast<int>(integer); }  // in the table, behind the key
};

inline std::int64_t integer_of(const char* row) {
  std::int64_t integer = 0;
  std::memcpy(&integer, row, sizeof integer);
  return integer;
}

struct EngineOptions {
  std::string engine;  // lunar, sqlite, lmdb, raw
  std::string path;    // lunar, raw: a device or image; empty with lunar: the simulated card. Others: a folder
  std::string mode = "metadata";
  std::string index = "hash";      // lunar: of the key
  std::string load_mode = "data";  // lunar: of the rows that are there before the measurement
  std::size_t buffer_bytes = std::size_t{1} << 20;
  std::size_t query_cache_bytes = 0;  // lunar: beside buffer_bytes
  std::uint64_t card_bytes = std::uint64_t{256} << 20;
  std::uint32_t atomic_write_bytes = 512;
  bool page_cache = false;  // lunar: through it, not past it
  bool direct = false;      // sqlite: past it
  std::string journal = "truncate";
  std::string synchronous = "full";
  std::string auto_vacuum = "none";
  int raw_writes = 1;
};

// What a database takes of its device for rows and indexes, free places inside included, logs not.
struct Room {
  std::uint64_t used = 0;
  std::uint64_t all = 0;  // 0: it grows as needed
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
  virtual void sync() { lacks("sync"); }
  virtual void close() = 0;  // everything durable and at rest
  // Instead of close: all is as after a power cut at this moment.
  virtual void cut() { lacks("cut"); }
  virtual void remove(std::int64_t) { lacks("remove"); }
  virtual void remove_from(std::int64_t) { lacks("removal of many rows"); }  // keys from this one on, in one go
  virtual std::int64_t scan() { lacks("scan"); }                             // reads all rows; their number
  virtual bool has_check() const { return true; }
  virtual void check() { lacks("check"); }
  virtual void create_index() { lacks("index"); }  // of the integer
  virtual void drop_index() { lacks("index"); }
  virtual void resize(int) { lacks("rows of several sizes"); }  // bytes of the columns of the next rows
  virtual Room room() { lacks("report of its room"); }
  virtual OwnCounts own_counts() const { return {}; }
  // First sectors of the device's parts, where the engine has a device to itself.
  virtual std::map<std::string, std::uint32_t> zones() const { return {}; }

 protected:
  [[noreturn]] static void lacks(const char* what) { throw BenchError(std::string("this engine has no ") + what); }
};

std::unique_ptr<Engine> open_lunar(const EngineOptions& options);
std::unique_ptr<Engine> open_sqlite(const EngineOptions& options);
std::unique_ptr<Engine> open_lmdb(const EngineOptions& options);
std::unique_ptr<Engine> open_raw(const EngineOptions& options);

}  // namespace lunar_bench
