#include "values.h"

#include <array>
#include <charconv>
#include <cstring>

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t places_least = 174'762;  // 1 MiB

void fill_group(char* out, std::uint32_t word) {
  static constexpr std::array<std::uint32_t, ValuePool::group_bytes> masks{31, 63, 95, 31, 63, 95};
  for (const auto mask : masks) {
    *out++ = static_cast<char>(' ' + (word & mask));
    word >>= 5U;
  }
}

// Java's String.hashCode, continued over more text.
std::uint32_t java_hash(std::uint32_t hash, std::string_view text) {
  for (const char c : text) hash = 31 * hash + static_cast<unsigned char>(c);
  return hash;
}

}  // namespace

ValuePool::ValuePool(std::uint64_t seed, std::uint64_t value_bytes_max) : places_(places_least) {
  const auto groups = places_ + (value_bytes_max + group_bytes - 1) / group_bytes;
  bytes_.resize(memory_size(groups * group_bytes));
  Random random(seed);
  for (std::uint64_t i = 0; i < groups; ++i) {
    fill_group(bytes_.data() + i * group_bytes, static_cast<std::uint32_t>(random.next() >> 32U));
  }
}

void deterministic_value(std::string_view key, std::string_view field, std::uint64_t bytes, std::string& out) {
  out.assign(key);
  out += ':';
  out += field;
  auto hash = java_hash(0, out);
  while (out.size() < bytes) {
    std::array<char, 12> extension{':'};
    hash = java_hash(hash, ":");
    const auto end =
        std::to_chars(extension.data() + 1, extension.data() + extension.size(), static_cast<std::int32_t>(hash)).ptr;
    const std::string_view digits(extension.data() + 1, static_cast<std::size_t>(end - extension.data() - 1));
    hash = java_hash(hash, digits);
    out += ':';
    out += digits;
  }
  out.resize(memory_size(bytes));
}

}  // namespace edgejoule::driver
