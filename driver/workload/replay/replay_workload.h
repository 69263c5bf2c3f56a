// Replays a recorded trace (run/trace.h) on any database: at its own times, faster, or without waiting.
//
// run streams the trace. Every client reads the file and takes the lines that belong to it by the hash of the key, so
// that the operations on one key stay in order and memory does not grow with the trace. load streams it, too. It writes
// each key that the trace reads, updates, deletes or scans from before inserting it, and stores the hashes of the keys
// seen.
//
// Rows have `fieldcount` fields. The replay chooses what a trace does not contain: the values (random bytes) and the
// field that an update writes.
//
// This file: the settings of a replay, read from properties and checked. The whole trace is checked before the replay
// begins.
#pragma once

#include <string>
#include <vector>

#include "contract/properties.h"
#include "run/workload.h"
#include "workload/workload_kinds.h"

namespace edgejoule::driver {

class ReplayWorkload final : public Workload {
 public:
  // Throws UsageError, also for a malformed line of the trace.
  ReplayWorkload(const Properties& properties, Command command);

  [[nodiscard]] std::unique_ptr<Work> begin(std::uint64_t seed, unsigned threads, bool verify) const override;

  Command command;
  std::string trace;
  double speed;                 // trace time / run time; 0: no waiting
  std::uint64_t lines;          // lines that are replayed
  std::uint64_t first_time_ns;  // of the first line
  std::uint64_t size_max;       // bytes of the largest row
  std::vector<std::string> fields;
  bool write_all_fields;
  std::uint64_t value_bytes;  // load: for a row whose size the trace does not state
  std::uint64_t load_batch_records;

 private:
  void read_speed(const Properties& properties);
  void scan_trace(std::uint64_t lines_max);
};

class ReplayWork final : public Work {
 public:
  ReplayWork(const ReplayWorkload& workload, std::uint64_t seed, unsigned threads);

  [[nodiscard]] std::unique_ptr<Client> client(Session& session, unsigned number) override;

  const ReplayWorkload& workload;
};

[[nodiscard]] WorkloadKind replay();

}  // namespace edgejoule::driver
