#include "histogram.h"

#include <algorithm>
#include <new>

namespace edgejoule::driver {

// calloc leaves large blocks to the kernel's zero pages, so that an unused histogram takes no memory.
void Histogram::take_memory() {
  counts_.reset(static_cast<std::uint64_t*>(std::calloc(counters, sizeof(std::uint64_t))));
  if (!counts_) throw std::bad_alloc();
}

void Histogram::add(const Histogram& other) {
  if (other.count_ == 0) return;
  if (!counts_) take_memory();
  for (auto i = index_of(other.min_); i <= index_of(other.max_); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

// Only where something was counted: to write elsewhere would take memory.
void Histogram::clear() {
  if (count_ == 0) return;
  std::fill(&counts_[index_of(min_)], &counts_[index_of(max_)] + 1, 0);
  count_ = sum_ = max_ = 0;
  min_ = ~std::uint64_t{0};
}

std::uint64_t Histogram::percentile(double percent) const {
  if (count_ == 0) return 0;
  const double exact = percent / 100 * static_cast<double>(count_);
  const auto wanted = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(exact + 0.5));
  std::uint64_t seen = 0;
  std::uint32_t index = 0;
  for (; index < counters; ++index) {
    seen += counts_[index];
    if (seen >= wanted) break;
  }
  return std::min(highest_value_of(index), max_);
}

std::uint64_t Histogram::highest_value_of(std::uint32_t index) {
  if (index < 2 * sub_buckets_half) return index;
  const auto bucket = index / sub_buckets_half - 1;
  const std::uint64_t sub_bucket = index % sub_buckets_half + sub_buckets_half;
  return ((sub_bucket + 1) << bucket) - 1;
}

}  // namespace edgejoule::driver
