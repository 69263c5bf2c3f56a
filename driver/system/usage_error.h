// What the user asked for cannot be done as asked: says what, where, and what was expected. Exit status 2.
#pragma once

#include <stdexcept>

namespace edgejoule::driver {

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace edgejoule::driver
