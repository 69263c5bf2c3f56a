// Simulates the life of a compaction: at home, or over the network at a worker until its outputs are verified at home
// or it is given up.
#pragma once

#include "links.h"
#include "placement.h"
#include "processors.h"
#include "state.h"

namespace eco::sim {

class Jobs {
 public:
  Jobs(State& state, Processors& processors, Links& links)
      : state_(state), processors_(processors), links_(links), placement_(state) {}

  // Call when a server has finished a task of a job.
  void done(std::size_t i, const Task& task);
  // Starts the compactions that a server's database is due for.
  void level0_changed(std::size_t i);
  // Call when the request reaches the worker.
  void begin_elsewhere(std::size_t id);
  // Gives the job up if its progress is too slow; otherwise schedules the next check.
  void poll(std::size_t id);
  // The offloaded job failed: compacts it at home.
  void fail(std::size_t id);
  // Call when all bytes of a transfer have arrived.
  void arrived(std::size_t id);
  // Ends a worker with all its jobs; their homes notice later.
  void worker_lost(std::size_t server);

 private:
  void compact(std::size_t i, const Compaction& compaction);
  void install(std::size_t i, std::size_t id);
  // Starts the transfer of inputs to the worker or outputs back.
  void send(std::size_t id, bool back);
  [[nodiscard]] double work_there(const Job& job) const;
  // At its worker.
  void compute(std::size_t id);
  // For an offloaded job.
  void part_done(std::size_t id, bool at_worker);
  [[nodiscard]] double computed_part(std::size_t id) const;
  // Share of the job that the worker reports as done. A real worker reads, computes and sends concurrently; here each
  // part counts by its expected time.
  [[nodiscard]] double done_part(std::size_t id) const;
  // Ends an offloaded job at both sides and counts its costs as wasted.
  void abandon(std::size_t id);
  // Frees the job's slot.
  void leave(std::size_t i, std::size_t id);

  State& state_;
  Processors& processors_;
  Links& links_;
  Placement placement_;
};

}  // namespace eco::sim
