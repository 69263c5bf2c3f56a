#include "key_value_database.h"

#include <fmt/format.h>

#include <utility>

#include "adapters/adapter_options.h"
#include "contract/properties.h"

namespace edgejoule::driver {

void KeyValueDatabase::open(const Properties& properties, Durability durability, bool create, EventSink sink) {
  refuse_unknown_options(properties, adapter_, options_);
  path_ = required_option(properties, std::string(marks_.property), "DIRECTORY");
  durability_ = durability;
  take_options(properties);
  prepare_data_directory(path_, create, marks_);
  open_library(properties, create, std::move(sink));
}

Status KeyValueDatabase::flushed(std::string_view doing, const std::string& failure) {
  flush_error_ = failure.empty() ? "" : fmt::format("{}: {} of {}: {}", marks_.database, doing, path_, failure);
  return failure.empty() ? Status::ok : Status::error;
}

}  // namespace edgejoule::driver
