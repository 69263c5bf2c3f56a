// Replays a recorded trace (trace.h) on any database, at its own times, faster, or as fast as the database answers.
//
// run streams the trace: every client reads the file and takes the lines whose keys fall to it by their hash, so that
// the operations of one key keep their order, and memory does not grow with the trace. load streams it too and makes
// the keys that are read, updated, deleted or scanned from before the trace inserts them; it remembers which keys it
// has seen.
//
// Rows have `fieldcount` fields. What a trace does not say is the replay's: the values (random bytes), and which field
// an update writes.
//
// This file: what a replay is asked to do, read from properties and checked; the whole trace is checked before anything
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
  double speed;                 // trace time / run time; 0: does not wait
  std::uint64_t lines;          // of the trace, that are replayed
  std::uint64_t first_time_ns;  // of the first line
  std::uint64_t size_max;       // bytes of the largest row
  std::vector<std::string> fields;
  bool write_all_fields;
  std::uint64_t value_bytes;  // load: of a row whose size the trace does not say
  std::uint64_t load_batch_records;

 private:
  void read_speed(const Properties& properties);
  void look_through_trace(std::uint64_t lines_max);
};

class ReplayWork final : public Work {
 public:
  ReplayWork(const ReplayWorkload& workload, std::uint64_t seed, unsigned threads);

  [[nodiscard]] std::unique_ptr<Client> client(Session& session, unsigned number) override;

  const ReplayWorkload& workload;
};

[[nodiscard]] WorkloadKind replay();

}  // namespace edgejoule::driver
