// db_bench's mixgraph: one draw decides key, operation and size together ("Characterizing, Modeling, and Benchmarking
// RocksDB Key-Value Workloads at Facebook", Cao et al., FAST '20, section 7; RocksDB's tools/db_bench_tool.cc, 7.8.3).
//
// Deviations of db_bench from the paper are reproduced, so that equal draws give equal operations:
// - If key_dist_a or key_dist_b is 0, every key is equally popular, whatever the key ranges.
// - Without key ranges, half of the keys are negative (a signed remainder). None of those is loaded.
// - The operation is the draw's remainder modulo about 1000, so each key always gets the same operation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "key_ranges.h"
#include "remainder.h"
#include "twister.h"

namespace edgejoule::driver::db_bench {

// Generalised Pareto law.
struct Pareto {
  double theta;
  double k;
  double sigma;

  // The value exceeded with probability u, rounded up; the smallest number if it exceeds 64 bits.
  [[nodiscard]] std::int64_t quantile(double u) const;
};

struct MixgraphParameters {
  std::uint64_t keys;
  double key_dist_a;  // popularity a x^b; 0: uniform
  double key_dist_b;
  std::optional<TwoTermExponential> key_range_shares;
  std::uint64_t key_range_count;
  std::array<double, 3> ratios;  // get, put, seek; they need not add up to 1
  Pareto value_bytes;
  std::uint64_t value_bytes_max;  // larger ones are folded
  Pareto scan_records;
  std::uint64_t scan_records_max;  // longer ones are folded
};

inline constexpr std::uint64_t mixgraph_value_bytes_least = 10;

struct MixgraphOperation {
  enum class Kind : std::uint8_t { get, put, seek };
  Kind kind;
  std::uint64_t key;
  std::uint64_t amount;  // put: bytes of the value; seek: records to read
};

class MixgraphLaw {
 public:
  using Operations = std::array<MixgraphOperation, scattered_at_once>;

  // keys >= key_range_count > 0; at least one ratio above 0. Throws std::range_error as KeyRanges does, and if a
  // popularity exceeds 64 bits.
  explicit MixgraphLaw(const MixgraphParameters& parameters);

  // Decides the operation for each draw. All draws are below `keys`.
  void decide(const Scattered& draws, Operations& operations) const;

 private:
  enum class Popularity : std::uint8_t { alike, by_key, by_range_and_key };

  [[nodiscard]] MixgraphOperation::Kind kind_of(std::uint64_t draw) const;
  [[nodiscard]] std::uint64_t amount_of(MixgraphOperation::Kind kind, double u) const;
  [[nodiscard]] std::uint64_t rank(std::uint64_t draw, std::uint64_t of) const;
  void scatter_over_keys(Scattered& draws) const;
  void scatter_over_ranges(Scattered& draws) const;

  const MixgraphParameters parameters_;
  const Popularity popularity_;
  const std::uint64_t range_keys_;
  const std::optional<KeyRanges> ranges_;
  std::array<std::uint64_t, 3> kind_bounds_;
  Remainder by_kind_;
  Remainder by_range_keys_;
};

}  // namespace edgejoule::driver::db_bench
