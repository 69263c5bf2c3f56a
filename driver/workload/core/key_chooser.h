// Draws the number of an existing, acknowledged key. One per thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "acknowledged_counter.h"
#include "system/check.h"
#include "system/random.h"
#include "zipfian.h"

namespace edgejoule::driver {

enum class RequestDistribution : std::uint8_t {
  uniform,
  zipfian,
  zipfian_of_records,
  latest,
  hotspot,
  exponential,
  sequential
};

// The distribution of requests over the keys, from YCSB's properties.
struct KeyRequests {
  RequestDistribution distribution;
  std::uint64_t first;     // first key that is requested
  std::uint64_t count;     // of requested keys at the start of the run
  std::uint64_t records;   // in the database at the start of the run
  std::uint64_t reserved;  // zipfian: keys that the run may add
  double theta;            // zipfian, latest: the skew
  std::uint64_t hot;       // hotspot: keys in the hot set
  double hot_share;        // hotspot: share of requests to the hot set
  double mean_age;         // exponential: mean age of a requested key, in keys
};

// The number of keys over which zipfian requests are scattered. Some may not exist yet.
//
// It is YCSB's number: the keys at the start plus twice the inserts expected from operationcount, so that inserts do
// not change which keys are popular. If that exceeds foreseen_max for each existing key, nearly all draws would be of
// missing keys: operationcount is then huge and maxexecutiontime ends the run. In that case the number starts at twice
// the existing keys and doubles whenever half of it exists (ADR 026).
class KeySpace {
 public:
  static constexpr std::uint64_t foreseen_max = 8;

  explicit KeySpace(const KeyRequests& requests) : foreseen_(requests.count + requests.reserved + 1), keys_(foreseen_) {
    EJ_CHECK(requests.first < requests.records, requests.first, requests.records);
    const auto existing = requests.records - requests.first;
    if (foreseen_ / foreseen_max > existing) keys_ = 2 * existing;
  }

  // existing: number of existing keys. It must not decrease between calls.
  std::uint64_t keys(std::uint64_t existing) {
    while (keys_ < foreseen_ && existing > keys_ / 2) keys_ = std::min(foreseen_, 2 * keys_);
    return keys_;
  }

 private:
  std::uint64_t foreseen_;
  std::uint64_t keys_;
};

class KeyChooser {
 public:
  // The chooser of one client. Sequential: each client takes every clients-th key, so that together they visit all.
  KeyChooser(const KeyRequests& requests, unsigned client, unsigned clients)
      : requests_(requests),
        position_(client % requests.count),
        stride_(clients % requests.count),
        permuted_(requests.distribution == RequestDistribution::zipfian_of_records
                      ? std::optional<PermutedZipfian>(std::in_place, requests.first, requests.count, requests.theta)
                      : std::nullopt),
        space_(requests),
        zipfian_(requests.theta),
        latest_(
            requests.distribution == RequestDistribution::latest ? std::max<std::uint64_t>(requests.records, 2) - 1 : 1,
            requests.theta) {
    EJ_CHECK(client < clients, client, clients);
    EJ_CHECK(requests.count > 0 && requests.count <= requests.records - requests.first, requests.count,
             requests.records, requests.first);
    if (requests.distribution != RequestDistribution::hotspot) return;
    const auto& hot = requests.hot;
    EJ_CHECK(hot <= requests.count && (hot > 0 || requests.hot_share <= 0), hot, requests.count, requests.hot_share);
    EJ_CHECK(hot < requests.count || requests.hot_share >= 1, hot, requests.count, requests.hot_share);
  }

  // Draws until the key is acknowledged. Returns nothing if `stop` is set meanwhile.
  std::optional<std::uint64_t> next(Random& random, const AcknowledgedCounter& inserted,
                                    const std::atomic<bool>& stop) {
    for (;;) {
      const auto end = inserted.acknowledged();
      EJ_CHECK(end >= requests_.records, end, requests_.records);
      const auto number = draw(random, end);
      check_invariants(number, end);
      if (number < end) return number;
      if (stop.load(std::memory_order_relaxed)) return std::nullopt;
    }
  }

  // number: drawn while the keys below `end` existed.
  void check_invariants(std::uint64_t number, std::uint64_t end) const {
    EJ_CHECK(position_ < requests_.count && stride_ < requests_.count, position_, stride_, requests_.count);
    switch (requests_.distribution) {
      case RequestDistribution::zipfian:
        EJ_CHECK(number >= requests_.first, number, requests_.first);
        return;
      case RequestDistribution::latest:
      case RequestDistribution::exponential:
        EJ_CHECK(number < end, number, end);
        return;
      case RequestDistribution::uniform:
      case RequestDistribution::zipfian_of_records:
      case RequestDistribution::hotspot:
      case RequestDistribution::sequential:
        EJ_CHECK(number - requests_.first < requests_.count, number, requests_.first, requests_.count);
    }
  }

 private:
  std::uint64_t draw(Random& random, std::uint64_t end) {
    switch (requests_.distribution) {
      case RequestDistribution::uniform:
        return requests_.first + random.below(requests_.count);
      case RequestDistribution::zipfian:
        return requests_.first + zipfian_.next(random, space_.keys(end - requests_.first));
      case RequestDistribution::zipfian_of_records:
        return permuted_->next(random);
      case RequestDistribution::latest:
        return latest_.next(random, end - 1);
      case RequestDistribution::hotspot:
        return requests_.first + hotspot(random);
      case RequestDistribution::exponential:
        return exponential(random, end);
      case RequestDistribution::sequential:
        return requests_.first + sequential();
    }
    return requests_.first;
  }

  std::uint64_t hotspot(Random& random) const {
    if (random.uniform() < requests_.hot_share) return random.below(requests_.hot);
    return requests_.hot + random.below(requests_.count - requests_.hot);
  }

  // YCSB redraws while the age exceeds that of the oldest key. This is the same distribution in one draw, also if
  // nearly all ages exceed it: an exponential distribution truncated at `end`.
  std::uint64_t exponential(Random& random, std::uint64_t end) const {
    const double oldest = static_cast<double>(end) / requests_.mean_age;
    const double age = -std::log1p(random.uniform() * std::expm1(-oldest)) * requests_.mean_age;
    return end - 1 - std::min(static_cast<std::uint64_t>(age), end - 1);  // rounding
  }

  std::uint64_t sequential() {
    const auto position = position_;
    position_ += stride_;
    if (position_ >= requests_.count) position_ -= requests_.count;
    return position;
  }

  const KeyRequests requests_;
  std::uint64_t position_;
  std::uint64_t stride_;
  std::optional<PermutedZipfian> permuted_;
  KeySpace space_;
  ScrambledZipfian zipfian_;
  SkewedLatest latest_;
};

}  // namespace edgejoule::driver
