// Draws the number of an existing, acknowledged key. One per thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "acknowledged_counter.h"
#include "random.h"
#include "zipfian.h"

namespace edgejoule::driver {

enum class KeyLaw : std::uint8_t { uniform, zipfian, zipfian_of_records, latest, hotspot, exponential, sequential };

// Which keys are asked for, as YCSB's properties say it.
struct KeyRequests {
  KeyLaw law;
  std::uint64_t first;     // of the keys that are asked for
  std::uint64_t count;     // of them when the run starts
  std::uint64_t records;   // in the database when the run starts
  std::uint64_t reserved;  // zipfian: keys that the run may add
  double theta;            // zipfian, latest: the skew
  std::uint64_t hot;       // hotspot: keys in the hot set
  double hot_share;        // hotspot: of the requests, those to the hot set
  double mean_age;         // exponential: of a requested key, in keys
};

class KeyChooser {
 public:
  // For one of several clients. Sequential: each takes every clients-th key, so that together they pass over all.
  KeyChooser(const KeyRequests& requests, unsigned client, unsigned clients)
      : requests_(requests),
        position_(client % requests.count),
        stride_(clients % requests.count),
        permuted_(requests.law == KeyLaw::zipfian_of_records
                      ? std::optional<PermutedZipfian>(std::in_place, requests.first, requests.count, requests.theta)
                      : std::nullopt),
        zipfian_(requests.first, requests.first + requests.count + requests.reserved, requests.theta),
        latest_(requests.law == KeyLaw::latest ? std::max<std::uint64_t>(requests.records, 2) - 1 : 1, requests.theta) {
  }

  // Draws again while the key is not acknowledged yet.
  std::uint64_t next(Random& random, const AcknowledgedCounter& inserted) {
    for (;;) {
      const auto end = inserted.acknowledged();
      const auto number = draw(random, end);
      if (number < end) return number;
    }
  }

 private:
  std::uint64_t draw(Random& random, std::uint64_t end) {
    switch (requests_.law) {
      case KeyLaw::uniform:
        return requests_.first + random.below(requests_.count);
      case KeyLaw::zipfian:
        return zipfian_.next(random);
      case KeyLaw::zipfian_of_records:
        return permuted_->next(random);
      case KeyLaw::latest:
        return latest_.next(random, end - 1);
      case KeyLaw::hotspot:
        return requests_.first + hotspot(random);
      case KeyLaw::exponential:
        return exponential(random, end);
      case KeyLaw::sequential:
        return requests_.first + sequential();
    }
    return requests_.first;
  }

  std::uint64_t hotspot(Random& random) const {
    if (random.uniform() < requests_.hot_share) return random.below(requests_.hot);
    return requests_.hot + random.below(requests_.count - requests_.hot);
  }

  // Ages beyond the oldest key are drawn again: `end` is no key.
  std::uint64_t exponential(Random& random, std::uint64_t end) const {
    const double age = -std::log(random.uniform()) * requests_.mean_age;
    return age < static_cast<double>(end) ? end - 1 - static_cast<std::uint64_t>(age) : end;
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
  ScrambledZipfian zipfian_;
  SkewedLatest latest_;
};

}  // namespace edgejoule::driver
