// What was measured as a calibration that eco-sim reads.
#pragma once

#include <string>

#include "measure.h"

namespace eco::calibrate {

struct Costs {
  struct OfCodec {
    Fit flush, compaction, worker;
  };
  Fit put;
  Fit memtable;
  double get_s = 0, get_s_per_file = 0, seek_s = 0, seek_s_per_file = 0;
  Fit home;  // of all codecs: the bytes are moved and checked as they are stored
  std::map<std::string, OfCodec> codecs;
};

[[nodiscard]] Costs costs_of(const Measured& measured);

// How far the rounds differ, and how far the observations are from the costs: lines for people.
[[nodiscard]] std::string spread_of(const Measured& measured, const Costs& costs);

// The reference's are the first codec's of the plan.
[[nodiscard]] std::string toml_of(const Plan& plan, const Measured& measured, const Costs& costs,
                                  const std::string& machine, const std::string& command);

}  // namespace eco::calibrate
