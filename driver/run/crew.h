// The clients of a run, each with its session, and the threads they work in.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "client.h"

namespace edgejoule::driver {

class TraceWriter;

// How operations ended.
struct Outcome {
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;

  [[nodiscard]] std::uint64_t done() const { return succeeded + failed; }
  [[nodiscard]] double failure_share() const {
    return failed == 0 ? 0 : static_cast<double>(failed) / static_cast<double>(done());
  }
};

class Crew {
 public:
  // Opens the sessions. What the clients ask them for is recorded when there is a trace. Throws DatabaseError.
  Crew(Work& shared, Database& database, TraceWriter* trace = nullptr);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Readies one thread per client; they begin at start(). operations 0: until stopped. schedule nullptr: no pacing;
  // else it lives until join(). Clients that only accompany work unpaced until the others have ended. Throws RunFailure
  // when a thread cannot be started. What a client throws becomes the failure of the shared work.
  void prepare(std::uint64_t operations, const RateSchedule* schedule);

  // Lets the clients begin; returns the time, CLOCK_MONOTONIC.
  std::uint64_t start();

  // Waits at most that long; true when all clients have ended (those that accompany aside).
  bool wait(std::uint64_t timeout_ns);

  // Waits for all; returns when the last client ended, CLOCK_MONOTONIC.
  std::uint64_t join();

  // Of the clients that do not only accompany, and of those that do.
  [[nodiscard]] Outcome outcome() const { return outcome_of(false); }
  [[nodiscard]] Outcome outcome_of_companions() const { return outcome_of(true); }

  // What was measured since the last call, in the operations that had ended when it was asked for. An operation that is
  // under way, and what ends while its client waits for it, count with the next interval.
  [[nodiscard]] const Measurements& next_interval();

  // The rest, after join(); then measurements() is complete.
  [[nodiscard]] const Measurements& last_interval();

  void forget_measurements();  // what was done and read before write included
  [[nodiscard]] const Measurements& measurements() const { return all_; }  // of all intervals
  [[nodiscard]] std::uint64_t reads_before_write() const;

  // Ends the sessions and says how long each took.
  [[nodiscard]] Histogram close_sessions();

 private:
  [[nodiscard]] Outcome outcome_of(bool companions) const;
  void work(Client& client, std::uint64_t operations, const Pace& pace);
  void spawn(std::size_t number, std::uint64_t operations, const Pace& pace);

  Work& shared_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::thread> threads_;
  std::unique_ptr<std::latch> starting_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t working_ = 0;  // those that only accompany aside
  std::size_t accompanying_ = 0;
  Measurements interval_;
  Measurements all_;
  std::uint64_t last_end_ns_ = 0;
  std::uint64_t reads_before_write_forgotten_ = 0;
};

}  // namespace edgejoule::driver
