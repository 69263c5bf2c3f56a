// Estimates from a database's LOG what write stalls cost, and what offloading its level 0 compactions would have saved.
//
// Each logged level 0 compaction is decided by a policy's real code with models that learnt from the earlier
// compactions, and with one other server that always accepts. For an offloaded compaction the result arrives after the
// time there and the transfer; level 0 stalls from then until the logged end count as avoided (if it arrives later, as
// added). Writes that an avoided stall would allow, and their further stalls, are ignored: a first-order estimate.
#pragma once

#include <string>
#include <vector>

#include "rocksdb_log.h"

namespace eco {

struct Assumptions {
  double speed = 2;           // of the other server, relative to this one
  double link_mbit_s = 1000;  // between the two
  double busy_core_w = 5, other_busy_core_w = 5, idle_w = 10;
};

struct Saving {
  std::string policy;
  int offloaded = 0;        // level-0 compactions
  double avoided_s = 0;     // of the writers' waiting time; negative: added
  double cpu_s = 0;         // saved on this server, minus the cost of serving
  double moved_bytes = 0;   // over the link
  double compaction_j = 0;  // of all level 0 compactions on both servers and the link, marginal
};

struct Estimation {
  std::string file;
  RocksdbLog log;
  Assumptions assumptions;
  double span_s = 0;
  double stopped_s = 0, delayed_s = 0;  // in the log, by level 0
  double others_stopped_s = 0;          // by memtables waiting for a flush and by pending bytes
  double waited_s = 0;                  // waiting time of the writers, all causes
  double waited_level_zero_s = 0;       // of that, by level 0
  double delay_share = 0;               // share of delayed time in which writers waited
  bool waited_is_known = false;         // from a statistics dump; else delay_share is assumed
  std::vector<double> sizes;            // input bytes of level 0 compactions, ascending
  double level_zero_compute_s = 0, level_zero_cpu_s = 0;
  std::vector<Saving> savings;
};

// Throws std::runtime_error as read_rocksdb_log() does.
[[nodiscard]] Estimation estimate_log(const std::string& file, const Assumptions& assumptions);
[[nodiscard]] Estimation estimate_of(RocksdbLog log, const std::string& file, const Assumptions& assumptions);

[[nodiscard]] std::string show(const Estimation& estimation);
[[nodiscard]] std::string json_of(const Estimation& estimation);

}  // namespace eco
