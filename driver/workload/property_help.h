// The description of a workload's property. The driver lists it, and schemas/properties.json is generated from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace edgejoule::driver {

enum class PropertyType : std::uint8_t {
  count,   // a whole number >= 0
  number,  // >= 0
  real,    // any number
  share,   // a proportion; proportions that do not add up to 1 are scaled
  flag,    // true or false
  text,
};

struct PropertyHelp {
  std::string name;
  PropertyType type;
  std::string meaning;
  std::string default_value;              // or the rule for it; empty: none
  std::vector<std::string> choices = {};  // the permitted values; empty: all of the type
};

}  // namespace edgejoule::driver
