// String properties with the semantics of Java's .properties files, as YCSB reads them: a later value replaces an
// earlier one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "system/usage_error.h"

namespace edgejoule::driver {

class Properties {
 public:
  // Reads Java .properties syntax: comments (# and !), key=value, key: value, key value, continued lines, escapes.
  // Throws UsageError if the file cannot be read, is neither a file nor a pipe, or exceeds 16 MiB, and with file and
  // line for a malformed line.
  void load_file(const std::filesystem::path& path);

  // `origin` is where the value was given ("-p", "workloada:12"). Messages show it.
  void set(const std::string& key, const std::string& value, const std::string& origin = "-p");

  [[nodiscard]] bool has(const std::string& key) const;
  [[nodiscard]] std::string get(const std::string& key, const std::string& default_value) const;

  // Throws UsageError with the key, the value and the expected form if the value is malformed.
  // most: what the caller accepts, for the message on a number of more than 64 bits.
  [[nodiscard]] std::uint64_t get_u64(const std::string& key, std::uint64_t default_value,
                                      std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const;
  [[nodiscard]] double get_double(const std::string& key, double default_value) const;
  [[nodiscard]] bool get_bool(const std::string& key, bool default_value) const;

  [[nodiscard]] const std::map<std::string, std::string>& all() const noexcept { return values_; }

  // Where the key was given; empty if it was not given.
  [[nodiscard]] std::string origin(const std::string& key) const;

 private:
  [[noreturn]] void refuse(const std::string& key, std::string_view expected) const;

  std::map<std::string, std::string> values_;
  std::map<std::string, std::string> origins_;
};

}  // namespace edgejoule::driver
