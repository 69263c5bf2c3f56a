// Words for the user on standard error.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "usage.h"

namespace edgejoule::driver {

// What cannot be written is dropped: a closed terminal ends no run and hides no result.
template <typename... Values>
void tell(fmt::format_string<Values...> text, Values&&... values) {
  const auto words = fmt::format(text, std::forward<Values>(values)...);
  if (std::fputs(words.c_str(), stderr) != EOF) count_own_writes(words.size());
}

}  // namespace edgejoule::driver
