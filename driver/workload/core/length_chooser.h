// Draws field lengths and scan lengths. One per thread.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "length_histogram.h"
#include "system/check.h"
#include "system/random.h"
#include "zipfian.h"

namespace edgejoule::driver {

enum class LengthLaw : std::uint8_t { constant, uniform, zipfian, histogram };

// Lengths from `least` to `most`, both included.
struct Length {
  LengthLaw law;
  std::uint64_t least;
  std::uint64_t most;
  std::shared_ptr<const LengthHistogram> histogram;  // for the histogram distribution
};

class LengthChooser {
 public:
  explicit LengthChooser(Length length)
      : length_(std::move(length)), ranks_(length_.law == LengthLaw::zipfian ? length_.most - length_.least + 1 : 1) {
    const bool ranged = length_.law == LengthLaw::uniform || length_.law == LengthLaw::zipfian;
    EJ_CHECK(!ranged || length_.least <= length_.most, length_.least, length_.most);
    EJ_CHECK(length_.law != LengthLaw::histogram || length_.histogram != nullptr);
  }

  std::uint64_t next(Random& random) const {
    switch (length_.law) {
      case LengthLaw::constant:
        return length_.most;
      case LengthLaw::uniform:
        return length_.least + random.below(length_.most - length_.least + 1);
      case LengthLaw::zipfian:
        return length_.least + ranks_.next(random);
      case LengthLaw::histogram:
        return length_.histogram->next(random);
    }
    return length_.most;
  }

 private:
  Length length_;
  Zipfian ranks_;
};

}  // namespace edgejoule::driver
