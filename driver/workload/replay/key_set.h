// A set of keys, stored as 64-bit hashes in 8 to 32 bytes per key. Keys with equal hashes count as one: the probability
// is 5 in a million among 10^7 keys.
#pragma once

#include <cstdint>
#include <vector>

namespace edgejoule::driver {

class KeySet {
 public:
  // Returns true if the hash was not in the set.
  bool add(std::uint64_t hash) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    const bool added = put(hash | 1U);  // 0 marks a free slot
    size_ += added ? 1 : 0;
    return added;
  }

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  bool put(std::uint64_t entry) {
    const auto mask = slots_.size() - 1;
    auto place = static_cast<std::size_t>(entry >> 1U) & mask;
    for (; slots_[place] != 0; place = (place + 1) & mask) {
      if (slots_[place] == entry) return false;
    }
    slots_[place] = entry;
    return true;
  }

  void grow() {
    std::vector<std::uint64_t> old(2 * slots_.size());
    old.swap(slots_);
    for (const auto entry : old) {
      if (entry != 0) put(entry);
    }
  }

  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(1024);
  std::size_t size_ = 0;
};

}  // namespace edgejoule::driver
