// The options of a command, checked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "contract/adapter.h"
#include "contract/properties.h"
#include "rate_schedule.h"
#include "report_options.h"
#include "workload.h"

namespace edgejoule::driver {

struct Invocation {
  Command command;
  const AdapterInfo* adapter;
  Properties properties;
  std::unique_ptr<const Workload> workload;
  Durability durability;
  unsigned threads;
  std::optional<RateSchedule> schedule;
  std::string rate;  // the schedule as the user wrote it; empty: none
  std::uint64_t seed;
  bool drop_caches;
  double quiet_before_s;  // time with the database open and no operation
  double quiet_after_s;
  bool in_step;  // the run waits for lines on standard input (--in-step)
  double warmup_s;
  std::uint64_t interval_ms;
  double settle_timeout_s;
  bool driver_share;
  double driver_share_max;
  double failure_share_max;  // share of all operations; above it the run fails
  double longest_gap_s_max;  // time without a success; above it the run prints a warning
  ReportOptions report;
  bool status_lines;  // -s
  std::uint64_t status_interval_s;
  std::string label;  // of the status lines
  bool quiet;
  std::optional<std::string> record;  // file to which the trace is written
  std::optional<std::string> json;    // file, "-" for stdout
};

}  // namespace edgejoule::driver
