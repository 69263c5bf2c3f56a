// How often each range of keys is requested, by the two-term exponential law of "Characterizing, Modeling, and
// Benchmarking RocksDB Key-Value Workloads at Facebook" (Cao et al., FAST '20, section 7): range x of 1..count has the
// share a exp(b x) + c exp(d x).
//
// As in db_bench, shares are rounded down to whole tickets, of which the last range with a share gets one or a few.
// Then the ranges are permuted; equal tickets give the same permutation. A draw of tickets() or more is folded.
#pragma once

#include <cstdint>
#include <vector>

#include "remainder.h"

namespace edgejoule::driver::db_bench {

struct TwoTermExponential {
  double a;
  double b;
  double c;
  double d;
};

class KeyRanges {
 public:
  // count > 0. Throws std::range_error if no range has a share or the tickets exceed 2^53.
  KeyRanges(const TwoTermExponential& shares, std::uint64_t count);

  // The position (from 0) of the range that contains the draw.
  [[nodiscard]] std::uint64_t place(std::uint64_t draw) const;

  [[nodiscard]] std::uint64_t tickets() const { return tickets_; }

 private:
  explicit KeyRanges(std::vector<std::uint64_t> tickets);

  std::uint64_t tickets_;
  std::vector<std::uint64_t> first_tickets_;  // by position
  Remainder fold_;
};

}  // namespace edgejoule::driver::db_bench
