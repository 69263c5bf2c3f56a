// One execution of a workload: the state that its clients share, and how they are stopped.
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

// Why the clients stopped early. The first failure counts.
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

  // Creates the client for thread `number` (0 to threads - 1). It must not outlive the work or the session.
  [[nodiscard]] virtual std::unique_ptr<Client> client(Session& session, unsigned number) = 0;

  const std::uint64_t seed;
  const unsigned threads;
  const CycleClock& clock;
  SuccessGap gap;
  // Set before the clients work.
  bool unpaced = false;            // operations do not wait for their own times
  bool absent_is_failure = false;  // a missing record counts as a failed operation
  bool keeps_nothing = false;      // the database is noop, which accepts every read
  std::atomic<bool> stop = false;
  std::atomic<std::uint32_t> interval = 0;  // when it grows, each client hands over its measurements

  void fail(Failure failure);  // records the first failure and stops all clients
  [[nodiscard]] std::optional<Failure> failure() const;

 private:
  mutable std::mutex failing_;
  std::optional<Failure> failure_;
};

// The machine's cycle clock, calibrated once per process.
[[nodiscard]] const CycleClock& cycle_clock();

}  // namespace edgejoule::driver
