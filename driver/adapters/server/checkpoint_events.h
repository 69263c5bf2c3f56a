// Checkpoints as a server counts them, and the events that follow from two counts.
#pragma once

#include <cstdint>
#include <optional>

#include "contract/adapter.h"

namespace edgejoule::driver {

// Since the server began.
struct Checkpoints {
  std::uint64_t count = 0;
  std::uint64_t duration_ms = 0;
  std::optional<std::uint64_t> write_bytes;  // nullopt: the server does not say
};

// One event for the checkpoints that ended between two looks. Not for several threads at once.
class CheckpointEvents {
 public:
  // from: what was there when the database was opened.
  void begin(EventSink sink, const Checkpoints& from);

  void look(const Checkpoints& now);

 private:
  EventSink sink_;
  Checkpoints seen_;
};

}  // namespace edgejoule::driver
