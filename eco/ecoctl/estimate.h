// What write stalls cost a database and what offloading its level-0 compactions would have saved, by its LOG.
//
// Each level-0 compaction of the log is decided as ecod would have decided it, by a policy's own code and by models
// that learnt from the compactions before it, with one other server that takes a job whenever it is asked. Where a
// policy offloads it, its result comes after the time there and the bytes' time on the link, and the stalls of level 0
// from then until the logged end count as avoided (or, where it comes later, the time until then as added). What a
// stall that is avoided lets the application write, and what that then stalls, is not followed: a first order.
#pragma once

#include <string>
#include <vector>

#include "rocksdb_log.h"

namespace eco {

struct Assumptions {
  double speed = 2;           // of the other server, this one's being 1
  double link_mbit_s = 1000;  // between them
  double busy_core_w = 5, other_busy_core_w = 5, idle_w = 10;
};

struct Saving {
  std::string policy;
  int offloaded = 0;        // level-0 compactions
  double avoided_s = 0;     // of the time that writers waited; negative: it would have grown
  double cpu_s = 0;         // taken off this server, less what serving them takes
  double moved_bytes = 0;   // over the link
  double compaction_j = 0;  // of all level-0 compactions, both servers and the link: marginal
};

struct Estimation {
  std::string file;
  RocksdbLog log;
  Assumptions assumptions;
  double span_s = 0;
  double stopped_s = 0, delayed_s = 0;  // of the log, by level 0
  double others_stopped_s = 0;          // by memtables that wait for a flush, by pending bytes
  double waited_s = 0;                  // what writers waited, all causes
  double waited_level_zero_s = 0;       // of it, by level 0
  double delay_share = 0;               // of delayed time, that writers waited
  bool waited_is_known = false;         // by a dump of statistics; else delays count by an assumed share
  std::vector<double> sizes;            // of the level-0 compactions' inputs, bytes, ascending
  double level_zero_compute_s = 0, level_zero_cpu_s = 0;
  std::vector<Saving> savings;
};

// Throws std::runtime_error as read_rocksdb_log() does.
[[nodiscard]] Estimation estimate_log(const std::string& file, const Assumptions& assumptions);
[[nodiscard]] Estimation estimate_of(RocksdbLog log, const std::string& file, const Assumptions& assumptions);

[[nodiscard]] std::string show(const Estimation& estimation);
[[nodiscard]] std::string json_of(const Estimation& estimation);

}  // namespace eco
