// Sums a database's events about flushes, compactions and similar work.
#pragma once

#include <string>

#include "contract/adapter.h"

namespace edgejoule::driver {

// A component with all counters 0. `syncs` is absent because events do not report it; `read_bytes` only if
// says_read_bytes.
[[nodiscard]] inline Component counted_component(std::string name, bool says_read_bytes) {
  return {.name = std::move(name),
          .count = 0,
          .duration_ns = 0,
          .read_bytes = says_read_bytes ? std::optional<std::uint64_t>(0) : std::nullopt,
          .write_bytes = 0,
          .syncs = std::nullopt};
}

inline void add_if_said(std::optional<std::uint64_t>& sum, std::int64_t figure) {
  if (sum && figure > 0) *sum += static_cast<std::uint64_t>(figure);
}

inline void add(const DatabaseEvent& event, Component& component) {
  if (component.count) ++*component.count;
  add_if_said(component.duration_ns, event.duration_ns);
  add_if_said(component.read_bytes, event.read_bytes);
  add_if_said(component.write_bytes, event.write_bytes);
}

}  // namespace edgejoule::driver
