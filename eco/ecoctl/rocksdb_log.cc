#include "rocksdb_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string_view>

namespace eco {
namespace {

using nlohmann::json;

struct Line {
  double at_s = 0;
  std::string_view thread, text;
};

// Parses "2026/11/22-19:10:03.469611 6340 TEXT".
std::optional<Line> line_of(const std::string& text) {
  std::tm tm{};
  int micros = 0, end = 0;
  if (std::sscanf(text.c_str(), "%4d/%2d/%2d-%2d:%2d:%2d.%6d %n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
                  &tm.tm_min, &tm.tm_sec, &micros, &end) != 7 ||
      end == 0)
    return std::nullopt;
  tm.tm_year -= 1900, tm.tm_mon -= 1;
  const std::string_view rest = std::string_view(text).substr(static_cast<std::size_t>(end));
  const auto blank = rest.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  return Line{static_cast<double>(timegm(&tm)) + micros * 1e-6, rest.substr(0, blank), rest.substr(blank + 1)};
}

std::optional<double> number_at(std::string_view text, std::string_view before) {
  const auto at = text.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  auto rest = text.substr(at + before.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

// The column family in "[NAME] ..."; empty: none.
std::string column_family_of(std::string_view text) {
  for (auto open = text.find('['); open != std::string_view::npos; open = text.find('[', open + 1)) {
    const auto close = text.find(']', open);
    if (close == std::string_view::npos) break;
    const auto name = text.substr(open + 1, close - open - 1);
    const bool other = name == "WARN" || name == "ERROR" || name.starts_with("JOB ") ||
                       name.find(".cc:") != std::string_view::npos || name.starts_with("/");
    if (!other) return std::string(name);
  }
  return "";
}

class Parser {
 public:
  void take(const std::string& raw) {
    const auto line = line_of(raw);
    if (!line) return take_dump(raw);
    if (log_.begin_s == 0) log_.begin_s = line->at_s;
    log_.end_s = std::max(log_.end_s, line->at_s);
    const auto event = line->text.find("EVENT_LOG_v1 ");
    if (event != std::string_view::npos) return take_event(*line, line->text.substr(event + 13));
    parse_text_event(*line);
  }

  [[nodiscard]] RocksdbLog finish() && {
    for (auto& [name, family] : families_) close(family, log_.end_s);
    std::ranges::sort(log_.stalls, {}, &LoggedStall::begin_s);
    return std::move(log_);
  }

 private:
  struct Family {
    double level_zero_files = 0;
    std::optional<LoggedStall> stall;  // current stall
    std::set<std::string> said;        // threads that reported a stall since their last change of files
  };

  void parse_text_event(const Line& line) {
    if (const auto at = line.text.find("RocksDB version: "); at != std::string_view::npos)
      log_.release = line.text.substr(at + 17);
    if (log_.slowdown_files == 0)
      log_.slowdown_files = number_at(line.text, "Options.level0_slowdown_writes_trigger:").value_or(0);
    if (log_.stop_files == 0) log_.stop_files = number_at(line.text, "Options.level0_stop_writes_trigger:").value_or(0);
    if (const auto job = number_at(line.text, "[JOB "))
      if (const auto family = column_family_of(line.text); !family.empty())
        family_of_job_[static_cast<int>(*job)] = family;
    const bool stopped = line.text.find("Stopping writes because") != std::string_view::npos;
    if (stopped || line.text.find("Stalling writes because") != std::string_view::npos) take_stall(line, stopped);
  }

  void take_stall(const Line& line, bool stopped) {
    StallCause cause = StallCause::pending_bytes;
    if (line.text.find("level-0 files") != std::string_view::npos) cause = StallCause::level_zero;
    if (line.text.find("immutable memtables") != std::string_view::npos) cause = StallCause::memtables;
    const std::string name = column_family_of(line.text);
    Family& family = families_[name];
    close(family, line.at_s);
    family.stall = {.begin_s = line.at_s, .cause = cause, .stopped = stopped, .column_family = name};
    family.said.emplace(line.thread);
  }

  // Statistics: "Cumulative stall: 00:00:0.510 H:M:S, 49.9 percent", on a line without a time.
  void take_dump(const std::string& raw) {
    int hours = 0, minutes = 0;
    double seconds = 0;
    if (std::sscanf(raw.c_str(), "Cumulative stall: %d:%d:%lf", &hours, &minutes, &seconds) != 3) return;
    log_.waited_s = hours * 3600 + minutes * 60 + seconds;
    log_.waited_until_s = log_.end_s;
  }

  void take_event(const Line& line, std::string_view text) {
    ++log_.events;
    try {
      const json event = json::parse(text);
      const std::string kind = event.value("event", "");
      const int job = event.value("job", 0);
      if (const auto name = event.find("cf_name"); name != event.end()) family_of_job_[job] = *name;
      if (kind == "compaction_started") began(line, job, event);
      if (kind == "compaction_finished") ended(line, job, event);
      if (kind == "flush_finished") log_.flushes.push_back({line.at_s, family_of_job_[job]});
      if (kind == "compaction_finished" || kind == "flush_finished") files_changed(line, job, event);
    } catch (const json::exception&) {
      ++log_.bad_events;  // for example cut by a crash
    }
  }

  void began(const Line& line, int job, const json& event) {
    LoggedCompaction compaction;
    compaction.begin_s = line.at_s;
    compaction.column_family = family_of_job_[job];
    compaction.reason = event.value("compaction_reason", "");
    compaction.from_level_zero = event.contains("files_L0");
    compaction.level_zero_files = families_[compaction.column_family].level_zero_files;
    compaction.input_bytes = event.value("input_data_size", std::uint64_t{0});
    running_[job] = std::move(compaction);
  }

  void ended(const Line& line, int job, const json& event) {
    const auto found = running_.find(job);
    if (found == running_.end()) return;  // it started before the log
    LoggedCompaction compaction = std::move(found->second);
    running_.erase(found);
    compaction.end_s = line.at_s;
    compaction.codec = event.value("output_compression", "");
    compaction.input_entries = event.value("num_input_records", std::uint64_t{0});
    compaction.output_bytes = event.value("total_output_size", std::uint64_t{0});
    compaction.compute_s = event.value("compaction_time_micros", 0.0) * 1e-6;
    compaction.cpu_s = event.value("compaction_time_cpu_micros", 0.0) * 1e-6;
    log_.compactions.push_back(std::move(compaction));
  }

  // A thread reports a stall before its change of files. Without a report writes do not stall with the new files.
  void files_changed(const Line& line, int job, const json& event) {
    Family& family = families_[family_of_job_[job]];
    if (const auto state = event.find("lsm_state"); state != event.end() && !state->empty())
      family.level_zero_files = state->at(0);
    if (family.said.erase(std::string(line.thread)) == 0) close(family, line.at_s);
  }

  void close(Family& family, double at_s) {
    if (!family.stall) return;
    family.stall->end_s = std::max(at_s, family.stall->begin_s);
    log_.stalls.push_back(*family.stall);
    family.stall.reset();
  }

  RocksdbLog log_;
  std::map<std::string, Family> families_;
  std::map<int, std::string> family_of_job_;
  std::map<int, LoggedCompaction> running_;
};

}  // namespace

RocksdbLog parse_rocksdb_log(std::istream& in, const std::string& name) {
  Parser parser;
  for (std::string line; std::getline(in, line);) parser.take(line);
  if (in.bad()) throw std::runtime_error(fmt::format("{}: cannot be read", name));
  auto log = std::move(parser).finish();
  if (log.events == 0)
    throw std::runtime_error(
        fmt::format("{}: contains no RocksDB events; expected the file LOG in a "
                    "database's folder",
                    name));
  return log;
}

RocksdbLog read_rocksdb_log(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(fmt::format("{}: cannot be opened", file));
  return parse_rocksdb_log(in, file);
}

}  // namespace eco
