// Messages for the user on standard error.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "usage.h"

namespace edgejoule::driver {

// Ignores write errors: a closed terminal must not end a run or lose a result.
template <typename... Values>
void tell(fmt::format_string<Values...> text, Values&&... values) {
  const auto message = fmt::format(text, std::forward<Values>(values)...);
  if (std::fputs(message.c_str(), stderr) != EOF) count_own_writes(message.size());
}

}  // namespace edgejoule::driver
