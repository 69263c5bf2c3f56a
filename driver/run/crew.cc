#include "crew.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "system/check.h"
#include "system/failure_message.h"
#include "system/run_failure.h"
#include "trace_writer.h"

namespace edgejoule::driver {
namespace {

// A client hands over its buffer between two operations. After this many polls the crew stops waiting for clients that
// are busy or asleep.
constexpr int interval_polls = 20;
constexpr std::chrono::microseconds interval_poll_pause{50};

}  // namespace

Crew::Crew(Work& shared, Database& database, TraceWriter* trace) : shared_(shared) {
  for (unsigned number = 0; number < shared.threads; ++number) {
    auto session = database.session();
    sessions_.push_back(trace == nullptr ? std::move(session) : trace->recording(std::move(session)));
    clients_.push_back(shared.client(*sessions_.back(), number));
    EJ_CHECK(sessions_.back() != nullptr && clients_.back() != nullptr, number);
  }
}

Crew::~Crew() {
  if (threads_.empty()) return;
  shared_.stop = true;
  if (!starting_->try_wait()) starting_->count_down();
  static_cast<void>(join());
}

void Crew::prepare(std::uint64_t operations, const RateSchedule* schedule) {
  EJ_CHECK(threads_.empty(), threads_.size());
  starting_ = std::make_unique<std::latch>(1);
  accompanying_ = static_cast<std::size_t>(std::ranges::count_if(clients_, &Client::accompanies));
  const auto count = clients_.size() - accompanying_;
  EJ_CHECK(count > 0, clients_.size(), accompanying_);
  working_ = 0;
  std::uint64_t place = 0;  // position among the clients that are not background clients
  std::uint64_t shared_out = 0;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    if (clients_[i]->accompanies()) {
      spawn(i, 0, {});
      continue;
    }
    const auto own = operations / count + (place < operations % count ? 1 : 0);
    // With fewer operations than clients, some clients have none.
    if (operations == 0 || own > 0) spawn(i, own, {schedule, place, count});
    ++place;
    shared_out += own;
  }
  EJ_CHECK(shared_out == operations && place == count, shared_out, operations, place, count);
}

void Crew::spawn(std::size_t number, std::uint64_t operations, const Pace& pace) {
  auto& client = *clients_[number];
  if (!client.accompanies()) {
    const std::lock_guard lock(mutex_);
    ++working_;
  }
  try {
    threads_.emplace_back([this, &client, operations, pace] { work(client, operations, pace); });
  } catch (const std::system_error& refused) {
    throw RunFailure(RunFailure::Kind::system, fmt::format("cannot start client thread {} of {}: {}", number + 1,
                                                           clients_.size(), refused.code().message()));
  }
}

void Crew::work(Client& client, std::uint64_t operations, const Pace& pace) {
  starting_->wait();
  try {
    client.work(operations, pace);
  } catch (const DatabaseError& error) {
    shared_.fail({Failure::Kind::database, error.what()});
  } catch (const std::exception& error) {  // one that left the thread would end the process without a message
    shared_.fail({Failure::Kind::system, failure_message(error)});
  }
  if (client.accompanies()) return;
  const auto end_ns = now_monotonic_ns();
  const std::lock_guard lock(mutex_);
  last_end_ns_ = std::max(last_end_ns_, end_ns);
  EJ_CHECK(working_ > 0);
  if (--working_ > 0) return;
  if (accompanying_ > 0) shared_.stop = true;
  ended_.notify_all();
}

std::uint64_t Crew::start() {
  EJ_CHECK(starting_ != nullptr && !starting_->try_wait());
  const auto begin_ns = now_monotonic_ns();
  starting_->count_down();
  return begin_ns;
}

bool Crew::wait(std::uint64_t timeout_ns) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), [this] { return working_ == 0; });
}

std::uint64_t Crew::join() {
  for (auto& thread : threads_) thread.join();
  threads_.clear();
  return last_end_ns_;
}

Outcome Crew::outcome_of(bool companions) const {
  Outcome all;
  for (const auto& client : clients_) {
    if (client->accompanies() != companions) continue;
    all.succeeded += client->succeeded();
    all.failed += client->failed();
  }
  return all;
}

const Measurements& Crew::next_interval() {
  interval_.clear();
  shared_.interval.fetch_add(1, std::memory_order_relaxed);
  std::vector<bool> collected(clients_.size());
  for (int poll = 0; poll < interval_polls; ++poll) {
    std::this_thread::sleep_for(interval_poll_pause);
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      if (!collected[i]) collected[i] = clients_[i]->collect(interval_);
    }
    if (std::ranges::find(collected, false) == collected.end()) break;
  }
  all_.add(interval_);
  return interval_;
}

const Measurements& Crew::last_interval() {
  EJ_CHECK(threads_.empty(), threads_.size());
  interval_.clear();
  for (const auto& client : clients_) client->collect_rest(interval_);
  all_.add(interval_);
  return interval_;
}

void Crew::forget_measurements() {
  static_cast<void>(last_interval());
  all_.clear();
  for (const auto& client : clients_) client->forget_done();
  reads_before_write_forgotten_ += reads_before_write();
}

std::uint64_t Crew::reads_before_write() const {
  std::uint64_t reads = 0;
  for (const auto& session : sessions_) reads += session->reads_before_write();
  EJ_CHECK(reads >= reads_before_write_forgotten_, reads, reads_before_write_forgotten_);
  return reads - reads_before_write_forgotten_;
}

Histogram Crew::close_sessions() {
  EJ_CHECK(threads_.empty(), threads_.size());
  Histogram durations;
  clients_.clear();
  for (auto& session : sessions_) {
    const auto begin_ns = now_monotonic_ns();
    session.reset();
    durations.record(now_monotonic_ns() - begin_ns);
  }
  sessions_.clear();
  return durations;
}

}  // namespace edgejoule::driver
