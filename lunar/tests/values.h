// Shared by tests of tables: values, the seed, and the reduced number of cases under a sanitizer.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "lunar.h"

namespace lunar_test {

inline lunar_value integer(std::int64_t number) {
  lunar_value value{};
  value.type = LUNAR_INT64, value.as.integer = number;
  return value;
}

inline lunar_value bytes_of(lunar_type type, const char* data, std::size_t bytes) {
  lunar_value value{};
  value.type = static_cast<std::uint8_t>(type), value.bytes = static_cast<std::uint32_t>(bytes), value.as.data = data;
  return value;
}

// The caller owns the content, so a temporary string is refused.
inline lunar_value text(const char* string) { return bytes_of(LUNAR_TEXT, string, std::strlen(string)); }
inline lunar_value text(const std::string& string) { return bytes_of(LUNAR_TEXT, string.data(), string.size()); }
lunar_value text(std::string&& string) = delete;
inline lunar_value blob(const std::string& content) { return bytes_of(LUNAR_BLOB, content.data(), content.size()); }
lunar_value blob(std::string&& content) = delete;

inline std::string bytes_of(const lunar_value& value) { return {static_cast<const char*>(value.as.data), value.bytes}; }

// Returns LUNAR_SEED or 1, and prints it.
inline std::uint64_t test_seed() {
  const char* seed_text = std::getenv("LUNAR_SEED");
  const std::uint64_t seed = seed_text != nullptr ? std::strtoull(seed_text, nullptr, 10) : 1;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

// Of the cases of a long test, the fast tests and the sanitizers try one in n. With LUNAR_ALL_CASES in the environment,
// as the slow tests and the mutants have it, every case is tried.
inline std::uint64_t one_in(std::uint64_t n) {
  if (std::getenv("LUNAR_ALL_CASES") != nullptr) return 1;
  std::printf("one case in %llu\n", static_cast<unsigned long long>(n));
  return n;
}

}  // namespace lunar_test
