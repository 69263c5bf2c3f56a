// A client: the loop of one thread over one session. It takes no lock and allocates nothing between two operations.
//
// Each workload derives its clients and defines one operation in step(). A client measures into a buffer that only it
// writes. When the run asks for an interval, the client hands that buffer to the reporter between two operations and
// continues with an empty one.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "contract/adapter.h"
#include "measurements.h"
#include "rate_schedule.h"
#include "system/cache_lines.h"
#include "work.h"

namespace edgejoule::driver {

// When the operations of a client are due. The client performs the operations number first, first + stride, first + 2
// stride, ... of a schedule.
struct Pace {
  const RateSchedule* schedule = nullptr;  // nullptr: no pacing
  std::uint64_t first = 0;
  std::uint64_t stride = 1;
};

// The seed for the random generators of the client with this number.
[[nodiscard]] std::uint64_t client_seed(std::uint64_t seed, unsigned number);

// The seed for the values that a client writes. load and run get different seeds, so that a run does not write the
// values that the load wrote.
[[nodiscard]] std::uint64_t value_seed(std::uint64_t seed, Command command, unsigned number);

class Client {
 public:
  Client(Work& work, Session& session);
  virtual ~Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Works until `operations` are done (0: no limit), nothing is left to do, or the run is stopped. A further call
  // continues.
  void work(std::uint64_t operations, const Pace& pace);

  // True for a background client: it works until all other clients have ended. Its operations are measured but do not
  // count as done.
  [[nodiscard]] virtual bool accompanies() const { return false; }

  // Adds the measurements handed over since the last call to `measurements`. Returns false if there were none. The
  // reporter's thread calls it.
  bool collect(Measurements& measurements);

  // Adds everything measured and not yet collected. Only while the client is not working.
  void collect_rest(Measurements& measurements);

  // Only while the client is not working.
  void forget_done() {
    succeeded_.store(0, std::memory_order_relaxed);
    failed_.store(0, std::memory_order_relaxed);
  }

  // Number of operations that succeeded. Any thread may call it.
  [[nodiscard]] std::uint64_t succeeded() const { return succeeded_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t failed() const { return failed_.load(std::memory_order_relaxed); }

 protected:
  // Performs one operation, or a batch of at most `most`. Returns how many it performed; 0: nothing is left to do.
  virtual std::uint64_t step(std::uint64_t most) = 0;

  // True if the operations carry their own times (a replayed trace). Without a schedule, the client waits for these
  // times. Read when work() begins.
  [[nodiscard]] virtual bool has_times() const { return false; }

  // When the next operation is due, ns since the client first began to work.
  [[nodiscard]] virtual std::uint64_t due_ns() { return 0; }

  [[nodiscard]] Session& session() const { return session_; }
  [[nodiscard]] std::uint64_t now() const { return work_.clock.now(); }
  [[nodiscard]] Measurements& measurements() { return *measured_; }

  // begin, end: readings of now(). calls: operations in one call of the database (a batch).
  void measure(Operation operation, Status status, std::uint64_t begin, std::uint64_t end, std::uint64_t calls = 1);

  // The calls that failed in this step were retried with success.
  void forgive_failures() { failed_in_step_ = 0; }

  // The database returned `error` or `unexpected_state`. Ends the run with the session's message.
  void stop_because(Operation operation, Status status, std::string_view key);

 private:
  void wait_until(std::uint64_t due_ticks);
  void tell_success(std::uint64_t at);
  void hand_over();
  // Returns false if the status is no failure.
  void stop_because_time_ran_back(std::uint64_t ticks);
  [[nodiscard]] bool count_failure(Operation operation, Status status, std::uint64_t calls);

  Work& work_;
  Session& session_;
  std::uint64_t due_ticks_ = 0;
  std::optional<std::uint64_t> begun_ticks_;
  std::uint32_t interval_ = 0;
  bool paced_ = false;
  std::uint64_t failed_in_step_ = 0;  // calls
  bool last_step_failed_ = false;
  std::uint64_t next_success_report_ = 0;  // ticks; success_gap_ needs no success before this time

  // Two buffers circulate: measured_ of the client -> handed_ -> the reporter, who empties it -> spare_ -> the client.
  std::array<Measurements, 2> buffers_;
  Measurements* measured_ = &buffers_[0];
  std::atomic<Measurements*> handed_ = nullptr;
  std::atomic<Measurements*> spare_ = &buffers_[1];

  alignas(cache_line_bytes) std::atomic<std::uint64_t> succeeded_ = 0;
  std::atomic<std::uint64_t> failed_ = 0;
};

// Total bytes of the values.
[[nodiscard]] std::uint64_t payload_of(Fields fields);

}  // namespace edgejoule::driver
