// Counts the operations of one client. Dimensions and cells are those of the recorder of Java YCSB,
// java/src/main/java/edgejoule/ycsb/Tally.java, so that both can be compared. A line of the result is
// dimension,cell,count.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "contract/adapter.h"

namespace edgejoule::driver {

class OperationTally {
 public:
  OperationTally(std::set<std::string, std::less<>> dimensions, std::uint64_t records)
      : dimensions_(std::move(dimensions)), next_(records) {}

  void read(std::string_view key, FieldNames names);
  void scan(std::string_view key, std::uint64_t count, FieldNames names);
  void update(std::string_view key, Fields fields);
  void insert(std::string_view key, Fields fields);

  void add(const OperationTally& other);
  [[nodiscard]] std::string lines() const;

 private:
  static constexpr std::size_t group_bytes = 6;

  // A bit that two adjacent bytes of a group of six take from the same bit of one word.
  struct Shared {
    std::size_t place;
    unsigned first_bit;
    unsigned second_bit;  // of the next byte
  };
  static constexpr std::array<Shared, 3> shared_bits{{{1, 5, 0}, {2, 6, 1}, {4, 5, 0}}};

  [[nodiscard]] bool wanted(std::string_view dimension) const { return dimensions_.contains(dimension); }
  void count(std::string_view dimension, std::string_view cell);
  void requested(std::string_view key);
  void asked(std::string_view key, FieldNames names);
  void written(Fields fields);
  void bytes_of(std::string_view value);

  std::set<std::string, std::less<>> dimensions_;
  std::map<std::string, std::unordered_map<std::string, std::uint64_t>, std::less<>> counts_;
  std::array<std::array<std::uint64_t, 256>, group_bytes> bytes_{};
  std::array<std::array<std::uint64_t, 4>, shared_bits.size()> shared_{};
  std::uint64_t next_;  // number of the next key to insert
  std::uint64_t inserted_ = 0;
};

}  // namespace edgejoule::driver
