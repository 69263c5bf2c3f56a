// A latency histogram with the buckets of HdrHistogram: 1 ns to 1 h, three significant digits.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "system/check.h"

namespace edgejoule::driver {

// One writer at a time. Allocates memory with the first value.
class Histogram {
 public:
  static constexpr std::uint64_t value_max = 3'600'000'000'000U;
  static constexpr int significant_digits = 3;
  static constexpr std::uint32_t buckets = 32;
  static constexpr std::uint32_t sub_buckets_half = 1024;  // 2048 sub-buckets keep three digits
  static constexpr std::uint32_t counters = (buckets + 1) * sub_buckets_half;

  // Values above value_max count as value_max.
  void record(std::uint64_t value) {
    if (!counts_) [[unlikely]]
      take_memory();
    if (value > value_max) value = value_max;
    ++counts_[index_of(value)];
    ++count_;
    sum_ += value;
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
    if constexpr (debug_checks) check_after_record(value);
  }

  void add(const Histogram& other);  // other must not be *this
  void clear();

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t min() const { return count_ == 0 ? 0 : min_; }  // exact
  [[nodiscard]] std::uint64_t max() const { return max_; }                    // exact
  [[nodiscard]] double mean() const {
    return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
  }

  // The largest value equivalent to the value at the percentile (0..100), at most max().
  [[nodiscard]] std::uint64_t percentile(double percent) const;

  [[nodiscard]] std::uint64_t count_at(std::uint32_t index) const {
    EJ_CHECK(index < counters, index);
    return counts_ ? counts_[index] : 0;
  }

  // The counters add up to count(), and min() and max() are values that are counted. Reads the counters between them.
  void check_invariants() const;

  [[nodiscard]] static constexpr std::uint32_t index_of(std::uint64_t value) {
    const auto bucket = static_cast<std::uint32_t>(std::bit_width(value | 2047U)) - 11U;
    return bucket * sub_buckets_half + static_cast<std::uint32_t>(value >> bucket);
  }
  [[nodiscard]] static std::uint64_t highest_value_of(std::uint32_t index);

 private:
  friend class DamagedHistogram;  // tests of check_invariants()

  void take_memory();
  void check_after_record(std::uint64_t value) const;

  struct Free {
    void operator()(std::uint64_t* counts) const { std::free(counts); }
  };

  std::unique_ptr<std::uint64_t[], Free> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t min_ = ~std::uint64_t{0};
  std::uint64_t max_ = 0;
};

static_assert(Histogram::index_of(0) == 0);
static_assert(Histogram::index_of(Histogram::value_max) < Histogram::counters);

}  // namespace edgejoule::driver
