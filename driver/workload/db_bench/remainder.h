// x mod n for a constant n: two multiplications instead of a division.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "system/check.h"
#include "system/wide_product.h"

namespace edgejoule::driver::db_bench {

class Remainder {
 public:
  explicit Remainder(std::uint64_t divisor)  // > 0
      : divisor_(divisor),
        reciprocal_(std::numeric_limits<std::uint64_t>::max() / std::max<std::uint64_t>(divisor, 1)) {
    EJ_CHECK(divisor > 0);
  }

  [[nodiscard]] std::uint64_t of(std::uint64_t number) const {
    auto rest = number - wide_product(number, reciprocal_).high * divisor_;  // the quotient may be one or two too small
    while (rest >= divisor_) rest -= divisor_;
    return rest;
  }

 private:
  std::uint64_t divisor_;
  std::uint64_t reciprocal_;
};

}  // namespace edgejoule::driver::db_bench
