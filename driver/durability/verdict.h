// The result of all cuts of one setting, and the verdict on its promise.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "examination.h"

namespace edgejoule::driver {

struct CutSummary {
  std::uint64_t cuts = 0;
  std::uint64_t rows_checked = 0;  // over all cuts
  std::uint64_t rows_lost = 0;     // over all cuts
  std::uint64_t rows_lost_max = 0;
  std::uint64_t cuts_with_loss = 0;
  std::optional<std::uint64_t> oldest_lost_operations;  // the largest of any cut
  std::optional<double> oldest_lost_ms;
  std::uint64_t rows_never_written = 0;
  std::uint64_t rows_unreadable = 0;
  std::uint64_t databases_failed = 0;     // cuts
  std::uint64_t file_systems_failed = 0;  // cuts
  std::optional<bool> earlier_state;      // nullopt: nothing was lost or broken
  std::optional<CutOutcome> worst;        // nullopt: nothing was lost or broken
};

[[nodiscard]] CutSummary summary_of(std::span<const CutOutcome> outcomes);

struct Verdict {
  bool kept;
  std::string text;
};

// Classes none and process promise nothing for a power cut, so the verdict only describes what remained. Class power
// promises that the database opens, that each row is one that was written, and that every acknowledged row is present.
// If no cut could be examined, the promise counts as not kept.
[[nodiscard]] Verdict verdict_on(Durability promise, const CutSummary& summary);

}  // namespace edgejoule::driver
