// Compares the rows of a database after a cut with the rows that it may have.
//
// A write acknowledged at or before the cut must be present, unless a later write of the same key had begun and is
// present instead. A write that had begun without being acknowledged may be present or not. Anything else is a loss or
// was never written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "operation_stream.h"

namespace edgejoule::driver {

// One write as performed. Its begin and acknowledgement are positions of the block trace.
struct PerformedWrite {
  WriteOperation operation;
  std::optional<std::uint64_t> begun_position;         // nullopt: it never began
  std::optional<std::uint64_t> acknowledged_position;  // nullopt: it failed, or the test ended first
  std::uint64_t acknowledged_ns = 0;                   // CLOCK_MONOTONIC
};

// The result of reading one key.
struct Found {
  enum class Kind : std::uint8_t { absent, version, never_written, unreadable };
  Kind kind;
  std::uint32_t version = 0;
};

struct Judgement {
  std::uint64_t rows_checked = 0;        // keys with an acknowledged write
  std::uint64_t rows_lost = 0;           // of these, keys whose acknowledged write is missing
  std::uint64_t rows_never_written = 0;  // contents that no write made, or rows from after the cut
  std::uint64_t rows_unreadable = 0;     // keys for which the database reported an error
  // For the oldest lost write: how many writes were acknowledged after it, and how long before the cut it was
  // acknowledged. nullopt: nothing is lost.
  std::optional<std::uint64_t> oldest_lost_operations;
  std::optional<double> oldest_lost_ms;
  // True if all rows together are the state after some number of writes in their order. nullopt if the writes have no
  // total order (several threads).
  std::optional<bool> earlier_state;
};

// `found` is by key number. Writes of one key are in order. With one thread all writes are in order (`ordered`).
[[nodiscard]] Judgement judge(std::span<const PerformedWrite> writes, bool ordered, std::uint64_t cut_position,
                              std::uint64_t cut_ns, std::span<const Found> found);

}  // namespace edgejoule::driver
