// Many clients on a database with slow inserts that finish in another order than they began: no client reads a record
// above the last acknowledged insert.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <optional>
#include <thread>

#include "empty_database.h"
#include "run/crew.h"
#include "workload/core/core_client.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t records = 100;
constexpr std::uint64_t operations = 8000;
constexpr unsigned threads = 16;
constexpr std::uint64_t seed = 7;

// The existing records, and the requests.
struct Shelf {
  Shelf() : there(records + operations) { std::fill_n(there.begin(), records, true); }

  void store(std::uint64_t number) {
    there[number] = true;
    ++stored;
    auto newest = highest.load();
    if (number < newest) ++out_of_order;
    while (number > newest && !highest.compare_exchange_weak(newest, number)) {
    }
  }

  std::deque<std::atomic<bool>> there;
  std::atomic<std::uint64_t> highest = records - 1;
  std::atomic<std::uint64_t> stored = 0;
  std::atomic<std::uint64_t> out_of_order = 0;
  std::atomic<std::uint64_t> reads_of_inserted = 0;
  std::atomic<std::uint64_t> missing = 0;  // reads of a missing record
};

class SlowSession : public Session {
 public:
  explicit SlowSession(Shelf& shelf) : shelf_(shelf) {}

  Status read(std::string_view key, FieldNames, Row& row) override {
    row.fields.clear();
    const auto number = number_of(key);
    if (number >= records) ++shelf_.reads_of_inserted;
    if (shelf_.there[number]) return Status::ok;
    ++shelf_.missing;
    return Status::not_found;
  }
  Status insert(std::string_view key, Fields) override {
    const auto number = number_of(key);
    std::this_thread::sleep_for(std::chrono::microseconds(number * 7919 % 400));
    store(number);
    return Status::ok;
  }
  Status scan(std::string_view, std::uint64_t, FieldNames, std::vector<Row>&) override { return Status::ok; }
  Status update(std::string_view, Fields) override { return Status::ok; }
  Status upsert(std::string_view key, Fields fields) override { return insert(key, fields); }
  Status remove(std::string_view) override { return Status::ok; }
  [[nodiscard]] std::string error() const override { return {}; }

 protected:
  virtual void store(std::uint64_t number) { shelf_.store(number); }

  Shelf& shelf_;

 private:
  static std::uint64_t number_of(std::string_view key) {
    constexpr std::size_t prefix_bytes = 4;  // "user"
    return std::stoull(std::string(key.substr(prefix_bytes)));
  }
};

// Mutant: a record exists only when the next one is inserted.
class EarlySession final : public SlowSession {
 public:
  using SlowSession::SlowSession;

 private:
  void store(std::uint64_t number) override {
    if (kept_) shelf_.store(*kept_);
    kept_ = number;
  }

  std::optional<std::uint64_t> kept_;
};

template <typename ItsSession>
class ShelfDatabase final : public EmptyDatabase {
 public:
  explicit ShelfDatabase(Shelf& shelf) : shelf_(shelf) {}

  [[nodiscard]] std::unique_ptr<Session> session() override { return std::make_unique<ItsSession>(shelf_); }

 private:
  Shelf& shelf_;
};

CoreWorkload half_inserts(const std::string& law) {
  Properties properties;
  properties.set("recordcount", std::to_string(records));
  properties.set("operationcount", std::to_string(operations));
  properties.set("insertorder", "ordered");
  properties.set("fieldcount", "1");
  properties.set("readproportion", "0.5");
  properties.set("updateproportion", "0");
  properties.set("insertproportion", "0.5");
  properties.set("requestdistribution", law);
  return {properties, Command::run};
}

template <typename ItsSession>
void run_on(Shelf& shelf, const std::string& law) {
  const auto what = half_inserts(law);
  ShelfDatabase<ItsSession> database(shelf);
  CoreWork shared(what, seed, threads, false);
  Crew crew(shared, database);
  crew.prepare(what.operations, nullptr);
  static_cast<void>(crew.start());
  static_cast<void>(crew.join());
  static_cast<void>(crew.last_interval());
  EXPECT_EQ(crew.outcome().done(), operations);
  EXPECT_EQ(crew.outcome().failed, shelf.missing);
  EXPECT_EQ(crew.measurements().calls_that_returned(Status::not_found), shelf.missing);
}

TEST(AcknowledgedReads, many_threads_never_read_above_the_last_acknowledged_insert) {
  for (const auto* law : {"latest", "zipfian", "exponential"}) {
    Shelf shelf;
    run_on<SlowSession>(shelf, law);
    EXPECT_EQ(shelf.missing, 0U) << law << ", seed " << seed;
    EXPECT_NEAR(static_cast<double>(shelf.stored), operations / 2.0, 300) << law;
    EXPECT_GT(shelf.out_of_order, shelf.stored / 10) << law << ": this test could not fail";
    EXPECT_GT(shelf.reads_of_inserted, operations / 10) << law << ": this test could not fail";
  }
}

TEST(AcknowledgedReads, an_insert_acknowledged_before_it_is_there_is_detected) {
  Shelf shelf;
  run_on<EarlySession>(shelf, "latest");
  EXPECT_GT(shelf.missing, operations / 100);
}

}  // namespace
}  // namespace edgejoule::driver
