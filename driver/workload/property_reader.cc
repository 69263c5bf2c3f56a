#include "property_reader.h"

#include "system/usage_error.h"

namespace edgejoule::driver {

void refuse(const Properties& properties, const std::string& key, const std::string& why) {
  const auto origin = properties.origin(key);
  throw UsageError(fmt::format("{}{}={}: {}", origin.empty() ? "" : origin + ": property ", key,
                               properties.get(key, "(default)"), why));
}

std::uint64_t PropertyReader::number(const std::string& key, std::uint64_t default_value, std::uint64_t least,
                                     std::uint64_t most) {
  const auto value = properties_.get_u64(key, default_value, most);
  if (value < least || value > most) {
    refuse(properties_, key, fmt::format("expected a number from {} to {}", least, most));
  }
  in_force_[key] = fmt::format("{}", value);
  return value;
}

double PropertyReader::real(const std::string& key, double default_value, double least, double most) {
  const auto value = properties_.get_double(key, default_value);
  if (value < least || value > most) {
    refuse(properties_, key, fmt::format("expected a number from {} to {}", least, most));
  }
  in_force_[key] = fmt::format("{}", value);
  return value;
}

double PropertyReader::proportion(const std::string& key, double default_value) {
  const auto value = properties_.get_double(key, default_value);
  if (value < 0) refuse(properties_, key, "expected a proportion >= 0");
  in_force_[key] = fmt::format("{}", value);
  return value;
}

bool PropertyReader::flag(const std::string& key, bool default_value) {
  const auto value = properties_.get_bool(key, default_value);
  in_force_[key] = value ? "true" : "false";
  return value;
}

std::string PropertyReader::text(const std::string& key, const std::string& default_value) {
  return in_force_[key] = properties_.get(key, default_value);
}

bool PropertyReader::update_replaces(bool all_fields) {
  enum class Update : std::uint8_t { automatic, merge, put };
  const auto update =
      choice<Update>("update", "auto", {{"auto", Update::automatic}, {"merge", Update::merge}, {"put", Update::put}});
  if (update == Update::put && !all_fields) {
    refuse(properties_, "update", "an update of one field would lose the others; expected writeallfields=true as well");
  }
  return all_fields && update != Update::merge;
}

PropertyHelp update_property() {
  return {"update",
          PropertyType::text,
          "key-value stores. put: an update writes the record without reading it; merge: it reads the record first; "
          "auto: put if it writes all fields, else merge",
          "auto",
          {"auto", "merge", "put"}};
}

}  // namespace edgejoule::driver
