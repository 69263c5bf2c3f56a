#include "mixgraph_law.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "system/check.h"

namespace edgejoule::driver::db_bench {
namespace {

std::int64_t whole(double value) {
  const auto rounded = std::ceil(value);
  return std::abs(rounded) < 0x1p63 ? static_cast<std::int64_t>(rounded) : std::numeric_limits<std::int64_t>::min();
}

// Cumulative ratios in thousandths, each rounded up.
std::array<std::uint64_t, 3> bounds(const std::array<double, 3>& ratios) {
  const auto sum = std::accumulate(ratios.begin(), ratios.end(), 0.0);
  std::array<std::uint64_t, 3> bounds{};
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    bounds[i] = below += static_cast<std::uint64_t>(std::ceil(1000 * (ratios[i] / sum)));
  }
  return bounds;
}

std::optional<KeyRanges> ranges_of(const MixgraphParameters& parameters) {
  if (!parameters.key_range_shares) return std::nullopt;
  return KeyRanges(*parameters.key_range_shares, parameters.key_range_count);
}

}  // namespace

std::int64_t Pareto::quantile(double u) const {
  return whole(k == 0 ? theta - sigma * std::log(u) : theta + sigma * (std::pow(u, -k) - 1) / k);
}

MixgraphLaw::MixgraphLaw(const MixgraphParameters& parameters)
    : parameters_(parameters),
      popularity_(parameters.key_dist_a == 0 || parameters.key_dist_b == 0 ? Popularity::alike
                  : parameters.key_range_shares                            ? Popularity::by_range_and_key
                                                                           : Popularity::by_key),
      range_keys_(parameters.keys / parameters.key_range_count),
      ranges_(ranges_of(parameters)),
      kind_bounds_(bounds(parameters.ratios)),
      by_kind_(kind_bounds_.back()),
      by_range_keys_(range_keys_) {
  EJ_CHECK(parameters.keys >= parameters.key_range_count, parameters.keys, parameters.key_range_count);
  if (popularity_ != Popularity::alike && !(std::pow(1 / parameters.key_dist_a, 1 / parameters.key_dist_b) < 0x1p63)) {
    throw std::range_error("(1 / key_dist_a) ^ (1 / key_dist_b) below 2^63");
  }
}

MixgraphOperation::Kind MixgraphLaw::kind_of(std::uint64_t draw) const {
  const auto position = by_kind_.of(draw);
  if (position < kind_bounds_[0]) return MixgraphOperation::Kind::get;
  return position < kind_bounds_[1] ? MixgraphOperation::Kind::put : MixgraphOperation::Kind::seek;
}

std::uint64_t MixgraphLaw::amount_of(MixgraphOperation::Kind kind, double u) const {
  if (kind == MixgraphOperation::Kind::get) return 0;
  if (kind == MixgraphOperation::Kind::seek) {
    const auto records = parameters_.scan_records.quantile(u) % static_cast<std::int64_t>(parameters_.scan_records_max);
    return records > 0 ? static_cast<std::uint64_t>(records) : 0;
  }
  const auto bytes = parameters_.value_bytes.quantile(u);
  if (bytes < static_cast<std::int64_t>(mixgraph_value_bytes_least)) return mixgraph_value_bytes_least;
  const auto unsigned_bytes = static_cast<std::uint64_t>(bytes);
  return unsigned_bytes > parameters_.value_bytes_max ? unsigned_bytes % parameters_.value_bytes_max : unsigned_bytes;
}

// Rank by the popularity of draw / of. Keys of equal rank are one key.
std::uint64_t MixgraphLaw::rank(std::uint64_t draw, std::uint64_t of) const {
  const auto u = static_cast<double>(draw) / static_cast<double>(of);
  return static_cast<std::uint64_t>(whole(std::pow(u / parameters_.key_dist_a, 1 / parameters_.key_dist_b)));
}

void MixgraphLaw::scatter_over_keys(Scattered& draws) const {
  for (auto& draw : draws) draw = rank(draw, parameters_.keys);
  scatter(draws);
  const auto keys = static_cast<std::int64_t>(parameters_.keys);
  for (auto& draw : draws) draw = static_cast<std::uint64_t>(static_cast<std::int64_t>(draw) % keys);
}

void MixgraphLaw::scatter_over_ranges(Scattered& draws) const {
  Scattered offsets;
  for (std::size_t i = 0; i < draws.size(); ++i) offsets[i] = rank(by_range_keys_.of(draws[i]), range_keys_);
  scatter(offsets);
  for (std::size_t i = 0; i < draws.size(); ++i) {
    draws[i] = range_keys_ * ranges_->place(draws[i]) + by_range_keys_.of(offsets[i]);
  }
}

void MixgraphLaw::decide(const Scattered& draws, Operations& operations) const {
  auto keys = draws;
  if (popularity_ == Popularity::by_key) scatter_over_keys(keys);
  if (popularity_ == Popularity::by_range_and_key) scatter_over_ranges(keys);
  for (std::size_t i = 0; i < draws.size(); ++i) {
    EJ_CHECK(draws[i] < parameters_.keys, draws[i], parameters_.keys);
    EJ_CHECK(keys[i] < parameters_.keys || popularity_ == Popularity::by_key, keys[i], parameters_.keys);
    const auto kind = kind_of(draws[i]);
    const auto u = static_cast<double>(draws[i]) / static_cast<double>(parameters_.keys);
    operations[i] = {kind, keys[i], amount_of(kind, u)};
  }
}

}  // namespace edgejoule::driver::db_bench
