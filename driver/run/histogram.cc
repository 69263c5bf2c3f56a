#include "histogram.h"

#include <algorithm>
#include <bit>
#include <new>

namespace edgejoule::driver {

// calloc maps large blocks to the kernel's zero page, so that an unused histogram takes no memory.
void Histogram::take_memory() {
  counts_.reset(static_cast<std::uint64_t*>(std::calloc(counters, sizeof(std::uint64_t))));
  if (!counts_) throw std::bad_alloc();
}

void Histogram::check_invariants() const {
  if (count_ == 0) {
    EJ_CHECK(sum_ == 0 && max_ == 0 && min_ == ~std::uint64_t{0}, sum_, min_, max_);
    return;
  }
  EJ_CHECK(counts_ != nullptr && min_ <= max_ && max_ <= value_max, count_, min_, max_);
  EJ_CHECK(counts_[index_of(min_)] > 0 && counts_[index_of(max_)] > 0, min_, max_);
  std::uint64_t counted = 0;
  for (auto i = index_of(min_); i <= index_of(max_); ++i) counted += counts_[i];
  EJ_CHECK(counted == count_, counted, count_);
}

// Checks everything only if the count is a power of two: reading all counters after each value would take most of the
// time.
void Histogram::check_after_record(std::uint64_t value) const {
  EJ_CHECK(count_ > 0 && min_ <= value && value <= max_, value, count_, min_, max_);
  if (std::has_single_bit(count_)) check_invariants();
}

void Histogram::add(const Histogram& other) {
  EJ_CHECK(&other != this);
  if (other.count_ == 0) return;
  if (!counts_) take_memory();
  std::uint64_t added = 0;
  for (auto i = index_of(other.min_); i <= index_of(other.max_); ++i) {
    counts_[i] += other.counts_[i];
    added += other.counts_[i];
  }
  EJ_CHECK(added == other.count_, added, other.count_, other.min_, other.max_);
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  if constexpr (debug_checks) check_invariants();
}

// Clears only counters that are not zero: writing to others would allocate their pages.
void Histogram::clear() {
  if (count_ == 0) return;
  if constexpr (debug_checks) check_invariants();
  std::fill(&counts_[index_of(min_)], &counts_[index_of(max_)] + 1, 0);
  count_ = sum_ = max_ = 0;
  min_ = ~std::uint64_t{0};
}

std::uint64_t Histogram::percentile(double percent) const {
  EJ_CHECK(percent >= 0 && percent <= 100, percent);
  if (count_ == 0) return 0;
  const double exact = percent / 100 * static_cast<double>(count_);
  const auto wanted = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(exact + 0.5));
  std::uint64_t seen = 0;
  std::uint32_t index = 0;
  for (; index < counters; ++index) {
    seen += counts_[index];
    if (seen >= wanted) break;
  }
  EJ_CHECK(index < counters, seen, wanted, count_);
  return std::min(highest_value_of(index), max_);
}

std::uint64_t Histogram::highest_value_of(std::uint32_t index) {
  EJ_CHECK(index < counters, index);
  if (index < 2 * sub_buckets_half) return index;
  const auto bucket = index / sub_buckets_half - 1;
  const std::uint64_t sub_bucket = index % sub_buckets_half + sub_buckets_half;
  return ((sub_bucket + 1) << bucket) - 1;
}

}  // namespace edgejoule::driver
