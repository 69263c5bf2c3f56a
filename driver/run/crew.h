// The clients of a run, with their sessions and threads.
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

// Numbers of operations, by how they ended.
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
  // Opens the sessions. Records their calls if there is a trace. Throws DatabaseError.
  Crew(Work& shared, Database& database, TraceWriter* trace = nullptr);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Creates one thread per client; they begin at start(). operations 0: until stopped. schedule nullptr: no pacing;
  // otherwise it must live until join(). Background clients work unpaced until the others have ended. Throws RunFailure
  // if a thread cannot be started. An exception in a client becomes the failure of the shared work.
  void prepare(std::uint64_t operations, const RateSchedule* schedule);

  // Starts the clients. Returns the time (CLOCK_MONOTONIC).
  std::uint64_t start();

  // Waits at most timeout_ns. Returns true if all clients have ended, background clients excepted.
  bool wait(std::uint64_t timeout_ns);

  // Waits for all clients. Returns the time when the last one ended (CLOCK_MONOTONIC).
  std::uint64_t join();

  // outcome() counts all but the background clients.
  [[nodiscard]] Outcome outcome() const { return outcome_of(false); }
  [[nodiscard]] Outcome outcome_of_companions() const { return outcome_of(true); }

  // The measurements since the last call. An operation still under way counts in the next interval, and so does what
  // its client has measured but not handed over.
  [[nodiscard]] const Measurements& next_interval();

  // The remaining measurements, after join(). From then on measurements() is complete.
  [[nodiscard]] const Measurements& last_interval();

  void forget_measurements();  // also the counts of operations and of reads before write
  [[nodiscard]] const Measurements& measurements() const { return all_; }  // of all intervals
  [[nodiscard]] std::uint64_t reads_before_write() const;

  // Ends the sessions. Returns how long each took.
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
  std::size_t working_ = 0;  // background clients excepted
  std::size_t accompanying_ = 0;
  Measurements interval_;
  Measurements all_;
  std::uint64_t last_end_ns_ = 0;
  std::uint64_t reads_before_write_forgotten_ = 0;
};

}  // namespace edgejoule::driver
