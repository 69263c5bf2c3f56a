// A request that cannot be carried out as given. The message names what, where and what was expected. Exit status 2.
#pragma once

#include <stdexcept>

namespace edgejoule::driver {

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace edgejoule::driver
