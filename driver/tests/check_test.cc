// Deliberate programming mistakes: each ends the process with a message that names the condition.
#include "system/check.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "call_log.h"
#include "empty_database.h"
#include "run/crew.h"
#include "run/event_log.h"
#include "run/histogram_codec.h"
#include "run/rate_schedule.h"
#include "run/trace_writer.h"
#include "workload/core/core_client.h"

namespace edgejoule::driver {

// A histogram whose counters do not match its values.
class DamagedHistogram {
 public:
  static Histogram without_a_count() {
    auto histogram = whole();
    --histogram.counts_[Histogram::index_of(middle)];
    return histogram;
  }
  static Histogram with_a_wrong_maximum() {
    auto histogram = whole();
    histogram.max_ = 2 * most;
    return histogram;
  }
  static Histogram whole() {
    Histogram histogram;
    for (const auto value : {least, middle, most}) histogram.record(value);
    return histogram;
  }

 private:
  static constexpr std::uint64_t least = 1000;
  static constexpr std::uint64_t middle = 5000;
  static constexpr std::uint64_t most = 70'000;
};

namespace {

const std::atomic<bool> running = false;  // a stop that is never set

TEST(CheckDeathTest, names_the_place_the_condition_and_the_values) {
  const std::uint64_t count = 7;
  const double share = 0.5;
  EJ_CHECK(count == 7, count);
  EXPECT_DEATH(EJ_CHECK(count < 5, count, share, std::string("user1")),
               "check_test.cc:[0-9]+: assertion failed: count < 5; count, share, .* = 7, 0.5, \"user1\"");
}

TEST(CheckDeathTest, checks_of_debug_builds_are_made_in_debug_builds_only) {
  int evaluated = 0;
  EJ_DCHECK(++evaluated > 0);
  EXPECT_EQ(evaluated, debug_checks ? 1 : 0);
}

TEST(HistogramDeathTest, a_count_that_is_lost_is_found) {
  DamagedHistogram::whole().check_invariants();
  const auto damaged = DamagedHistogram::without_a_count();
  Histogram all;
  EXPECT_DEATH(damaged.check_invariants(), "counted == count_; .* = 2, 3");
  EXPECT_DEATH(all.add(damaged), "added == other.count_");
  EXPECT_DEATH(static_cast<void>(encode(damaged)), "counted == histogram.count");
  EXPECT_DEATH(static_cast<void>(damaged.percentile(100)), "index < counters");
}

TEST(HistogramDeathTest, a_maximum_that_was_never_recorded_is_found) {
  EXPECT_DEATH(DamagedHistogram::with_a_wrong_maximum().check_invariants(), "counts_\\[index_of\\(max_\\)\\] > 0");
}

TEST(HistogramDeathTest, is_not_added_to_itself) {
  auto histogram = DamagedHistogram::whole();
  EXPECT_DEATH(histogram.add(histogram), "&other != this");
  EXPECT_DEATH(static_cast<void>(histogram.percentile(101)), "percent <= 100");
}

TEST(MeasurementsDeathTest, a_latency_without_a_call_that_returned_is_found) {
  Measurements all;
  Measurements wrong;
  wrong.of(Operation::read).service.record(1);
  EXPECT_DEATH(all.add(wrong), "latencies.count\\(\\) <= returns");
  wrong.of(Operation::read).returns[static_cast<std::size_t>(Status::ok)] = 1;
  all.add(wrong);
  wrong.of(Operation::read).intended.record(1);
  wrong.of(Operation::read).intended.record(1);
  EXPECT_DEATH(all.add(wrong), "intended_latencies.count\\(\\) <= latencies.count\\(\\)");
}

TEST(AcknowledgedCounterDeathTest, a_number_is_acknowledged_once_and_only_when_it_was_handed_out) {
  AcknowledgedCounter counter(10);
  EXPECT_DEATH(counter.acknowledge(10), "number < next_");
  ASSERT_EQ(counter.next(running), 10U);
  ASSERT_EQ(counter.next(running), 11U);
  counter.acknowledge(11);
  EXPECT_DEATH(counter.acknowledge(11), "done_");
  EXPECT_DEATH(counter.acknowledge(9), "number - first < window");
}

KeyRequests requests(RequestDistribution distribution) {
  return {.distribution = distribution,
          .first = 5,
          .count = 10,
          .records = 15,
          .reserved = 0,
          .theta = zipfian_theta,
          .hot = 2,
          .hot_share = 0.8,
          .mean_age = 3};
}

TEST(KeyChooserDeathTest, a_key_outside_the_range_is_found) {
  const KeyChooser keys(requests(RequestDistribution::uniform), 0, 1);
  keys.check_invariants(14, 15);
  EXPECT_DEATH(keys.check_invariants(15, 20), "number - requests_.first < requests_.count");
  EXPECT_DEATH(keys.check_invariants(4, 15), "number - requests_.first < requests_.count");
  EXPECT_DEATH(KeyChooser(requests(RequestDistribution::latest), 0, 1).check_invariants(15, 15), "number < end");
  EXPECT_DEATH(KeyChooser(requests(RequestDistribution::zipfian), 0, 1).check_invariants(4, 15),
               "number >= requests_.first");
}

TEST(KeyChooserDeathTest, requests_beyond_the_records_are_refused) {
  auto wrong = requests(RequestDistribution::uniform);
  wrong.count = 11;
  EXPECT_DEATH(KeyChooser(wrong, 0, 1), "requests.count");
  wrong = requests(RequestDistribution::hotspot);
  wrong.hot = 10;
  EXPECT_DEATH(KeyChooser(wrong, 0, 1), "hot < requests.count");
  EXPECT_DEATH(KeyChooser(requests(RequestDistribution::uniform), 1, 1), "client < clients");
  const AcknowledgedCounter fewer(14);
  KeyChooser keys(requests(RequestDistribution::uniform), 0, 1);
  Random random(1);
  EXPECT_DEATH(static_cast<void>(keys.next(random, fewer, running)), "end >= requests_.records");
}

TEST(RateScheduleDeathTest, a_rate_that_no_user_can_ask_for_is_a_mistake) {
  EXPECT_DEATH(static_cast<void>(RateSchedule::constant(0)), "ops_s > 0");
  EXPECT_DEATH(static_cast<void>(RateSchedule::steps({})), "operations > 0");
  EXPECT_DEATH(static_cast<void>(RateSchedule::steps({{100, 0}})), "step.seconds > 0");
  EXPECT_DEATH(static_cast<void>(RateSchedule::sine(10, 11, 1)), "amplitude_ops_s <= mean_ops_s");
}

TEST(EventLogDeathTest, a_field_does_not_replace_the_event_s_name_or_time) {
  EventLog log(std::nullopt);
  EXPECT_DEATH(log.write("interval", 1, {{"event", "start"}}), "contains");
  EXPECT_DEATH(log.write("interval", 1, Json::array()), "is_object");
}

TEST(TraceWriterDeathTest, a_write_has_a_size_and_a_trace_ends_once) {
  TraceWriter writer("/dev/null");
  writer.start();
  EXPECT_DEATH(writer.line(TraceOperation::update, "key", std::nullopt), "size");
  writer.finish();
  EXPECT_DEATH(writer.finish(), "recording_");
}

// Performs more operations than requested.
class Eager final : public Client {
 public:
  using Client::Client;

 private:
  std::uint64_t step(std::uint64_t most) override { return most + 1; }
};

CoreWorkload reads() {
  Properties properties;
  properties.set("recordcount", "100");
  properties.set("operationcount", "1000");
  return {properties, Command::run};
}

TEST(ClientDeathTest, a_step_beyond_the_operations_that_are_left_is_found) {
  const auto what = reads();
  CoreWork shared(what, 1, 1, false);
  CallLog session;
  Eager client(shared, session);
  EXPECT_DEATH(client.work(10, {}), "count <= planned - worked; .* = 11, 10, 0");
  EXPECT_DEATH(client.work(10, {nullptr, 2, 2}), "pace.first < pace.stride");
}

class CallLogDatabase : public EmptyDatabase {
 public:
  [[nodiscard]] std::unique_ptr<Session> session() override { return std::make_unique<CallLog>(); }
};

TEST(CrewDeathTest, is_asked_in_the_order_of_a_run) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto what = reads();
  CallLogDatabase database;
  CoreWork shared(what, 1, 2, false);
  Crew crew(shared, database);
  EXPECT_DEATH(static_cast<void>(crew.start()), "starting_ != nullptr");
  EXPECT_DEATH(
      {
        crew.prepare(10, nullptr);
        static_cast<void>(crew.last_interval());
      },
      "threads_.empty");
}

}  // namespace
}  // namespace edgejoule::driver
