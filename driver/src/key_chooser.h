// Draws the number of an existing, acknowledged key. One per thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "acknowledged_counter.h"
#include "random.h"
#include "core_workload.h"
#include "zipfian.h"

namespace edgejoule::driver {

class KeyChooser {
 public:
  explicit KeyChooser(const CoreWorkload& workload)
      : law_(workload.key_law),
        first_(workload.insert_start),
        count_(workload.insert_count),
        zipfian_(workload.insert_start, workload.insert_start + workload.insert_count + workload.expected_new_keys()),
        latest_(workload.key_law == KeyLaw::latest ? std::max<std::uint64_t>(workload.records, 2) - 1 : 1) {}

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
    switch (law_) {
      case KeyLaw::uniform:
        return first_ + random.below(count_);
      case KeyLaw::zipfian:
        return zipfian_.next(random);
      case KeyLaw::latest:
        return latest_.next(random, end - 1);
    }
    return first_;
  }

  KeyLaw law_;
  std::uint64_t first_;
  std::uint64_t count_;
  ScrambledZipfian zipfian_;
  SkewedLatest latest_;
};

}  // namespace edgejoule::driver
