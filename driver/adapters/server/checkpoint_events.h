// Derives checkpoint events from a server's checkpoint counters.
#pragma once

#include <cstdint>
#include <optional>

#include "contract/adapter.h"

namespace edgejoule::driver {

// Totals since the server started.
struct Checkpoints {
  std::uint64_t count = 0;
  std::uint64_t duration_ms = 0;
  std::optional<std::uint64_t> write_bytes;  // nullopt: not reported
};

// Reports one event for the checkpoints that ended between two polls. Not thread safe.
class CheckpointEvents {
 public:
  // from: the counters when the database was opened.
  void begin(EventSink sink, const Checkpoints& from);

  void observe(const Checkpoints& now);

 private:
  EventSink sink_;
  Checkpoints seen_;
};

}  // namespace edgejoule::driver
