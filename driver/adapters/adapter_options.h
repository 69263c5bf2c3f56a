// Checks an adapter's options ("NAME.option") before anything is opened.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "contract/adapter.h"

namespace edgejoule::driver {

// Throws UsageError for a property "ADAPTER.x" that is not an option of the adapter.
void refuse_unknown_options(const Properties& properties, std::string_view adapter,
                            std::span<const OptionHelp> options);

// The value of a required property. Throws UsageError if it is missing.
[[nodiscard]] std::string required_option(const Properties& properties, const std::string& key,
                                          std::string_view meaning);

// The value in lower case. Throws UsageError if it is not in `allowed`, whose entries are in lower case.
[[nodiscard]] std::string choice_option(const Properties& properties, const std::string& key,
                                        const std::string& default_value, std::span<const std::string_view> allowed);

// Throws UsageError if the value is outside min..max.
[[nodiscard]] std::uint64_t bounded_option(const Properties& properties, const std::string& key,
                                           std::uint64_t default_value, std::uint64_t min, std::uint64_t max);

// The workload's field names: "field0", "field1", ... (properties fieldcount, fieldnameprefix), or "" for raw rows
// (rowformat=raw), which have one field without a name.
[[nodiscard]] std::vector<std::string> workload_field_names(const Properties& properties);

}  // namespace edgejoule::driver
