// Parses a kernel attribute as a whole number.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace edgejoule::sampler {

// Decimal digits, with an optional minus sign before and an optional newline after them. nullopt for any other text and
// for a number that does not fit.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text);

}  // namespace edgejoule::sampler
