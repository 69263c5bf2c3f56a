// Models a RocksDB database's compactions and stalls: level 0 in files, deeper levels in bytes and entries, uniformly
// drawn keys, leveled compaction. Not modelled: compactions within level 0, limits on pending bytes, storage.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "spec.h"

namespace eco::sim {

struct Amount {
  double bytes = 0, entries = 0;

  Amount& operator+=(const Amount& other) { return bytes += other.bytes, entries += other.entries, *this; }
  Amount& operator-=(const Amount& other) { return bytes -= other.bytes, entries -= other.entries, *this; }
  [[nodiscard]] Amount part(double share) const { return {bytes * share, entries * share}; }
};

struct Compaction {
  std::size_t level = 0;    // compacted into the next
  double files = 0;         // level 0 files
  Amount upper{}, lower{};  // inputs of this and the next level
  Amount output{};

  [[nodiscard]] Amount inputs() const { return {upper.bytes + lower.bytes, upper.entries + lower.entries}; }
};

class Database {
 public:
  // keys: size of the key space.
  Database(const DatabaseOptions& options, double keys);

  void add_file(const Amount& file);
  // Returns the next compaction. Level 0 has one at a time until it is installed, because it takes all of level 1.
  [[nodiscard]] std::optional<Compaction> pick();
  void install(const Compaction& compaction);

  [[nodiscard]] double level0_files() const { return files_; }
  [[nodiscard]] std::size_t running() const { return running_; }
  // Number of compactions, as RocksDB limits it: one at a time unless level 0 grows.
  [[nodiscard]] std::size_t running_max() const;
  // RocksDB's estimate of the bytes to compact until all levels have their target size.
  [[nodiscard]] double bytes_needed() const;
  [[nodiscard]] const Amount& level(std::size_t i) const { return levels_[i]; }

 private:
  static constexpr std::size_t depth = 7;
  [[nodiscard]] double target(std::size_t level) const;
  [[nodiscard]] double score(std::size_t level) const;
  [[nodiscard]] bool free(std::size_t level) const;
  [[nodiscard]] Compaction inputs_of(std::size_t level) const;
  [[nodiscard]] double united(double a, double b, double keys) const;

  DatabaseOptions options_;
  double keys_, files_ = 0;
  std::array<Amount, depth> levels_, busy_;
  std::array<std::size_t, depth> compacting_{};
  std::size_t running_ = 0;
};

// Delays and stops writes by RocksDB's triggers, at the delayed rate that RocksDB derives.
class WriteController {
 public:
  explicit WriteController(const DatabaseOptions& options) : options_(options), rate_(options.delayed_write_rate) {}

  void observe(const Database& database);
  [[nodiscard]] bool stopped() const { return state_ == State::stopped; }
  [[nodiscard]] bool delayed() const { return state_ == State::delayed; }
  [[nodiscard]] double delayed_rate() const { return rate_; }

 private:
  enum class State : std::uint8_t { free, delayed, stopped };
  DatabaseOptions options_;
  State state_ = State::free;
  double rate_, needed_ = 0;
};

}  // namespace eco::sim
