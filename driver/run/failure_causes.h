// Why operations failed, in the database's words, and how often.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "operation.h"

namespace edgejoule::driver {

struct FailureCause {
  Operation operation;
  Status status;
  std::uint64_t count;
  std::string words;  // of the first failure
};

// Words that differ in their digits only (a key, a port, a time) are of one cause.
class FailureCauses {
 public:
  static constexpr std::size_t causes_max = 32;  // of one that has more, the rest counts under "other causes"

  void add(Operation operation, Status status, std::string_view words, std::uint64_t count);
  void add(const FailureCauses& other);
  void clear() { causes_.clear(); }

  [[nodiscard]] std::vector<FailureCause> commonest_first() const;

 private:
  using Key = std::tuple<Operation, Status, std::string>;  // the words without their digits
  std::map<Key, FailureCause> causes_;
};

// "UPDATE BUSY 400, READ BUSY 600"
[[nodiscard]] std::string failures_by_status(const std::vector<FailureCause>& causes);

}  // namespace edgejoule::driver
