// Counts failed operations by the database's message.
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
  std::string message;  // message of the first failure
};

// Messages that differ only in their digits (a key, a port, a time) are one cause.
class FailureCauses {
 public:
  static constexpr std::size_t causes_max = 32;  // per run; further causes count as "other causes"

  void add(Operation operation, Status status, std::string_view message, std::uint64_t count);
  void add(const FailureCauses& other);
  void clear() { causes_.clear(); }

  [[nodiscard]] std::vector<FailureCause> commonest_first() const;

 private:
  using Key = std::tuple<Operation, Status, std::string>;  // the message without its digits
  std::map<Key, FailureCause> causes_;
};

// "UPDATE BUSY 400, READ BUSY 600"
[[nodiscard]] std::string failures_by_status(const std::vector<FailureCause>& causes);

}  // namespace edgejoule::driver
