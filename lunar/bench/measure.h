// Measures one workload on one engine: wall time, CPU time and block requests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine.h"

namespace lunar_bench {

struct Work {
  std::string kind = "insert";  // insert; update: a random row's column, or reads of random rows among updates
  Shape shape;
  std::vector<std::int64_t> loads{0};  // rows there before each measurement; more than one: one measurement each
  bool loaded = false;                 // the first of them are there from an earlier run
  std::int64_t warm_up = 0;            // update: operations before each measurement
  std::int64_t operations = 1000;
  double reads = 0;  // share of the operations
  // Of the rows that update and read choose: 0 uniform, else Zipf's exponent; several: one measurement each.
  std::vector<double> skews{0};
  bool sync_each = false;  // the engine's sync after every write
  std::uint64_t seed = 1;
  std::string device;       // whose counters in /sys/block are read; empty: none
  std::string file_system;  // synced before counters are read; empty: none
  std::string marker;       // a file where the begin and the end of each measurement are written; empty: none
};

nlohmann::json measure(Engine& engine, const Work& work);

}  // namespace lunar_bench
