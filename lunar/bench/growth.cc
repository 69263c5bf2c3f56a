#include "growth.h"

#include <algorithm>
#include <array>
#include <random>
#include <unordered_set>
#include <vector>

#include "process.h"

namespace lunar_bench {
namespace {

constexpr int columns = 5, column_bytes = 100;

class Growth {
 public:
  Growth(const Growing& growing, const std::function<std::unique_ptr<Engine>()>& open)
      : rows_(growing.rows), calls_(std::min(growing.calls, growing.rows / 4)), open_(open), engine_(open()) {
    shape_.columns = columns, shape_.column_bytes = column_bytes, shape_.integer = true, shape_.key_step = 2;
    row_.fill('x');
  }

  nlohmann::json run() {
    engine_->create(shape_);
    step("load", rows_, [&] { engine_->load(0, rows_, [&] { return counted_row(); }); });
    for (const auto key : keys(0)) engine_->read(key); /* what is in RAM does not come from the load */
    step("get", keys(0), [&](std::int64_t key) { engine_->read(key); });
    step("update", keys(0), [&](std::int64_t key) {
      const auto column = static_cast<int>(random_() % columns);
      engine_->update(key, column, row() + shape_.begin(column));
    });
    step("insert", keys(1), [&](std::int64_t key) { engine_->insert(key, counted_row()); });
    step("remove", keys(0), [&](std::int64_t key) { engine_->remove(key); });
    engine_->cut();
    remount("mount after a cut");
    step("scan", rows_, [&] {
      if (engine_->scan() != rows_) throw BenchError("rows are missing");
    });
    if (engine_->has_check()) step("check", rows_, [&] { engine_->check(); });
    if (attempt("create index", [&] { engine_->create_index(); })) engine_->drop_index();
    engine_->close();
    remount("mount");
    if (attempt("remove all", [&] { engine_->remove_from(0); })) engine_->close();
    return steps_;
  }

 private:
  // Different random keys: 0: of rows that the load has made, 1: of none.
  std::vector<std::int64_t> keys(std::int64_t odd) {
    std::unordered_set<std::int64_t> seen;
    std::vector<std::int64_t> keys;
    while (static_cast<std::int64_t>(keys.size()) < calls_) {
      const auto key = 2 * static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(rows_)) + odd;
      if (seen.insert(key).second) keys.push_back(key);
    }
    return keys;
  }

  const char* row() {
    const std::uint64_t number = random_() >> 1;
    const std::uint64_t letters = 0x6161616161616161 + (number & 0x0f0f0f0f0f0f0f0f); /* eight of a to p */
    std::memcpy(row_.data(), &number, sizeof number);
    for (int i = 0; i < columns; ++i) std::memcpy(row_.data() + shape_.begin(i), &letters, sizeof letters);
    return row_.data();
  }

  // Called once before each insertion: counts the requests of the one before.
  const char* counted_row() {
    const auto own = engine_->own_counts();
    const auto requests = own.reads + own.writes;
    if (seen_ != 0) {
      dearest_ = std::max(dearest_, requests - seen_);
      dearest_reads_ = std::max(dearest_reads_, own.reads - seen_reads_);
    }
    seen_ = requests, seen_reads_ = own.reads;
    return row();
  }

  void remount(const char* name) {
    engine_.reset();
    step(name, 1, [&] {
      engine_ = open_();
      engine_->reopen(shape_);
    });
  }

  // A step over all rows, in which the engine may fail.
  template <class Work>
  bool attempt(const char* name, Work work) {
    try {
      step(name, rows_, work);
      return true;
    } catch (const BenchError& error) {
      steps_[name] = {{"failed", error.what()}};
      return false;
    }
  }

  template <class Call>
  void step(const char* name, const std::vector<std::int64_t>& keys, Call call) {
    step(name, static_cast<std::int64_t>(keys.size()), [&] {
      for (const auto key : keys) call(key);
    });
  }

  template <class Work>
  void step(const char* name, std::int64_t operations, Work work) {
    const auto asking = calls_of_process(), before = calls_of_process();
    const double cpu = cpu_s();
    work();
    const double cpu_end = cpu_s();
    const auto after = calls_of_process();
    const auto asked = before.reads - asking.reads;  // by calls_of_process itself
    steps_[name] = {{"operations", operations},
                    {"cpu_s", cpu_end - cpu},
                    {"reads", after.reads - before.reads - asked},
                    {"writes", after.writes - before.writes},
                    {"bytes_written", after.bytes_written - before.bytes_written},
                    {"dearest", dearest_},
                    {"dearest_reads", dearest_reads_}};
    seen_ = dearest_ = dearest_reads_ = 0;
  }

  std::int64_t rows_, calls_;
  std::function<std::unique_ptr<Engine>()> open_;
  std::unique_ptr<Engine> engine_;
  Shape shape_;
  std::mt19937_64 random_{1};
  std::array<char, 8 + columns * column_bytes> row_{};
  nlohmann::json steps_;
  std::uint64_t seen_ = 0, seen_reads_ = 0, dearest_ = 0, dearest_reads_ = 0;
};

}  // namespace

nlohmann::json grow(const Growing& growing, const std::function<std::unique_ptr<Engine>()>& open) {
  return Growth(growing, open).run();
}

}  // namespace lunar_bench
