#include "adapter_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "contract/properties.h"
#include "system/memory_size.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t default_field_count = 10;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

std::string names_of(std::span<const OptionHelp> options) {
  std::vector<std::string> names;
  for (const OptionHelp& option : options) names.push_back(option.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

void refuse_unknown_options(const Properties& properties, std::string_view adapter,
                            std::span<const OptionHelp> options) {
  const std::string prefix = std::string(adapter) + ".";
  for (const auto& [key, value] : properties.all()) {
    if (!key.starts_with(prefix)) continue;
    const bool known = std::any_of(options.begin(), options.end(),
                                   [&key = key](const OptionHelp& option) { return option.name == key; });
    if (!known) {
      throw UsageError(fmt::format("{}: property {} is unknown to the {} adapter; it has {}", properties.origin(key),
                                   key, adapter, names_of(options)));
    }
  }
}

std::string required_option(const Properties& properties, const std::string& key, std::string_view meaning) {
  const std::string value = properties.get(key, "");
  if (value.empty()) throw UsageError(fmt::format("property {} is not set; expected -p {}={}", key, key, meaning));
  return value;
}

std::string choice_option(const Properties& properties, const std::string& key, const std::string& default_value,
                          std::span<const std::string_view> allowed) {
  const std::string value = lower(properties.get(key, default_value));
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    throw UsageError(fmt::format("{}: property {}={}: expected one of {}", properties.origin(key), key, value,
                                 fmt::join(allowed, ", ")));
  }
  return value;
}

std::uint64_t bounded_option(const Properties& properties, const std::string& key, std::uint64_t default_value,
                             std::uint64_t min, std::uint64_t max) {
  const std::uint64_t value = properties.get_u64(key, default_value, max);
  if (value < min || value > max) {
    const auto what = properties.has(key) ? fmt::format("{}: property {}={}", properties.origin(key), key, value)
                                          : fmt::format("property {} (default {})", key, value);
    throw UsageError(fmt::format("{}: expected {} to {}", what, min, max));
  }
  return value;
}

std::vector<std::string> workload_field_names(const Properties& properties) {
  if (properties.get("rowformat", "") == "raw") return {""};
  const std::string prefix = properties.get("fieldnameprefix", "field");
  const std::uint64_t count = properties.get_u64("fieldcount", default_field_count);
  std::vector<std::string> names;
  names.reserve(memory_size(count));
  for (std::uint64_t index = 0; index < count; ++index) names.push_back(prefix + std::to_string(index));
  return names;
}

}  // namespace edgejoule::driver
