#include "checkpoint_events.h"

#include <fmt/format.h>

#include <utility>

#include "system/system.h"

namespace edgejoule::driver {

void CheckpointEvents::begin(EventSink sink, const Checkpoints& from) {
  sink_ = std::move(sink);
  seen_ = from;
}

void CheckpointEvents::observe(const Checkpoints& now) {
  constexpr std::uint64_t ms = 1'000'000;
  if (now.count < seen_.count) seen_ = {};  // the server was restarted
  if (now.count > seen_.count && sink_) {
    const auto duration_ns = (now.duration_ms - seen_.duration_ms) * ms;
    const auto write_bytes =
        now.write_bytes ? static_cast<std::int64_t>(*now.write_bytes - seen_.write_bytes.value_or(0)) : -1;
    sink_({DatabaseEvent::Kind::checkpoint, now_monotonic_ns() - duration_ns,
           duration_ns > 0 ? static_cast<std::int64_t>(duration_ns) : -1, -1, write_bytes,
           fmt::format("{} checkpoints that ended since the last query", now.count - seen_.count)});
  }
  seen_ = now;
}

}  // namespace edgejoule::driver
