// Keys and values copied from a cursor, which guarantees only its current entry.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace edgejoule::driver {

class ScanBuffer {
 public:
  void clear() {
    bytes_.clear();
    parts_.clear();
  }

  void append(std::string_view part) {
    parts_.push_back({bytes_.size(), part.size()});
    bytes_.append(part);
  }

  [[nodiscard]] std::size_t size() const { return parts_.size(); }

  // Valid until the next append or clear.
  [[nodiscard]] std::string_view operator[](std::size_t index) const {
    return std::string_view(bytes_).substr(parts_[index].begin, parts_[index].length);
  }

 private:
  struct Part {
    std::size_t begin;
    std::size_t length;
  };

  std::string bytes_;
  std::vector<Part> parts_;
};

}  // namespace edgejoule::driver
