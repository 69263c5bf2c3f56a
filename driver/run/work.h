// One execution of a workload: what its clients share, and how they are told to stop.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "success_gap.h"
#include "system/cycle_clock.h"

namespace edgejoule::driver {

class Client;
class Session;

enum class Command : std::uint8_t { load, run };

// Why the clients stopped before the end. The first of several wins.
struct Failure {
  enum class Kind : std::uint8_t { database, wrong_data, system };
  Kind kind;
  std::string message;
};

class Work {
 public:
  Work(std::uint64_t seed, unsigned threads);
  virtual ~Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // The client of the thread of that number, 0..threads-1. It must not outlive the work or the session.
  [[nodiscard]] virtual std::unique_ptr<Client> client(Session& session, unsigned number) = 0;

  const std::uint64_t seed;
  const unsigned threads;
  const CycleClock& clock;
  SuccessGap gap;
  // Set before the clients work.
  bool unpaced = false;            // operations do not wait for times of their own
  bool absent_is_failure = false;  // a record that is not found counts as a failed operation
  bool keeps_nothing = false;      // the database is noop: it finds whatever it is asked for
  std::atomic<bool> stop = false;
  std::atomic<std::uint32_t> interval = 0;  // a client that sees it grow hands over what it has measured

  void fail(Failure failure);  // keeps the first failure and stops all clients
  [[nodiscard]] std::optional<Failure> failure() const;

 private:
  mutable std::mutex failing_;
  std::optional<Failure> failure_;
};

// The machine's cycle clock, calibrated once.
[[nodiscard]] const CycleClock& cycle_clock();

}  // namespace edgejoule::driver
