// What a database may show after a cut, and what it did show.
//
// A write that was acknowledged at or before the cut must be there, or a later one of the same key that had begun. A
// write that had begun and was not acknowledged may be there or not. Anything else is lost or was never written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "operation_stream.h"

namespace edgejoule::driver {

// One write as it was carried out: when it began and was acknowledged, in positions of the block trace.
struct PerformedWrite {
  WriteOperation operation;
  std::optional<std::uint64_t> begun_position;         // nullopt: it never began
  std::optional<std::uint64_t> acknowledged_position;  // nullopt: it failed, or the test ended first
  std::uint64_t acknowledged_ns = 0;                   // CLOCK_MONOTONIC
};

// What was found of a key.
struct Found {
  enum class Kind : std::uint8_t { absent, version, never_written, unreadable };
  Kind kind;
  std::uint32_t version = 0;
};

struct Judgement {
  std::uint64_t rows_checked = 0;        // keys with an acknowledged write
  std::uint64_t rows_lost = 0;           // of those: an acknowledged write is not there
  std::uint64_t rows_never_written = 0;  // content that no write ever made, or rows from after the cut
  std::uint64_t rows_unreadable = 0;     // the database reported an error for the key
  // Of the oldest acknowledged write that is lost: how many writes were acknowledged after it, and how long before the
  // cut it was acknowledged. nullopt: nothing is lost.
  std::optional<std::uint64_t> oldest_lost_operations;
  std::optional<double> oldest_lost_ms;
  // Whether all rows together are the state after some number of the writes, in their order. nullopt when the writes
  // have no one order (several threads).
  std::optional<bool> earlier_state;
};

// The rows by key number. The writes of one key are in order; those of a single thread are all in order (`ordered`).
[[nodiscard]] Judgement judge(std::span<const PerformedWrite> writes, bool ordered, std::uint64_t cut_position,
                              std::uint64_t cut_ns, std::span<const Found> found);

}  // namespace edgejoule::driver
