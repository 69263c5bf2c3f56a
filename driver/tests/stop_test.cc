// No wait and no loop of a client continues after the stop of its run.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "empty_database.h"
#include "workload/core/core_client.h"
#include "workload/core/key_chooser.h"

namespace edgejoule::driver {
namespace {

using Clock = std::chrono::steady_clock;

CoreWorkload workload(const std::map<std::string, std::string>& pairs) {
  Properties properties;
  for (const auto& [key, value] : pairs) properties.set(key, value);
  return {properties, Command::run};
}

// A server that never answers the first insert of its first connection, and answers all others at once.
class SilentConnection {
 public:
  void wait_for_answer() {
    std::unique_lock lock(mutex_);
    silent_ = true;
    answered_.wait(lock, [this] { return answering_; });
  }
  void answer() {
    const std::lock_guard lock(mutex_);
    answering_ = true;
    answered_.notify_all();
  }
  [[nodiscard]] bool silent() {
    const std::lock_guard lock(mutex_);
    return silent_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable answered_;
  bool silent_ = false;
  bool answering_ = false;
};

class InsertSession final : public Session {
 public:
  InsertSession(SilentConnection* silent, std::atomic<std::uint64_t>& inserts) : silent_(silent), inserts_(inserts) {}

  Status insert(std::string_view, Fields) override {
    if (silent_ != nullptr) silent_->wait_for_answer();
    inserts_.fetch_add(1, std::memory_order_relaxed);
    return Status::ok;
  }
  Status read(std::string_view, FieldNames, Row&) override { return Status::ok; }
  Status scan(std::string_view, std::uint64_t, FieldNames, std::vector<Row>&) override { return Status::ok; }
  Status update(std::string_view, Fields) override { return Status::ok; }
  Status upsert(std::string_view, Fields) override { return Status::ok; }
  Status remove(std::string_view) override { return Status::ok; }
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  SilentConnection* silent_;
  std::atomic<std::uint64_t>& inserts_;
};

class PartlySilentDatabase final : public EmptyDatabase {
 public:
  [[nodiscard]] std::unique_ptr<Session> session() override {
    return std::make_unique<InsertSession>(sessions_++ == 0 ? &connection : nullptr, inserts);
  }

  SilentConnection connection;
  std::atomic<std::uint64_t> inserts = 0;

 private:
  int sessions_ = 0;
};

// Waits until the clients have inserted as many rows as fit into the window, at most a minute.
void wait_for_full_window(const PartlySilentDatabase& database) {
  const auto deadline = Clock::now() + std::chrono::minutes(1);
  while (database.inserts < AcknowledgedCounter::window - 1 && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

TEST(Stop, ends_clients_that_wait_for_the_insert_of_a_connection_without_an_answer) {
  const auto inserts = workload({{"recordcount", "1"},
                                 {"operationcount", "1000000000000"},
                                 {"readproportion", "0"},
                                 {"updateproportion", "0"},
                                 {"insertproportion", "1"},
                                 {"fieldcount", "1"},
                                 {"fieldlength", "1"}});
  constexpr unsigned threads = 3;
  PartlySilentDatabase database;
  CoreWork work(inserts, 1, threads, false);
  std::atomic<unsigned> ended = 0;
  std::vector<std::jthread> clients;
  for (unsigned number = 0; number < threads; ++number) {
    clients.emplace_back([&, number, session = database.session()] {
      work.client(*session, number)->work(0, {});
      ++ended;
    });
  }
  wait_for_full_window(database);
  EXPECT_TRUE(database.connection.silent());
  EXPECT_GE(database.inserts, AcknowledgedCounter::window - 1);
  work.stop = true;
  const auto deadline = Clock::now() + std::chrono::seconds(10);
  while (ended < threads - 1 && Clock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(ended, threads - 1) << "clients that have ended while the silent connection still waits for its answer";
  database.connection.answer();
}

KeyRequests requests_of(RequestDistribution distribution, std::uint64_t records, std::uint64_t reserved) {
  return {.distribution = distribution,
          .first = 0,
          .count = records,
          .records = records,
          .reserved = reserved,
          .theta = zipfian_theta,
          .hot = 1,
          .hot_share = 0.8,
          .mean_age = static_cast<double>(records)};
}

// Before ADR 026 nearly every draw was of a key that did not exist yet.
TEST(KeyChooser, finds_keys_also_when_operationcount_foresees_far_more_inserts_than_there_are_records) {
  constexpr std::uint64_t records = 10;
  KeyChooser keys(requests_of(RequestDistribution::zipfian, records, 100'000'000'000), 0, 1);
  const AcknowledgedCounter inserted(records);
  const std::atomic<bool> running = false;
  Random random(1);
  std::array<std::uint64_t, records> drawn{};
  for (int i = 0; i < 100'000; ++i) ++drawn.at(keys.next(random, inserted, running).value());
  for (const auto count : drawn) EXPECT_GT(count, 0U);
}

TEST(KeyChooser, finds_a_key_that_is_young_enough_however_old_keys_are_on_average) {
  auto requests = requests_of(RequestDistribution::exponential, 10, 0);
  requests.mean_age = 1e14;
  KeyChooser keys(requests, 0, 1);
  const AcknowledgedCounter inserted(10);
  const std::atomic<bool> running = false;
  Random random(1);
  std::array<double, 10> drawn{};
  constexpr int draws = 100'000;
  for (int i = 0; i < draws; ++i) ++drawn.at(keys.next(random, inserted, running).value());
  // Six standard deviations of a uniform distribution.
  for (const auto count : drawn) EXPECT_NEAR(count, draws / 10.0, 600);
}

TEST(KeyChooser, gives_up_when_the_run_stops) {
  auto requests = requests_of(RequestDistribution::zipfian, 1, 0);
  requests.theta = zipfian_theta_max;  // nearly all draws are of rank 0, whose key is missing
  KeyChooser keys(requests, 0, 1);
  const AcknowledgedCounter inserted(1);
  const std::atomic<bool> stopped = true;
  Random random(1);
  int given_up = 0;
  for (int i = 0; i < 100; ++i) given_up += keys.next(random, inserted, stopped) ? 0 : 1;
  EXPECT_GT(given_up, 90);
}

TEST(KeySpace, is_that_of_ycsb_up_to_eight_keys_for_each_that_is_there) {
  KeySpace space(requests_of(RequestDistribution::zipfian, 1000, 6999));
  EXPECT_EQ(space.keys(1000), 8000U);
  EXPECT_EQ(space.keys(7000), 8000U);
}

TEST(KeySpace, beyond_is_two_to_four_times_what_is_there_and_never_more_than_ycsb_s) {
  constexpr std::uint64_t foreseen = 1'000'001;
  KeySpace space(requests_of(RequestDistribution::zipfian, 1000, foreseen - 1001));
  for (std::uint64_t existing = 1000; existing < foreseen; ++existing) {
    const auto keys = space.keys(existing);
    ASSERT_GE(keys, std::min(foreseen, 2 * existing));
    ASSERT_LE(keys, std::min(foreseen, 4 * existing));
  }
}

}  // namespace
}  // namespace edgejoule::driver
