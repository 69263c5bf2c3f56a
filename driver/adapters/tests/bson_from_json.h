// A BSON document written as JSON.
#pragma once

#include <stdexcept>
#include <string>

#include "adapters/mongodb/document.h"

namespace edgejoule::driver {

class Bson : public MongoDocument {
 public:
  explicit Bson(const std::string& json) {
    bson_error_t error;
    if (!bson_init_from_json(taken(), json.data(), static_cast<ssize_t>(json.size()), &error)) {
      bson_init(get());
      throw std::runtime_error(error.message);
    }
  }
};

}  // namespace edgejoule::driver
