// What is written into events: JSON as in schemas/driver-event.schema.json. What is not known is null.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "contract/adapter.h"
#include "event_log.h"
#include "measurements.h"
#include "system/page_cache.h"

namespace edgejoule::driver {

template <typename Value>
[[nodiscard]] Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

[[nodiscard]] Json to_json(const DatabaseEvent& event);
[[nodiscard]] Json to_json(const DroppedCaches& caches);

// The commonest eight at most.
[[nodiscard]] Json to_json(const std::vector<FailureCause>& commonest_first);

// Of `end`, with the whole histograms, and of `interval`.
[[nodiscard]] Json latencies(const Measurements& measurements);
[[nodiscard]] Json interval_latencies(const Measurements& measurements);

// nullopt where one is absent or the count began anew.
[[nodiscard]] std::optional<std::uint64_t> difference(const std::optional<std::uint64_t>& before,
                                                      const std::optional<std::uint64_t>& after);

// What the parts of the database did between two looks at them, and what it asked of storage.
[[nodiscard]] Json components_between(const std::vector<Component>& before, const std::vector<Component>& after);
[[nodiscard]] Json io_between(const std::optional<IoCounts>& before, const std::optional<IoCounts>& after);

}  // namespace edgejoule::driver
