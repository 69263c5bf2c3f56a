// The contents of events, as JSON by schemas/driver-event.schema.json. Unknown values are null.
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

// At most the eight most frequent causes.
[[nodiscard]] Json to_json(const std::vector<FailureCause>& commonest_first);

// latencies() is for the `end` event and includes the whole histograms; the other is for `interval` events.
[[nodiscard]] Json latencies(const Measurements& measurements);
[[nodiscard]] Json interval_latencies(const Measurements& measurements);

// nullopt if a value is missing or the counter was reset.
[[nodiscard]] std::optional<std::uint64_t> difference(const std::optional<std::uint64_t>& before,
                                                      const std::optional<std::uint64_t>& after);

// The difference of two readings of the database's components, and of its I/O counts.
[[nodiscard]] Json components_between(const std::vector<Component>& before, const std::vector<Component>& after);
[[nodiscard]] Json io_between(const std::optional<IoCounts>& before, const std::optional<IoCounts>& after);

}  // namespace edgejoule::driver
