// The contents of fields: random bytes of YCSB's alphabet, or values derived from key and field name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "contract/adapter.h"
#include "system/cache_lines.h"

namespace edgejoule::driver {

// Random printable bytes, distributed as those of Java YCSB's RandomByteIterator: each group of six bytes holds 31
// random bits. Byte i of a group is ' ' + (bits & mask), with masks 31, 63, 95, 31, 63, 95, where the bits of adjacent
// bytes overlap. Bytes are never reused, so values do not repeat. One per thread.
class RandomBytes {
 public:
  explicit RandomBytes(std::uint64_t seed) : state_(seed) {}

  // Fills whole blocks: `out` needs room for `bytes` rounded up to whole blocks. The first byte begins a group.
  void fill(char* out, std::uint64_t bytes);

  static constexpr std::uint64_t group_bytes = 6;
  static constexpr std::uint64_t block_bytes = 48;

 private:
  std::uint64_t state_;
};

// The random values of one record, new for each call of the database.
class ValueBuffer {
 public:
  // Gives fields[i] a value of lengths[i] bytes. The values are valid until the next call.
  void draw(RandomBytes& random, std::span<const std::uint64_t> lengths, std::span<Field> fields);

 private:
  CacheLineVector<char> bytes_;
};

// YCSB's value for data integrity: key ':' field, extended by ':' and Java's hashCode of the text so far, cut to
// `bytes`. Written to `out`, whose capacity is reused.
void deterministic_value(std::string_view key, std::string_view field, std::uint64_t bytes, std::string& out);

}  // namespace edgejoule::driver
