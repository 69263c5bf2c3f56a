#include "test_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "system/usage_error.h"

namespace edgejoule::driver {
namespace {

struct Variation {
  std::string key;
  std::vector<std::string> values;
};

Variation parsed(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw UsageError(fmt::format("--vary {}: expected key=value,value", text));
  }
  Variation variation{text.substr(0, equals), {}};
  std::istringstream values(text.substr(equals + 1));
  for (std::string value; std::getline(values, value, ',');) {
    if (std::ranges::find(variation.values, value) != variation.values.end()) {
      throw UsageError(fmt::format("--vary {}: has {} twice; expected each value once", text, value));
    }
    variation.values.push_back(value);
  }
  return variation;
}

// A key varied twice, or varied and given, would produce settings that contradict their names.
std::vector<Variation> parsed(const std::vector<std::string>& texts, const Properties& given) {
  std::vector<Variation> variations;
  for (const auto& text : texts) {
    auto variation = parsed(text);
    const auto& key = variation.key;
    if (std::ranges::find(variations, key, &Variation::key) != variations.end()) {
      throw UsageError(
          fmt::format("--vary {}: {} is varied twice; expected one --vary {}=value,value", text, key, key));
    }
    if (key == "threadcount") {
      throw UsageError(fmt::format("--vary {}: all settings are tested by the same threads; expected -threads", text));
    }
    if (given.has(key)) {
      throw UsageError(fmt::format("--vary {}: {} is given by {}, too; expected --vary {}=value,value alone", text, key,
                                   given.origin(key), key));
    }
    variations.push_back(std::move(variation));
  }
  return variations;
}

std::vector<std::string> names_of_properties(const AdapterInfo& adapter) {
  std::vector<std::string> names = {"db", "durability", "fieldcount", "fieldlength", "fieldnameprefix", "threadcount"};
  for (const auto& option : adapter.options) names.push_back(option.name);
  return names;
}

void apply(const Variation& variation, const std::string& value, NamedSetting& named) {
  auto& setting = named.setting;
  if (variation.key == "durability") {
    setting.durability = durability_named(value, "--vary");
  } else {
    setting.properties.set(variation.key, value, "--vary");
  }
  const auto prefix = setting.adapter->name + ".";
  const auto key = variation.key.starts_with(prefix) ? variation.key.substr(prefix.size()) : variation.key;
  named.name += fmt::format("{}{}={}", named.name.empty() ? "" : " ", key, value);
}

std::vector<NamedSetting> varied(const std::vector<NamedSetting>& settings, const Variation& variation) {
  std::vector<NamedSetting> varied;
  for (const auto& setting : settings) {
    for (const auto& value : variation.values) {
      varied.push_back(setting);
      apply(variation, value, varied.back());
    }
  }
  return varied;
}

}  // namespace

Durability durability_named(const std::string& name, const std::string& origin) {
  const auto found = std::ranges::find(durability_names, name);
  if (found == durability_names.end()) {
    throw UsageError(fmt::format("{}: {}: expected one of: {}", origin, name, fmt::join(durability_names, ", ")));
  }
  return static_cast<Durability>(found - durability_names.begin());
}

std::vector<NamedSetting> test_settings(const DatabaseSetting& base, const std::vector<std::string>& vary,
                                        const std::optional<std::string>& expected) {
  std::vector<NamedSetting> settings = {{"", base}};
  for (const auto& variation : parsed(vary, base.properties)) settings = varied(settings, variation);
  for (auto& named : settings) {
    check_testable(*named.setting.adapter, named.setting.properties);
    named.setting.promise = expected ? durability_named(*expected, "--expect") : named.setting.durability;
    if (named.name.empty()) named.name = "as given";
  }
  return settings;
}

void check_testable(const AdapterInfo& adapter, const Properties& properties) {
  const auto path = adapter.name + ".path";
  if (std::ranges::find(adapter.options, path, &OptionHelp::name) == adapter.options.end()) {
    throw UsageError(fmt::format("-db {}: verify-durability needs a database that keeps files on a path; {} has none",
                                 adapter.name, adapter.name));
  }
  const auto names = names_of_properties(adapter);
  for (const auto& [name, value] : properties.all()) {
    if (name == path) {
      throw UsageError(fmt::format("{}: {}: leave it out; the test makes its disk", properties.origin(name), name));
    }
    if (std::ranges::find(names, name) == names.end()) {
      throw UsageError(fmt::format("{}: unknown property {}; verify-durability knows: {}", properties.origin(name),
                                   name, fmt::join(names, ", ")));
    }
  }
}

std::string prepare_for_test(const AdapterInfo& adapter, Properties& properties,
                             const std::filesystem::path& directory) {
  static constexpr std::array<std::array<const char*, 3>, 2> small_buffers = {{
      {"leveldb", "leveldb.write_buffer_bytes", "65536"},
      {"rocksdb", "rocksdb.options", "write_buffer_size=131072"},
  }};
  properties.set(adapter.name + ".path", (directory / "database").string(), "verify-durability");
  for (const auto& [name, key, value] : small_buffers) {
    if (adapter.name != name || properties.has(key)) continue;
    properties.set(key, value, "verify-durability");
    return fmt::format("{}={}", key, value);
  }
  return {};
}

}  // namespace edgejoule::driver
