// YCSB's key names: "user", zeros up to the padding, and the number, hashed unless keys are inserted in order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace edgejoule::driver {

// Builds into a buffer of its own; a view lives until the next call. One per thread.
class KeyName {
 public:
  KeyName(bool hashed, std::uint64_t zero_padding);

  std::string_view of(std::uint64_t number);

 private:
  bool hashed_;
  std::uint64_t zero_padding_;
  std::string buffer_;
};

}  // namespace edgejoule::driver
