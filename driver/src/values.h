// What is written into fields: random bytes with YCSB's alphabet, or values that follow from key and field name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "memory_size.h"
#include "random.h"

namespace edgejoule::driver {

// Random printable bytes with the law of YCSB's generator (six bytes from each 32-bit word, each with an alphabet of
// its own). Shared by all threads, read only.
class ValuePool {
 public:
  // Values of up to value_bytes_max can be cut.
  ValuePool(std::uint64_t seed, std::uint64_t value_bytes_max);

  // A value from a random place; the view lives as long as the pool. At least 174 000 places.
  [[nodiscard]] std::string_view cut(Random& random, std::uint64_t bytes) const {
    const char* const begin = bytes_.data() + random.below(places_) * group_bytes;
    // Else the database would wait for them, in the time that is measured.
    __builtin_prefetch(begin);
    __builtin_prefetch(begin + memory_size(bytes));
    return {begin, memory_size(bytes)};
  }

  static constexpr std::uint64_t group_bytes = 6;

 private:
  std::uint64_t places_;
  std::vector<char> bytes_;
};

// YCSB's value for data integrity: key ':' field, extended by ':' and Java's hashCode of the text so far, cut to
// `bytes`. Written to out (its capacity is reused).
void deterministic_value(std::string_view key, std::string_view field, std::uint64_t bytes, std::string& out);

}  // namespace edgejoule::driver
