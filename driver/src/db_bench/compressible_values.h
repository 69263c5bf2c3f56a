// db_bench's values: cut one after the other from a pool of printable bytes, made of pieces of 100 bytes of which the
// first part is random and then repeated, so that a compressor keeps about that part.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "../memory_size.h"

namespace edgejoule::driver::db_bench {

// The same bytes as db_bench's, whatever the seed. Shared by all threads, read only.
class CompressibleValues {
 public:
  // compression_ratio: size after compression / size before, 0 to 1. Values of up to value_bytes_max can be cut.
  CompressibleValues(double compression_ratio, std::uint64_t value_bytes_max);

  [[nodiscard]] std::string_view bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Cuts values off a pool, from its beginning again when what is left is too short. One per thread.
class ValueCutter {
 public:
  explicit ValueCutter(const CompressibleValues& values) : pool_(values.bytes()) {}

  // The view lives as long as the pool.
  std::string_view next(std::uint64_t bytes) {
    const auto length = memory_size(bytes);
    if (length > pool_.size() - position_) position_ = 0;
    position_ += length;
    return pool_.substr(position_ - length, length);
  }

 private:
  std::string_view pool_;
  std::size_t position_ = 0;
};

}  // namespace edgejoule::driver::db_bench
