// The text of a kernel's attribute as a whole number.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace edgejoule::sampler {

// Decimal digits, a minus sign before them or none, a newline after them or none; nullopt for all else, for an empty
// text and for what does not fit.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text);

}  // namespace edgejoule::sampler
