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

class Crew {
 public:
  // Opens the sessions. Throws DatabaseError.
  Crew(SharedWork& shared, Database& database);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Readies one thread per client; they begin at start(). operations 0: until stopped. target_ops_s 0: no pacing.
  // Throws RunFailure when a thread cannot be started. What a client throws becomes the failure of the shared work.
  void prepare(std::uint64_t operations, double target_ops_s);

  // Lets the clients begin; returns the time, CLOCK_MONOTONIC.
  std::uint64_t start();

  // Waits at most that long; true when all clients have ended.
  bool wait(std::uint64_t timeout_ns);

  // Waits for all; returns when the last client ended, CLOCK_MONOTONIC.
  std::uint64_t join();

  [[nodiscard]] std::uint64_t done() const;
  void forget_measurements();  // what was done and read before write included
  [[nodiscard]] std::unique_ptr<Measurements> measurements() const;
  [[nodiscard]] std::uint64_t reads_before_write() const;

  // Ends the sessions and says how long each took.
  [[nodiscard]] Histogram close_sessions();

 private:
  void work(Client& client, std::uint64_t operations, const Pace& pace);

  SharedWork& shared_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::thread> threads_;
  std::unique_ptr<std::latch> starting_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t working_ = 0;
  std::uint64_t last_end_ns_ = 0;
  std::uint64_t reads_before_write_forgotten_ = 0;
};

}  // namespace edgejoule::driver
