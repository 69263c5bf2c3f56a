// What the command line asks for.
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
  std::string rate;  // the schedule as it was written; empty: none
  std::uint64_t seed;
  bool drop_caches;
  double quiet_before_s;  // the database is open and nobody asks
  double quiet_after_s;
  bool in_step;  // goes on only when standard input says so
  double warmup_s;
  std::uint64_t interval_ms;
  double settle_timeout_s;
  bool driver_share;
  double driver_share_max;
  double failure_share_max;  // of all operations; a run in which more fail has failed
  double longest_gap_s_max;  // without a success; the run says so when it was longer
  ReportOptions report;
  bool status_lines;  // -s
  std::uint64_t status_interval_s;
  std::string label;  // of the status lines
  bool quiet;
  std::optional<std::string> record;  // file of the trace that is written
  std::optional<std::string> json;    // file, "-" for stdout
};

}  // namespace edgejoule::driver
