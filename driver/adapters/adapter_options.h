// Checks of an adapter's own options ("NAME.option") before anything is opened.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "contract/adapter.h"

namespace edgejoule::driver {

// Throws UsageError for a property "ADAPTER.x" that is none of the adapter's options.
void refuse_unknown_options(const Properties& properties, std::string_view adapter,
                            std::span<const OptionHelp> options);

// The value of a property that must be set. Throws UsageError.
[[nodiscard]] std::string required_option(const Properties& properties, const std::string& key,
                                          std::string_view meaning);

// The value in lower case; throws UsageError when it is none of `allowed` (which are lower case).
[[nodiscard]] std::string choice_option(const Properties& properties, const std::string& key,
                                        const std::string& default_value, std::span<const std::string_view> allowed);

// Throws UsageError when the value is not within min..max.
[[nodiscard]] std::uint64_t bounded_option(const Properties& properties, const std::string& key,
                                           std::uint64_t default_value, std::uint64_t min, std::uint64_t max);

// "field0", "field1", ... as the workload names them (properties fieldcount, fieldnameprefix); "" for its raw rows
// (rowformat=raw), which have one field without a name.
[[nodiscard]] std::vector<std::string> workload_field_names(const Properties& properties);

}  // namespace edgejoule::driver
