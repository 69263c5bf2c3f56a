// YCSB's key names: "user", zeros for padding, and the number, hashed unless keys are inserted in order. Tables with
// integer keys take only the number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "hash.h"
#include "system/cache_lines.h"
#include "system/memory_size.h"
#include "workload/decimal.h"

namespace edgejoule::driver {

// Builds the name in its own buffer. A view is valid until the next call. One per thread.
class KeyName {
 public:
  KeyName(bool hashed, std::uint64_t zero_padding, bool number_alone = false)
      : hashed_(hashed),
        left_out_(number_alone ? prefix.size() : 0),
        padding_(memory_size(zero_padding)),
        buffer_(prefix.size() + std::max(padding_, decimal_digits_max), '0') {}

  std::string_view of(std::uint64_t number) {
    if (hashed_) number = fnv_hash(number);
    char* const end = buffer_.data() + buffer_.size();
    write_twenty_digits(end - decimal_digits_max, number);
    char* const begin = end - std::max(padding_, decimal_digits(number)) - prefix.size();
    std::memcpy(begin, prefix.data(), prefix.size());
    return {begin + left_out_, static_cast<std::size_t>(end - begin) - left_out_};
  }

 private:
  static constexpr std::string_view prefix = "user";

  bool hashed_;
  std::size_t left_out_;
  std::size_t padding_;
  CacheLineVector<char> buffer_;  // digits at the end, the prefix directly before them
};

}  // namespace edgejoule::driver
