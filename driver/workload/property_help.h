// A property of a workload as the driver lists it; schemas/properties.json is made from these.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace edgejoule::driver {

enum class PropertyType : std::uint8_t {
  count,   // a whole number of at least 0
  number,  // at least 0
  real,    // any number
  share,   // a part of a whole; proportions that do not add up to 1 are scaled
  flag,    // true or false
  text,
};

struct PropertyHelp {
  std::string name;
  PropertyType type;
  std::string meaning;
  std::string default_value;              // or how it follows from other properties; empty: none
  std::vector<std::string> choices = {};  // the values there are; empty: all of the type
};

}  // namespace edgejoule::driver
