// One client: a thread's loop over a session. No lock and no allocation between two operations.
//
// A kind of workload derives its clients and says in step() what one operation is. What is measured goes into a buffer
// of the client's own; when the run asks for an interval, the client hands the buffer over between two operations and
// goes on with an empty one, so that the reporter never touches what the client writes.
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

// When the operations of a client are due: those of numbers first, first + stride, first + 2 stride ... of a schedule.
struct Pace {
  const RateSchedule* schedule = nullptr;  // nullptr: as fast as the database answers
  std::uint64_t first = 0;
  std::uint64_t stride = 1;
};

// The seed of a client's generators: of the thread of that number.
[[nodiscard]] std::uint64_t client_seed(std::uint64_t seed, unsigned number);

// The seed of the values that it writes. A run must not write the load's values once more, so that theirs differ.
[[nodiscard]] std::uint64_t value_seed(std::uint64_t seed, Command command, unsigned number);

class Client {
 public:
  Client(Work& work, Session& session);
  virtual ~Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Works until `operations` are done (0: no limit), nothing is left to do or the shared stop is set. Call again to go
  // on.
  void work(std::uint64_t operations, const Pace& pace);

  // True: works beside the others until they have ended, and its operations are measured but not counted as done.
  [[nodiscard]] virtual bool accompanies() const { return false; }

  // Adds what was handed over since the last call to `measurements`; false when nothing was. From the reporter's
  // thread.
  bool collect(Measurements& measurements);

  // Adds all that was measured and not collected yet. Only while the client is not working.
  void collect_rest(Measurements& measurements);

  // Only while the client is not working.
  void forget_done() {
    succeeded_.store(0, std::memory_order_relaxed);
    failed_.store(0, std::memory_order_relaxed);
  }

  // Operations that ended, from any thread.
  [[nodiscard]] std::uint64_t succeeded() const { return succeeded_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t failed() const { return failed_.load(std::memory_order_relaxed); }

 protected:
  // Does one operation, or a batch of at most `most`; returns how many it did. 0: nothing is left to do.
  virtual std::uint64_t step(std::uint64_t most) = 0;

  // Operations that have times of their own (a trace) wait for them where the run has no schedule. Asked at the begin
  // of work.
  [[nodiscard]] virtual bool has_times() const { return false; }

  // When the next operation is due, ns since the client first began to work.
  [[nodiscard]] virtual std::uint64_t due_ns() { return 0; }

  [[nodiscard]] Session& session() const { return session_; }
  [[nodiscard]] std::uint64_t now() const { return work_.clock.now(); }
  [[nodiscard]] Measurements& measurements() { return *measured_; }

  // begin, end: readings of now(). calls: operations that one call of the database stands for (a batch).
  void measure(Operation operation, Status status, std::uint64_t begin, std::uint64_t end, std::uint64_t calls = 1);

  // The calls of this step that failed were made again, and the database took them.
  void forgive_failures() { failed_in_step_ = 0; }

  // The database answered `error` or worse: the run ends with its words.
  void stop_because(Operation operation, Status status, std::string_view key);

 private:
  void wait_until(std::uint64_t due_ticks);
  void tell_success(std::uint64_t at);
  void hand_over();
  [[nodiscard]] bool count_failure(Operation operation, Status status, std::uint64_t calls);  // false: it is none

  Work& work_;
  Session& session_;
  std::uint64_t due_ticks_ = 0;
  std::optional<std::uint64_t> begun_ticks_;
  std::uint32_t interval_ = 0;
  bool paced_ = false;
  std::uint64_t failed_in_step_ = 0;  // calls
  bool last_step_failed_ = false;
  std::uint64_t next_success_told_ = 0;  // ticks; successes before need not be told

  // Two buffers go round: the client's measured_ -> handed_ -> the reporter, who empties it -> spare_ -> the client.
  std::array<Measurements, 2> buffers_;
  Measurements* measured_ = &buffers_[0];
  std::atomic<Measurements*> handed_ = nullptr;
  std::atomic<Measurements*> spare_ = &buffers_[1];

  alignas(cache_line_bytes) std::atomic<std::uint64_t> succeeded_ = 0;
  std::atomic<std::uint64_t> failed_ = 0;
};

// Bytes of the values.
[[nodiscard]] std::uint64_t payload_of(Fields fields);

}  // namespace edgejoule::driver
