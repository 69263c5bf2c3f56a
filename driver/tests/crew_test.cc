// The threads of a run end cleanly whatever a database throws.
#include "run/crew.h"

#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <stdexcept>

#include "empty_database.h"
#include "workload/core/core_client.h"

namespace edgejoule::driver {
namespace {

// All operations have the same result; each update counts a read before it.
class Doing : public Session {
 public:
  explicit Doing(const std::function<void()>& deed) : deed_(deed) {}

  Status read(std::string_view, FieldNames, Row&) override { return done(); }
  Status scan(std::string_view, std::uint64_t, FieldNames, std::vector<Row>&) override { return done(); }
  Status update(std::string_view, Fields) override {
    ++reads_before_write_;
    return done();
  }
  Status insert(std::string_view, Fields) override { return done(); }
  Status upsert(std::string_view, Fields) override { return done(); }
  Status remove(std::string_view) override { return done(); }
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  Status done() {
    deed_();
    return Status::ok;
  }

  const std::function<void()>& deed_;
};

class DoingDatabase : public EmptyDatabase {
 public:
  explicit DoingDatabase(std::function<void()> deed) : deed_(std::move(deed)) {}

  [[nodiscard]] std::unique_ptr<Session> session() override { return std::make_unique<Doing>(deed_); }

 private:
  std::function<void()> deed_;
};

CoreWorkload updates() {
  Properties properties;
  properties.set("recordcount", "100");
  properties.set("operationcount", "1000");
  properties.set("readproportion", "0");
  properties.set("updateproportion", "1");
  return {properties, Command::run};
}

std::optional<Failure> failure_of_a_run(std::function<void()> deed) {
  const auto what = updates();
  DoingDatabase database(std::move(deed));
  CoreWork shared(what, 1, 2, false);
  Crew crew(shared, database);
  crew.prepare(what.operations, nullptr);
  static_cast<void>(crew.start());
  static_cast<void>(crew.join());
  return shared.failure();
}

TEST(Crew, what_a_database_throws_in_a_client_is_the_failure_of_the_run) {
  const auto failure = failure_of_a_run([] { throw DatabaseError("no such table"); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Failure::Kind::database);
  EXPECT_EQ(failure->message, "no such table");
}

TEST(Crew, memory_that_runs_out_in_a_client_is_the_failure_of_the_run) {
  for (const auto& deed : {std::function<void()>([] { throw std::bad_alloc(); }),
                           std::function<void()>([] { throw std::length_error("basic_string::append"); })}) {
    const auto failure = failure_of_a_run(deed);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, Failure::Kind::system);
    EXPECT_TRUE(failure->message.starts_with("not enough memory")) << failure->message;
  }
}

// The operation ends before it began, or before it was due.
class TimeRunsBack final : public Client {
 public:
  using Client::Client;

 private:
  std::uint64_t step(std::uint64_t /*most*/) override {
    measure(Operation::read, Status::ok, 1000, 999);
    return 1;
  }
};

class BackwardWork final : public Work {
 public:
  BackwardWork() : Work(1, 1) {}
  [[nodiscard]] std::unique_ptr<Client> client(Session& session, unsigned) override {
    return std::make_unique<TimeRunsBack>(*this, session);
  }
};

TEST(Crew, a_clock_that_steps_back_stops_the_run_and_gives_no_latency) {
  DoingDatabase database([] {});
  BackwardWork shared;
  Crew crew(shared, database);
  crew.prepare(10, nullptr);
  static_cast<void>(crew.start());
  static_cast<void>(crew.join());
  ASSERT_TRUE(shared.failure());
  EXPECT_EQ(shared.failure()->kind, Failure::Kind::system);
  EXPECT_NE(shared.failure()->message.find("stepped back by 1 ticks"), std::string::npos) << shared.failure()->message;
  EXPECT_EQ(crew.measurements().of(Operation::read).service.count(), 0U);
}

TEST(Crew, a_warm_up_s_reads_before_write_are_forgotten_with_it) {
  const auto what = updates();
  DoingDatabase database([] {});
  CoreWork shared(what, 1, 2, false);
  Crew crew(shared, database);
  for (const std::uint64_t operations : {300U, 1000U}) {
    crew.forget_measurements();
    crew.prepare(operations, nullptr);
    static_cast<void>(crew.start());
    static_cast<void>(crew.join());
  }
  EXPECT_EQ(crew.outcome().succeeded, 1000U);
  EXPECT_EQ(crew.reads_before_write(), 1000U);
}

TEST(Crew, intervals_taken_while_the_clients_work_add_up_to_the_whole) {
  const auto what = updates();
  DoingDatabase database([] {});
  CoreWork shared(what, 1, 2, false);
  Crew crew(shared, database);
  constexpr std::uint64_t operations = 2'000'000;
  crew.prepare(operations, nullptr);
  static_cast<void>(crew.start());
  std::uint64_t sum = 0;
  std::uint64_t intervals_with_operations = 0;
  while (!crew.wait(1'000'000)) {
    const auto count = crew.next_interval().of(Operation::update).service.count();
    intervals_with_operations += count > 0 ? 1 : 0;
    sum += count;
  }
  static_cast<void>(crew.join());
  sum += crew.last_interval().of(Operation::update).service.count();
  EXPECT_EQ(sum, operations);
  EXPECT_EQ(crew.measurements().of(Operation::update).service.count(), operations);
  EXPECT_GT(intervals_with_operations, 1U);
}

// A background client.
class Companion final : public Client {
 public:
  using Client::Client;
  [[nodiscard]] bool accompanies() const override { return true; }

 private:
  std::uint64_t step(std::uint64_t) override {
    const auto begin = now();
    measure(Operation::insert, session().insert("key", {}), begin, now());
    return 1;
  }
};

class WorkWithCompanion final : public Work {
 public:
  WorkWithCompanion(const CoreWorkload& what, unsigned the_threads)
      : Work(1, the_threads), core_(what, 1, the_threads, false) {}

  [[nodiscard]] std::unique_ptr<Client> client(Session& session, unsigned number) override {
    if (number == 0) return std::make_unique<Companion>(*this, session);
    return core_.client(session, number);
  }

 private:
  CoreWork core_;
};

TEST(Crew, a_client_that_accompanies_ends_with_the_others_and_is_measured_apart) {
  const auto what = updates();
  DoingDatabase database([] {});
  WorkWithCompanion shared(what, 3);
  Crew crew(shared, database);
  crew.prepare(1000, nullptr);
  static_cast<void>(crew.start());
  static_cast<void>(crew.join());
  EXPECT_EQ(crew.outcome().succeeded, 1000U);
  EXPECT_EQ(crew.last_interval().of(Operation::update).service.count(), 1000U);
}

}  // namespace
}  // namespace edgejoule::driver
