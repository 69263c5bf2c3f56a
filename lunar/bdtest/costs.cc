#include "costs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>
#include <stdexcept>

namespace bdtest {
namespace {

constexpr std::uint32_t sizes[] = {1, 2, 4, 8, 16, 32, 64, 128};
constexpr std::uint32_t pages[] = {512, 1024, 2048, 4096, 8192, 16384, 32768};
constexpr std::uint32_t streams[] = {1, 2, 4, 8, 16, 32, 64};
constexpr std::uint32_t small_bytes = 4096;
constexpr std::size_t alignment = 4096;

struct Point {
  double bytes, seconds;
};
struct Line {
  double at_zero, per_byte, error;
};

// Least squares of relative errors: a microsecond counts as much among short requests as ten among long ones.
Line fitted(const std::vector<Point>& points) {
  double w = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& p : points) {
    const double weight = 1 / (p.seconds * p.seconds);
    w += weight, x += weight * p.bytes, y += weight * p.seconds, xx += weight * p.bytes * p.bytes,
        xy += weight * p.bytes * p.seconds;
  }
  const double slope = std::max(0.0, (w * xy - x * y) / (w * xx - x * x));
  Line line{std::max(0.0, (y - slope * x) / w), slope, 0};
  for (const auto& p : points)
    line.error +=
        std::abs(line.at_zero + line.per_byte * p.bytes - p.seconds) / p.seconds / static_cast<double>(points.size());
  return line;
}

class Costs {
 public:
  Costs(const lunar_config& device, Clock clock, std::uint32_t repeats)
      : device_(device), clock_(std::move(clock)), repeats_(std::max(5U, repeats)) {
    void* memory = std::aligned_alloc(alignment, std::size_t{128} * 4096);
    if (memory == nullptr) throw std::bad_alloc();
    memory_.reset(static_cast<std::uint8_t*>(memory));
    std::mt19937 random(1);
    for (std::size_t i = 0; i < std::size_t{128} * 4096; ++i) memory_[i] = static_cast<std::uint8_t>(random());
  }

  // A stream of requests, each behind the one before.
  double sequential(const char* what, std::uint32_t sectors, bool reading) {
    std::vector<double> seconds;
    std::uint32_t at = place();
    for (std::uint32_t i = 0; i < repeats_; ++i) {
      at = fitting(at, sectors);
      const double start = clock_();
      request(at, sectors, reading);
      seconds.push_back(clock_() - start);
      at += sectors;
      if (!reading) sync();
    }
    return keep(what, sectors, seconds);
  }

  double random_writes(std::uint32_t sectors) {
    std::vector<double> seconds;
    for (std::uint32_t i = 0; i < repeats_; ++i) {
      const std::uint32_t at = fitting(place(), sectors);
      const double start = clock_();
      request(at, sectors, false);
      seconds.push_back(clock_() - start);
      sync();
    }
    return keep("write at random", sectors, seconds);
  }

  // Several streams in turn: the mean of a request.
  double interleaved(std::uint32_t count, std::uint32_t sectors) {
    std::vector<std::uint32_t> at(count);
    for (std::uint32_t i = 0; i < count; ++i) at[i] = device_.sector_count / count * i / 8 * 8;
    std::vector<double> seconds;
    for (std::uint32_t i = 0; i < (repeats_ / 8 + 2) * count; ++i) {
      auto& next = at[i % count];
      next = fitting(next, sectors);
      const double start = clock_();
      request(next, sectors, false);
      if (i >= count) seconds.push_back(clock_() - start);
      next += sectors;
      sync();
    }
    return median(seconds);
  }

  double flushes(std::uint32_t sectors) {
    std::vector<double> seconds;
    std::uint32_t at = place();
    for (std::uint32_t i = 0; i < repeats_; ++i) {
      at = fitting(at, sectors);
      request(at, sectors, false);
      at += sectors;
      const double start = clock_();
      sync();
      seconds.push_back(clock_() - start);
    }
    return keep("flush after a write", sectors, seconds);
  }

  std::vector<Cost> costs;

 private:
  // Aligned like the largest request: a stream of requests touches no page more than it must.
  std::uint32_t place() { return static_cast<std::uint32_t>(random_() % device_.sector_count) / 128 * 128; }
  std::uint32_t fitting(std::uint32_t at, std::uint32_t sectors) const {
    return at + sectors <= device_.sector_count ? at : 0;
  }
  void request(std::uint32_t at, std::uint32_t sectors, bool reading) {
    memory_[0]++;  // no two requests write the same
    const int error = reading ? device_.read(&device_, at, memory_.get(), sectors)
                              : device_.write(&device_, at, memory_.get(), sectors);
    if (error != 0)
      throw std::runtime_error((reading ? "reading " : "writing ") + std::to_string(sectors) + " sectors at " +
                               std::to_string(at) + " failed");
  }
  void sync() {
    if (device_.sync(&device_) != 0) throw std::runtime_error("a flush failed");
  }
  static double at_share(std::vector<double>& sorted, double share) {
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
  }
  static double median(std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    return at_share(seconds, 0.5);
  }
  double keep(const char* what, std::uint32_t sectors, std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    costs.push_back({what, std::uint64_t{sectors} * device_.sector_bytes, at_share(seconds, 0.5),
                     at_share(seconds, 0.1), at_share(seconds, 0.9)});
    return costs.back().median_s;
  }

  struct Free {
    void operator()(std::uint8_t* memory) const { std::free(memory); }
  };
  const lunar_config& device_;
  Clock clock_;
  std::uint32_t repeats_;
  std::unique_ptr<std::uint8_t[], Free> memory_;
  std::mt19937 random_{1};
};

std::vector<Point> paged(const std::vector<Point>& points, std::uint32_t page) {
  std::vector<Point> rounded = points;
  for (auto& p : rounded) p.bytes = std::ceil(p.bytes / page) * page;
  return rounded;
}

// The largest page that explains the writes as well as any: where a sector takes as long as a page, it is one.
void fit_writes(const std::vector<Point>& points, card_parameters& card, double& error) {
  Line best{0, 0, HUGE_VAL};
  for (const auto page : pages) {
    const Line line = fitted(paged(points, page));
    if (line.error > best.error * 0.95 - 0.002) continue;
    best = line, card.page_bytes = page;
  }
  card.write_request_ns = best.at_zero * 1e9, card.write_byte_ns = best.per_byte * 1e9;
  error = best.error;
}

std::uint32_t positions(Costs& costs, std::uint32_t sectors, double sequential_s, double random_s) {
  std::uint32_t most = 1;
  for (const auto count : streams) {
    if (costs.interleaved(count, sectors) > (sequential_s + random_s) / 2) break;
    most = count;
  }
  return most;
}

}  // namespace

Fit fit_card(const lunar_config& device, const Clock& clock, std::uint32_t repeats, const card_parameters& powers) {
  if (device.sector_count < 4096)
    throw std::runtime_error("the device has fewer than 4096 sectors: too few to measure");
  Costs costs(device, clock, repeats);
  Fit fit{powers, {}, 0};
  std::vector<Point> reads, writes;
  for (const auto sectors : sizes) {
    const double bytes = static_cast<double>(sectors) * device.sector_bytes;
    writes.push_back({bytes, costs.sequential("write", sectors, false)});
    reads.push_back({bytes, costs.sequential("read", sectors, true)});
  }
  const Line read = fitted(reads);
  fit.card.read_request_ns = read.at_zero * 1e9, fit.card.read_byte_ns = read.per_byte * 1e9;
  double write_error = 0;
  fit_writes(writes, fit.card, write_error);
  const std::uint32_t small = std::max(1U, small_bytes / device.sector_bytes);
  const double random = costs.random_writes(small), sequential = costs.sequential("write", small, false);
  fit.card.write_random_ns = std::max(0.0, (random - sequential) * 1e9);
  fit.card.flush_ns = costs.flushes(small) * 1e9;
  const bool penalised = fit.card.write_random_ns > 0.1e9 * sequential;
  fit.card.open_positions = penalised ? positions(costs, small, sequential, random) : std::uint32_t{CARD_POSITIONS_MAX};
  if (!penalised) fit.card.write_random_ns = 0;
  fit.error = (write_error + read.error) / 2;
  fit.costs = costs.costs;
  return fit;
}

}  // namespace bdtest
