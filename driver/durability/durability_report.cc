#include "durability_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace edgejoule::driver {
namespace {

using Json = nlohmann::ordered_json;
using Cells = std::vector<std::string>;

constexpr std::uint64_t mib = 1024 * 1024;

std::string outcome_name(CutOutcome::Kind kind) {
  static constexpr const char* names[] = {"judged", "database_failed", "file_system_failed"};
  return names[static_cast<std::size_t>(kind)];
}

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string age(const CutSummary& summary) {
  if (!summary.oldest_lost_ms) return "-";
  return fmt::format("{} writes, {:.0f} ms", summary.oldest_lost_operations.value_or(0), *summary.oldest_lost_ms);
}

std::string yes_or_no(const std::optional<bool>& value) { return !value ? "-" : *value ? "yes" : "no"; }

Cells row_of(const SettingReport& setting) {
  const auto summary = summary_of(setting.outcomes);
  return {setting.name,
          std::string(name_of(setting.promise)),
          std::to_string(summary.cuts),
          std::to_string(summary.rows_checked),
          std::to_string(summary.rows_lost_max),
          std::to_string(summary.cuts_with_loss),
          age(summary),
          std::to_string(summary.databases_failed),
          yes_or_no(summary.earlier_state),
          std::to_string(summary.file_systems_failed),
          verdict_on(setting.promise, summary).text};
}

std::string aligned(const std::vector<Cells>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      line += fmt::format("{:<{}}  ", row[column], widths[column]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string worst_cut(const SettingReport& setting) {
  const auto summary = summary_of(setting.outcomes);
  if (!summary.worst || verdict_on(setting.promise, summary).kept) return {};
  const auto& worst = *summary.worst;
  return fmt::format(
      "{}: worst is cut {}, after {} requests of the disk, unflushed writes kept: {}; {} of {} rows lost{}\n",
      setting.name, worst.cut.number, worst.cut.position, survival_name(worst.cut.survival), worst.judgement.rows_lost,
      worst.judgement.rows_checked, worst.failure.empty() ? "" : "; " + first_line(worst.failure));
}

Json as_json(const CutOutcome& outcome) {
  const auto& judgement = outcome.judgement;
  Json cut{{"number", outcome.cut.number},
           {"position", outcome.cut.position},
           {"survival", survival_name(outcome.cut.survival)},
           {"outcome", outcome_name(outcome.kind)},
           {"failure", outcome.failure.empty() ? Json(nullptr) : Json(outcome.failure)}};
  if (outcome.kind == CutOutcome::Kind::file_system_failed) return cut;
  cut.update({{"rows_checked", judgement.rows_checked},
              {"rows_lost", judgement.rows_lost},
              {"rows_never_written", judgement.rows_never_written},
              {"rows_unreadable", judgement.rows_unreadable},
              {"oldest_lost_operations", or_null(judgement.oldest_lost_operations)},
              {"oldest_lost_ms", or_null(judgement.oldest_lost_ms)},
              {"earlier_state", or_null(judgement.earlier_state)}});
  return cut;
}

Json as_json(const SettingReport& setting) {
  const auto summary = summary_of(setting.outcomes);
  const auto verdict = verdict_on(setting.promise, summary);
  Json cuts = Json::array();
  for (const auto& outcome : setting.outcomes) cuts.push_back(as_json(outcome));
  return {
      {"setting", setting.name},
      {"durability", name_of(setting.durability)},
      {"expected", name_of(setting.promise)},
      {"durability_how", setting.durability_how},
      {"version", setting.version},
      {"kept", verdict.kept},
      {"verdict", verdict.text},
      {"cuts", summary.cuts},
      {"rows_checked", summary.rows_checked},
      {"rows_lost", summary.rows_lost},
      {"rows_lost_max", summary.rows_lost_max},
      {"cuts_with_loss", summary.cuts_with_loss},
      {"oldest_lost_operations", or_null(summary.oldest_lost_operations)},
      {"oldest_lost_ms", or_null(summary.oldest_lost_ms)},
      {"rows_never_written", summary.rows_never_written},
      {"rows_unreadable", summary.rows_unreadable},
      {"databases_failed", summary.databases_failed},
      {"file_systems_failed", summary.file_systems_failed},
      {"earlier_state", or_null(summary.earlier_state)},
      {"trace", {{"writes", setting.trace_writes}, {"flushes", setting.trace_flushes}, {"bytes", setting.trace_bytes}}},
      {"each_cut", cuts}};
}

std::string heading(const DurabilityReport& report) {
  return fmt::format("{} {} on {}{}, a disk of {} MiB{}; {} writes by {} thread{}, --seed {}{}\n", report.database,
                     report.settings.empty() ? "" : report.settings.front().version, report.disk.file_system.name,
                     report.disk.file_system.options.empty() ? "" : " (" + report.disk.file_system.options + ")",
                     report.disk.bytes / mib, report.flushes == Flushes::ignored ? " THAT IGNORES FLUSHES" : "",
                     report.stream.operations, report.stream.threads, report.stream.threads == 1 ? "" : "s",
                     report.stream.seed, report.small_buffers.empty() ? "" : "; for the test: " + report.small_buffers);
}

}  // namespace

std::string as_table(const DurabilityReport& report) {
  std::vector<Cells> rows = {{"setting", "promise", "cuts", "rows checked", "lost at most", "cuts with loss",
                              "oldest lost", "not opened", "earlier state", "not mounted", "verdict"}};
  std::string details;
  for (const auto& setting : report.settings) {
    rows.push_back(row_of(setting));
    details += worst_cut(setting);
  }
  if (!details.empty()) {
    details += fmt::format("To repeat one cut: the same command with --seed {} --cut NUMBER\n", report.stream.seed);
  }
  return heading(report) + aligned(rows) + details;
}

std::string as_json(const DurabilityReport& report) {
  Json settings = Json::array();
  for (const auto& setting : report.settings) settings.push_back(as_json(setting));
  const Json json{{"database", report.database},
                  {"file_system", report.disk.file_system.name},
                  {"mount_options", report.disk.file_system.options},
                  {"disk_bytes", report.disk.bytes},
                  {"flushes_ignored", report.flushes == Flushes::ignored},
                  {"operations", report.stream.operations},
                  {"threads", report.stream.threads},
                  {"seed", report.stream.seed},
                  {"settings", settings}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool all_kept(const DurabilityReport& report) {
  return std::ranges::all_of(report.settings, [](const SettingReport& setting) {
    return verdict_on(setting.promise, summary_of(setting.outcomes)).kept;
  });
}

}  // namespace edgejoule::driver
