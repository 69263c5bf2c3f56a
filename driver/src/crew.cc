#include "crew.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "failure_words.h"
#include "run_failure.h"

namespace edgejoule::driver {

Crew::Crew(SharedWork& shared, Database& database) : shared_(shared) {
  for (unsigned number = 0; number < shared.threads; ++number) {
    sessions_.push_back(database.session());
    clients_.push_back(std::make_unique<Client>(shared, *sessions_.back(), number));
  }
}

Crew::~Crew() {
  if (threads_.empty()) return;
  shared_.stop = true;
  if (!starting_->try_wait()) starting_->count_down();
  static_cast<void>(join());
}

void Crew::prepare(std::uint64_t operations, double target_ops_s) {
  starting_ = std::make_unique<std::latch>(1);
  const auto count = clients_.size();
  const auto interval_ns = target_ops_s > 0 ? std::max(1.0, 1e9 * static_cast<double>(count) / target_ops_s) : 0;
  working_ = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto own = operations / count + (i < operations % count ? 1 : 0);
    if (operations > 0 && own == 0) continue;  // more clients than operations
    const auto offset_ns = interval_ns * static_cast<double>(i) / static_cast<double>(count);
    const Pace pace{static_cast<std::uint64_t>(interval_ns), static_cast<std::uint64_t>(offset_ns), target_ops_s > 0};
    {
      const std::lock_guard lock(mutex_);
      ++working_;
    }
    try {
      threads_.emplace_back([this, i, own, pace] { work(*clients_[i], own, pace); });
    } catch (const std::system_error& refused) {
      throw RunFailure(RunFailure::Kind::system,
                       fmt::format("cannot start client thread {} of {}: {}", i + 1, count, refused.code().message()));
    }
  }
}

void Crew::work(Client& client, std::uint64_t operations, const Pace& pace) {
  starting_->wait();
  try {
    client.work(operations, pace);
  } catch (const DatabaseError& error) {
    shared_.fail({Failure::Kind::database, error.what()});
  } catch (const std::exception& error) {  // none may leave the thread: that would end the process without a word
    shared_.fail({Failure::Kind::system, failure_words(error)});
  }
  const auto end_ns = now_monotonic_ns();
  const std::lock_guard lock(mutex_);
  last_end_ns_ = std::max(last_end_ns_, end_ns);
  if (--working_ == 0) ended_.notify_all();
}

std::uint64_t Crew::start() {
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

std::uint64_t Crew::done() const {
  std::uint64_t done = 0;
  for (const auto& client : clients_) done += client->done();
  return done;
}

void Crew::forget_measurements() {
  for (const auto& client : clients_) client->forget_measurements();
  reads_before_write_forgotten_ += reads_before_write();
}

std::unique_ptr<Measurements> Crew::measurements() const {
  auto all = std::make_unique<Measurements>();
  for (const auto& client : clients_) all->add(client->measurements());
  return all;
}

std::uint64_t Crew::reads_before_write() const {
  std::uint64_t reads = 0;
  for (const auto& session : sessions_) reads += session->reads_before_write();
  return reads - reads_before_write_forgotten_;
}

Histogram Crew::close_sessions() {
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
