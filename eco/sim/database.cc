#include "database.h"

#include <algorithm>
#include <cmath>

namespace eco::sim {

Database::Database(const DatabaseOptions& options, double keys) : options_(options), keys_(keys) {}

void Database::add_file(const Amount& file) {
  levels_[0] += file;
  files_ += 1;
}

double Database::target(std::size_t level) const {
  return options_.max_bytes_for_level_base *
         std::pow(options_.max_bytes_for_level_multiplier, static_cast<double>(level) - 1);
}

double Database::score(std::size_t level) const {
  if (level > 0) return (levels_[level].bytes - busy_[level].bytes) / target(level);
  return std::max(files_ / options_.level0_file_num_compaction_trigger, levels_[0].bytes / target(1));
}

bool Database::free(std::size_t level) const {
  if (level == 0)
    return compacting_[0] == 0 && compacting_[1] == 0 && files_ >= options_.level0_file_num_compaction_trigger;
  return level + 1 < depth && (level > 1 || compacting_[0] == 0);
}

std::size_t Database::running_max() const {
  const double trigger = options_.level0_file_num_compaction_trigger;
  const double grows = std::min(2 * trigger, trigger + (options_.level0_slowdown_writes_trigger - trigger) / 4);
  if (files_ < grows) return 1;
  const double flushes = std::max(1.0, std::floor(options_.max_background_jobs / 4));
  return static_cast<std::size_t>(std::max(1.0, options_.max_background_jobs - flushes));
}

// Expected number of distinct keys in a and b, from `keys`.
double Database::united(double a, double b, double keys) const {
  a = std::min(a, keys), b = std::min(b, keys);
  return a + b - a * b / keys;
}

Compaction Database::inputs_of(std::size_t level) const {
  Compaction c{.level = level};
  double keys = keys_;
  if (level == 0) {
    c.files = files_, c.upper = levels_[0], c.lower = levels_[1];
  } else {
    Amount left = levels_[level];
    left -= busy_[level];
    const double share = std::min(1.0, options_.target_file_size_base / std::max(1.0, left.bytes));
    c.upper = left.part(share);
    const double range = c.upper.bytes / std::max(1.0, levels_[level].bytes);
    c.lower = levels_[level + 1].part(std::min(1.0, range));
    keys *= range;
  }
  const double upper = level == 0 ? keys * -std::expm1(-c.upper.entries / keys) : c.upper.entries;
  const Amount in = c.inputs();
  c.output.entries = united(upper, c.lower.entries, keys);
  c.output.bytes = in.entries > 0 ? in.bytes * c.output.entries / in.entries : 0;
  return c;
}

std::optional<Compaction> Database::pick() {
  for (;;) {
    std::size_t best = depth;
    for (std::size_t i = 0; i < depth; ++i)
      if (score(i) >= 1 && free(i) && (best == depth || score(i) > score(best))) best = i;
    if (best == depth) return std::nullopt;
    const Compaction compaction = inputs_of(best);
    if (best > 0 && compaction.lower.bytes < 1) {  // a trivial move
      levels_[best] -= compaction.upper;
      levels_[best + 1] += compaction.upper;
      continue;
    }
    busy_[best] += compaction.upper;
    busy_[best + 1] += compaction.lower;
    ++compacting_[best], ++running_;
    return compaction;
  }
}

void Database::install(const Compaction& compaction) {
  const std::size_t level = compaction.level;
  busy_[level] -= compaction.upper;
  busy_[level + 1] -= compaction.lower;
  --compacting_[level], --running_;
  levels_[level] -= compaction.upper;
  levels_[level + 1] -= compaction.lower;
  levels_[level + 1] += compaction.output;
  if (level == 0) files_ -= compaction.files;
}

double Database::bytes_needed() const {
  double needed = 0, carried = 0;
  if (files_ >= options_.level0_file_num_compaction_trigger)
    carried = levels_[0].bytes, needed = carried + levels_[1].bytes;
  for (std::size_t i = 1; i + 1 < depth; ++i) {
    const double size = levels_[i].bytes + carried, excess = size - target(i);
    carried = std::max(0.0, excess);
    if (carried > 0) needed += carried * (1 + levels_[i + 1].bytes / size);
  }
  return needed;
}

void WriteController::observe(const Database& database) {
  constexpr double slower = 0.8, near_stop = 0.6, recovered = 1.4, rate_min = 16 << 10;
  const double files = database.level0_files(), needed = database.bytes_needed();
  const State before = state_;
  if (files >= options_.level0_stop_writes_trigger)
    state_ = State::stopped;
  else if (files >= options_.level0_slowdown_writes_trigger)
    state_ = State::delayed;
  else
    state_ = State::free;
  if (state_ == State::delayed) {
    if (before == State::stopped || files >= options_.level0_stop_writes_trigger - 2)
      rate_ *= near_stop;
    else if (before == State::delayed && needed >= needed_)
      rate_ *= slower;
    else if (before == State::delayed)
      rate_ /= slower;
  } else if (state_ == State::free && before != State::free) {
    rate_ *= recovered;
  }
  rate_ = std::clamp(rate_, rate_min, options_.delayed_write_rate);
  needed_ = needed;
}

}  // namespace eco::sim
