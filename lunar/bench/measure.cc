#include "measure.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <random>

#include "key_chooser.h"
#include "process.h"

namespace lunar_bench {
namespace {

using Clock = std::chrono::steady_clock;

// Requests, sectors of 512 bytes, flushes: Documentation/block/stat.rst of Linux.
struct BlockCounters {
  std::uint64_t reads, sectors_read, writes, sectors_written, flushes;
};

BlockCounters block_counters(const Work& work) {
  if (work.device.empty()) return {};
  if (!work.file_system.empty()) {
    const int folder = open(work.file_system.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = folder >= 0 && syncfs(folder) == 0;
    if (folder >= 0) close(folder);
    if (!synced) throw BenchError(work.file_system + ": cannot be synced");
  }
  std::ifstream file("/sys/block/" + work.device + "/stat");
  std::array<std::uint64_t, 16> field{};
  for (auto& value : field) file >> value;
  if (!file) throw BenchError("/sys/block/" + work.device + "/stat: cannot be read");
  return {field[0], field[2], field[4], field[6], field[15]};
}

void mark(const Work& work, const char* text) {
  if (work.marker.empty()) return;
  std::ofstream file(work.marker);
  file << text << std::flush;
  if (!file) throw BenchError(work.marker + ": cannot be written");
}

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class Rows {
 public:
  Rows(const Shape& shape, std::uint64_t seed) : random_(seed), bytes_(shape.row_bytes() + 4096) {
    for (auto& byte : bytes_) byte = static_cast<char>('a' + random_() % 26);
  }
  // Another row at every call, at no cost.
  const char* operator()() { return bytes_.data() + next_++ % 4096; }

 private:
  std::mt19937_64 random_;
  std::vector<char> bytes_;
  std::size_t next_ = 0;
};

// Runs the operations; the bytes that they were given.
std::uint64_t run(Engine& engine, const Work& work, std::int64_t rows, double skew, Rows& row,
                  std::mt19937_64& random) {
  if (work.kind == "insert") {
    for (std::int64_t i = 0; i < work.operations; ++i) {
      engine.insert(rows + i, row());
      if (work.sync_each) engine.sync();
    }
    return static_cast<std::uint64_t>(work.operations) * work.shape.row_bytes();
  }
  const KeyChooser key(rows, skew);
  std::uint64_t updates = 0;
  for (std::int64_t i = 0; i < work.operations; ++i) {
    const auto chosen = key(random);
    if (static_cast<double>(random() % 1000) < work.reads * 1000) {
      engine.read(chosen);
    } else {
      engine.update(chosen, static_cast<int>(random() % static_cast<std::uint64_t>(work.shape.columns)), row());
      if (work.sync_each) engine.sync();
      updates++;
    }
  }
  return updates * static_cast<std::uint64_t>(work.shape.column_bytes);
}

void warm_up(Engine& engine, Work work, std::int64_t rows, double skew, Rows& row, std::mt19937_64& random) {
  if (work.warm_up == 0) return;
  work.operations = work.warm_up;
  (void)run(engine, work, rows, skew, row, random);
}

nlohmann::json phase(Engine& engine, const Work& work, std::int64_t rows, double skew, bool last, Rows& row,
                     std::mt19937_64& random) {
  warm_up(engine, work, rows, skew, row, random);
  const auto blocks = block_counters(work);
  mark(work, "lunar-bench begin");
  const auto own = engine.own_counts();
  const auto calls = calls_of_process();
  const double cpu = cpu_s();
  const auto start = Clock::now();
  const auto payload = run(engine, work, rows, skew, row, random);
  const double seconds = since(start), cpu_end = cpu_s();
  const auto own_end = engine.own_counts();
  mark(work, "lunar-bench acknowledged");
  if (last) engine.close();
  const auto calls_end = calls_of_process();
  const auto blocks_end = block_counters(work);
  mark(work, "lunar-bench end");
  const double seconds_at_rest = since(start), cpu_at_rest = cpu_s();
  const auto own_at_rest = engine.own_counts();
  return {{"rows_before", rows},
          {"skew", skew},
          {"operations", work.operations},
          {"payload_bytes", payload},
          {"seconds", seconds},
          {"cpu_s", cpu_end - cpu},
          {"seconds_at_rest", seconds_at_rest},
          {"cpu_at_rest_s", cpu_at_rest - cpu},
          {"bytes_written_by_calls", calls_end.bytes_written - calls.bytes_written},
          {"zones", engine.zones()},
          {"block",
           {{"reads", blocks_end.reads - blocks.reads},
            {"bytes_read", (blocks_end.sectors_read - blocks.sectors_read) * 512},
            {"writes", blocks_end.writes - blocks.writes},
            {"bytes_written", (blocks_end.sectors_written - blocks.sectors_written) * 512},
            {"flushes", blocks_end.flushes - blocks.flushes}}},
          {"own",
           {{"reads", own_at_rest.reads - own.reads},
            {"bytes_read", own_at_rest.bytes_read - own.bytes_read},
            {"writes", own_at_rest.writes - own.writes},
            {"writes_before_close", own_end.writes - own.writes},
            {"bytes_written", own_at_rest.bytes_written - own.bytes_written},
            {"log_bytes", own_at_rest.log_bytes - own.log_bytes},
            {"flushes", own_at_rest.flushes - own.flushes},
            {"card_s", own_end.card_s - own.card_s},
            {"card_j", own_end.card_j - own.card_j},
            {"card_at_rest_s", own_at_rest.card_s - own.card_s},
            {"card_at_rest_j", own_at_rest.card_j - own.card_j}}}};
}

}  // namespace

nlohmann::json measure(Engine& engine, const Work& work) {
  std::mt19937_64 random(work.seed);
  Rows row(work.shape, work.seed);
  nlohmann::json phases = nlohmann::json::array();
  if (work.loaded) {
    engine.reopen(work.shape);
  } else {
    engine.create(work.shape);
  }
  std::int64_t rows = work.loaded ? work.loads.front() : 0;
  for (const auto& load : work.loads) {
    if (load > rows) engine.load(rows, load, [&row] { return row(); });
    rows = load;
    for (const auto& skew : work.skews) {
      const bool last = &load == &work.loads.back() && &skew == &work.skews.back();
      phases.push_back(phase(engine, work, rows, skew, last, row, random));
      if (work.skews.size() > 1 && !last) engine.sync();  // each pays for its own writes
      if (work.kind == "insert") rows += work.operations;
    }
  }
  return phases;
}

}  // namespace lunar_bench
