#include "client.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>

#include "system/check.h"
#include "system/random.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t sleep_ns_max = 20'000'000;  // so that a thread sees a stop soon

}  // namespace

std::uint64_t client_seed(std::uint64_t seed, unsigned number) {
  std::uint64_t state = seed;
  std::uint64_t derived = 0;
  for (unsigned i = 0; i <= number; ++i) derived = splitmix64(state);
  return derived;
}

std::uint64_t value_seed(std::uint64_t seed, Command command, unsigned number) {
  constexpr std::uint64_t of_runs = 0x5851F42D4C957F2DU;
  return client_seed(~seed ^ (command == Command::run ? of_runs : 0), number);
}

std::uint64_t payload_of(Fields fields) {
  std::uint64_t bytes = 0;
  for (const auto& field : fields) bytes += field.value.size();
  return bytes;
}

Client::Client(Work& work, Session& session) : work_(work), session_(session) {}

bool Client::collect(Measurements& measurements) {
  auto* const full = handed_.exchange(nullptr, std::memory_order_acquire);
  if (full == nullptr) return false;
  EJ_CHECK(spare_.load(std::memory_order_relaxed) == nullptr);  // there are two buffers, and the client has the other
  measurements.add(*full);
  full->clear();
  spare_.store(full, std::memory_order_release);
  return true;
}

void Client::collect_rest(Measurements& measurements) {
  collect(measurements);
  measurements.add(*measured_);
  measured_->clear();
}

void Client::hand_over() {
  interval_ = work_.interval.load(std::memory_order_relaxed);
  auto* const empty = spare_.exchange(nullptr, std::memory_order_acquire);
  if (empty == nullptr) return;  // the reporter has not taken the last buffer yet: hand over with the next interval
  EJ_CHECK(empty != measured_ && handed_.load(std::memory_order_relaxed) == nullptr);
  handed_.store(measured_, std::memory_order_release);
  measured_ = empty;
}

void Client::work(std::uint64_t operations, const Pace& pace) {
  EJ_CHECK(pace.first < pace.stride, pace.first, pace.stride);
  const auto start = work_.clock.now();
  const auto planned = operations == 0 ? ~std::uint64_t{0} : operations;
  if (!begun_ticks_) begun_ticks_ = start;
  const bool own_times = pace.schedule == nullptr && !work_.unpaced && has_times();
  paced_ = pace.schedule != nullptr || own_times;
  if (paced_) prctl(PR_SET_TIMERSLACK, 1UL);  // otherwise a sleep ends up to 50 us late
  next_success_report_ = accompanies() ? ~std::uint64_t{0} : start;
  last_step_failed_ = false;
  std::uint64_t worked = 0;
  while (worked < planned && !work_.stop.load(std::memory_order_relaxed)) {
    if (work_.interval.load(std::memory_order_relaxed) != interval_) [[unlikely]]
      hand_over();
    if (paced_) {
      due_ticks_ = own_times ? *begun_ticks_ + work_.clock.to_ticks(due_ns())
                             : start + work_.clock.to_ticks(pace.schedule->due_ns(pace.first + worked * pace.stride));
      wait_until(due_ticks_);
      if (work_.stop.load(std::memory_order_relaxed)) return;
    }
    const auto count = step(planned - worked);
    if (count == 0) return;
    EJ_CHECK(count <= planned - worked, count, planned, worked);
    worked += count;
    auto succeeded_in_step = count;
    last_step_failed_ = failed_in_step_ > 0;
    if (last_step_failed_) [[unlikely]] {
      const auto failed_now = std::min(failed_in_step_, count);
      failed_.store(failed() + failed_now, std::memory_order_relaxed);
      succeeded_in_step -= failed_now;
      failed_in_step_ = 0;
    }
    succeeded_.store(succeeded() + succeeded_in_step, std::memory_order_relaxed);
  }
}

void Client::tell_success(std::uint64_t at) {
  if (at >= next_success_report_) next_success_report_ = work_.gap.succeeded(at);
}

void Client::wait_until(std::uint64_t due_ticks) {
  for (bool idle = false;; idle = true) {
    const auto now = work_.clock.now();
    const bool over = now >= due_ticks || work_.stop.load(std::memory_order_relaxed);
    // The client was idle because nothing was due, which is no outage.
    if (over && idle && !last_step_failed_ && due_ticks >= next_success_report_) {
      next_success_report_ = work_.gap.idle_until(std::min(now, due_ticks));
    }
    if (over) return;
    if (work_.interval.load(std::memory_order_relaxed) != interval_) hand_over();
    const auto wait_ns = std::min(work_.clock.to_ns(due_ticks - now), sleep_ns_max);
    const timespec pause{static_cast<time_t>(wait_ns / 1'000'000'000U), static_cast<long>(wait_ns % 1'000'000'000U)};
    nanosleep(&pause, nullptr);
  }
}

void Client::measure(Operation operation, Status status, std::uint64_t begin, std::uint64_t end, std::uint64_t calls) {
  EJ_DCHECK(calls > 0, name_of(operation), calls);
  const bool due = paced_ && operation != Operation::verify;
  if (end < begin || (due && end < due_ticks_)) [[unlikely]] {
    return stop_because_time_ran_back(std::max(begin, due ? due_ticks_ : 0) - end);
  }
  auto& counted = measured_->of(operation);
  counted.returns[static_cast<std::size_t>(status)] += calls;
  const auto service_ns = work_.clock.to_ns(end - begin);
  if (status != Status::ok) [[unlikely]] {
    counted.failed[static_cast<std::size_t>(status)].record(service_ns);
    if (due) counted.failed_intended[static_cast<std::size_t>(status)].record(work_.clock.to_ns(end - due_ticks_));
    if (!count_failure(operation, status, calls)) tell_success(end);
    return;
  }
  tell_success(end);
  counted.service.record(service_ns);
  if (due) counted.intended.record(work_.clock.to_ns(end - due_ticks_));
}

// Recorded, the difference would be a latency of centuries.
void Client::stop_because_time_ran_back(std::uint64_t ticks) {
  work_.fail({Failure::Kind::system,
              fmt::format("the clock {} stepped back by {} ticks within an operation: the clocks of this machine's "
                          "processors differ",
                          work_.clock.name(), ticks)});
}

bool Client::count_failure(Operation operation, Status status, std::uint64_t calls) {
  const bool absent = status == Status::not_found;
  if (absent && !work_.absent_is_failure) return false;
  if (operation == Operation::read_modify_write) return true;  // its read and its update are counted
  failed_in_step_ += calls;
  measured_->causes.add(operation, status,
                        absent ? "no such record; does recordcount match the load?" : session_.error(), calls);
  return true;
}

void Client::stop_because(Operation operation, Status status, std::string_view key) {
  const auto kind = status == Status::unexpected_state ? Failure::Kind::wrong_data : Failure::Kind::database;
  const auto message = session_.error();
  work_.fail({kind, fmt::format("{} of {}: {}", operation_names[static_cast<std::size_t>(operation)], key,
                                message.empty() ? "the database gave no reason" : message)});
}

}  // namespace edgejoule::driver
