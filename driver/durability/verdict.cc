#include "verdict.h"

#include <fmt/format.h>

#include <algorithm>

namespace edgejoule::driver {
namespace {

bool broken(const CutOutcome& outcome) {
  return outcome.kind == CutOutcome::Kind::database_failed || outcome.judgement.rows_never_written > 0 ||
         outcome.judgement.rows_unreadable > 0;
}

// Orders cuts by severity: a broken database ranks above any loss.
std::pair<bool, std::uint64_t> badness(const CutOutcome& outcome) {
  return {broken(outcome), outcome.judgement.rows_lost};
}

void add_judged(CutSummary& summary, const CutOutcome& outcome) {
  const auto& judgement = outcome.judgement;
  summary.rows_checked += judgement.rows_checked;
  summary.rows_lost += judgement.rows_lost;
  summary.rows_lost_max = std::max(summary.rows_lost_max, judgement.rows_lost);
  if (judgement.rows_lost > 0) ++summary.cuts_with_loss;
  summary.oldest_lost_operations = std::max(summary.oldest_lost_operations, judgement.oldest_lost_operations);
  summary.oldest_lost_ms = std::max(summary.oldest_lost_ms, judgement.oldest_lost_ms);
  summary.rows_never_written += judgement.rows_never_written;
  summary.rows_unreadable += judgement.rows_unreadable;
  if (judgement.earlier_state) {
    summary.earlier_state = summary.earlier_state.value_or(true) && *judgement.earlier_state;
  }
  const bool worth_telling = broken(outcome) || judgement.rows_lost > 0;
  if (worth_telling && (!summary.worst || badness(*summary.worst) < badness(outcome))) summary.worst = outcome;
}

std::string breakage(const CutSummary& summary) {
  std::string text;
  const auto add = [&text](std::uint64_t count, std::string_view what) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  };
  add(summary.databases_failed, "databases did not open");
  add(summary.rows_never_written, "rows hold values that were never written");
  add(summary.rows_unreadable, "rows could not be read");
  return text;
}

std::string lost(const CutSummary& summary) {
  return fmt::format("LOST {} acknowledged row{} in the worst cut", summary.rows_lost_max,
                     summary.rows_lost_max == 1 ? "" : "s");
}

}  // namespace

CutSummary summary_of(std::span<const CutOutcome> outcomes) {
  CutSummary summary;
  for (const auto& outcome : outcomes) {
    ++summary.cuts;
    if (outcome.kind == CutOutcome::Kind::file_system_failed) {
      ++summary.file_systems_failed;
      continue;
    }
    if (outcome.kind == CutOutcome::Kind::database_failed) ++summary.databases_failed;
    add_judged(summary, outcome);
  }
  return summary;
}

Verdict verdict_on(Durability promise, const CutSummary& summary) {
  if (summary.cuts == summary.file_systems_failed) return {false, "not tested: no cut could be examined"};
  const auto damage = breakage(summary);
  switch (promise) {
    case Durability::none:
      return {true, damage.empty() ? "promises nothing" : fmt::format("promises nothing; {}", damage)};
    case Durability::process:
      return {true, fmt::format("promises nothing about a power cut; {}", damage.empty() ? "it opens" : damage)};
    case Durability::power:
      break;
  }
  if (summary.rows_lost == 0 && damage.empty()) return {true, "keeps what it promises"};
  return {false, damage.empty() ? lost(summary) : fmt::format("{}; {}", lost(summary), damage)};
}

}  // namespace edgejoule::driver
