// The life of a compaction: at home, or over the network at a worker until its outputs are verified at home or it is
// given up.
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

  // A task of a job is done at a server.
  void done(std::size_t i, const Task& task);
  // Begins the compactions that a server's database wants now.
  void level0_changed(std::size_t i);
  // The request reaches the worker.
  void begin_elsewhere(std::size_t id);
  // Gives the job up where its progress is too slow, and looks again soon.
  void look(std::size_t id);
  // The job elsewhere brings nothing: it is compacted at home.
  void fail(std::size_t id);
  // All bytes of a transfer are there.
  void arrived(std::size_t id);
  // A worker ends with all its jobs; their homes notice later.
  void worker_lost(std::size_t server);

 private:
  void compact(std::size_t i, const Compaction& compaction);
  void install(std::size_t i, std::size_t id);
  // Inputs to the worker, or outputs back.
  void send(std::size_t id, bool back);
  [[nodiscard]] double work_there(const Job& job) const;
  // At its worker.
  void compute(std::size_t id);
  // Of a job that runs elsewhere.
  void part_done(std::size_t id, bool at_worker);
  [[nodiscard]] double computed_part(std::size_t id) const;
  // What the worker tells of its progress. A real one reads, computes and sends all the time: here each part counts by
  // the time that it is expected to take.
  [[nodiscard]] double done_part(std::size_t id) const;
  // Ends a job elsewhere at both sides; what it took was in vain.
  void abandon(std::size_t id);
  // The job's slot is free for the next.
  void leave(std::size_t i, std::size_t id);

  State& state_;
  Processors& processors_;
  Links& links_;
  Placement placement_;
};

}  // namespace eco::sim
