// db_bench's key names: the number as big-endian bytes, then '0' up to the key's length. Shorter keys keep the number's
// low bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../cache_lines.h"
#include "../memory_size.h"

namespace edgejoule::driver::db_bench {

// Builds into a buffer of its own; a view lives until the next call. One per thread.
class NumberKey {
 public:
  explicit NumberKey(std::uint64_t bytes) : buffer_(memory_size(bytes), '0') {}

  std::string_view of(std::uint64_t number) {
    for (auto place = std::min(buffer_.size(), sizeof number); place-- > 0; number >>= 8U) {
      buffer_[place] = static_cast<char>(number & 0xFFU);
    }
    return {buffer_.data(), buffer_.size()};
  }

 private:
  CacheLineVector<char> buffer_;
};

}  // namespace edgejoule::driver::db_bench
