// A volume on a simulated device beside a model of its expected content. Everything random comes from one seed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "emubd.h"
#include "lunar.h"

namespace lunar_test {

struct Row {
  std::string text;
  std::int32_t number;
  std::uint64_t age = 0;  // rises with every version; not compared
  bool operator==(const Row& other) const { return text == other.text && number == other.number; }
};
using State = std::map<std::int64_t, Row>;
inline constexpr std::int64_t other_table = -1;  // this key is present if a second table exists
inline constexpr std::int64_t other_index = -2;  // and this one if a further index exists
inline std::size_t rows_of(const State& state) {
  return state.size() - state.count(other_table) - state.count(other_index);
}

struct Options {
  lunar_mode mode = LUNAR_MODE_FULL;
  std::uint32_t sectors = 256;
  std::uint32_t sector_bytes = 512;
  std::size_t buffer_bytes = LUNAR_BUFFER_BYTES_MIN(512);
  std::uint32_t log_bytes = 0;
  std::uint32_t keys = 24;
  std::uint32_t text_bytes_max = 1500;
  bool device_ignores_sync = false;
  lunar_index index = LUNAR_INDEX_HASH;
  bool atomic_sectors = false;  // the device declares that it writes a sector wholly or not at all
  std::uint32_t ring_rows = 0;  // a ring of that many rows; 0: no ring
  bool checksums = false;       // of rows
  // Minimum number of secondary indexes, in this order: a tree by number, a hash index, a tree by text. With any of
  // them the numbers have few values, and 0 is stored as NULL.
  std::uint32_t secondary = 0;
  std::uint32_t first_rows = 0;  // rows before the first step
  std::uint32_t volume_seed = 0;
  std::uint32_t spills_max = 0;  // not 0: a third of the steps are transactions of 2 to this many spills
  bool statements = false;       // half of the steps are SQL statements that change many rows
  bool truncations = false;      // and some of these remove all rows
  bool skip_unreadable = false;  // of mounts
  bool compactions = false;      // some have a LIMIT, and a sixth of the steps moves rows out of sparse blocks
};

struct Setting {
  const char* name;
  Options options;
};

class World {
 public:
  World(const Options& options, std::uint64_t seed);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Runs one random operation. Returns 0, also for an error that the operation may have, or its unexpected error.
  int step();
  int sync();
  int checkpoint();
  int unmount();
  int mount();
  // Reads the whole table, by key and by cursor; nullopt if a read failed or the two differ.
  std::optional<State> read();
  // Cuts the power and restores it.
  void cut();
  // Returns whether the mode permits the state after a cut: the state at a moment since the last sync. Where updates
  // are written in place, any of the later updates may be present too, also in part.
  bool permitted(const State& state) const;
  // The same during an operation; `before` is the value of `since` at the operation's begin.
  bool permitted(const State& state, const std::vector<State>& before);
  // Continues the model from the state that the volume has after a cut.
  void go_on_from(const State& state);
  std::uint64_t image_hash() const;
  lunar_config& config() { return config_; }
  std::uint32_t random(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  lunar db{};
  lunar_table table{};
  emubd device{};
  State now;                 // after the last acknowledged operation
  std::vector<State> since;  // after each operation since the last sync, and after the pending one
  std::string did;           // the last operation as text

 private:
  int durable(int error);
  int insert(std::int64_t key, const Row& row);
  int update_text(std::int64_t key, const std::string& text);
  int update_number(std::int64_t key, std::int32_t number);
  int remove(std::int64_t key);
  int toggle_other_table();
  int toggle_other_index();
  lunar_value number_value(std::int32_t number) const;
  bool read_by_indexes(State& state);
  bool reads(const char* index, const lunar_value* value, bool descending, const State& state,
             std::vector<std::int64_t> expected, bool ordered);
  int change_a_row();
  bool no_room(int error);
  int transaction();
  int long_transaction();
  int transaction_while(const std::function<bool()>& goes_on);
  int statement();
  int remove_all();
  int limited();
  int compaction();
  int run(const std::string& sql, const std::vector<lunar_value>& parameters);
  int insert_rows();
  void insert_first_rows();
  std::int32_t random_number();
  std::string random_text();
  bool updates_in_place() const { return options_.atomic_sectors && options_.mode <= LUNAR_MODE_METADATA; }
  bool made_of_versions(std::int64_t key, const Row& row, std::uint64_t age) const;
  void append(State& state, std::int64_t key, const Row& row);
  bool read_by_cursor(State& state);
  int acknowledged(int error, const State& after);

  Options options_;
  bool full_ = false;  // the last operation had no room
  bool in_transaction_ = false;
  std::uint64_t age_ = 0;
  std::mt19937_64 random_;
  std::unique_ptr<std::uint32_t[]> buffer_;
  lunar_config config_{};
};

}  // namespace lunar_test
