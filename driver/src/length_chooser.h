// Draws field lengths and scan lengths. One per thread.
#pragma once

#include "random.h"
#include "core_workload.h"
#include "zipfian.h"

namespace edgejoule::driver {

class LengthChooser {
 public:
  explicit LengthChooser(const Length& length) : length_(length), ranks_(length.most - length.least + 1) {}

  std::uint64_t next(Random& random) const {
    switch (length_.law) {
      case LengthLaw::constant:
        return length_.most;
      case LengthLaw::uniform:
        return length_.least + random.below(length_.most - length_.least + 1);
      case LengthLaw::zipfian:
        return length_.least + ranks_.next(random);
    }
    return length_.most;
  }

 private:
  Length length_;
  Zipfian ranks_;
};

}  // namespace edgejoule::driver
