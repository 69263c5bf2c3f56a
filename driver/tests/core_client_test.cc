// Clients on noop and on databases that misbehave.
#include "workload/core/core_client.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "adapters/registry.h"
#include "run/crew.h"
#include "workload/values.h"

namespace edgejoule::driver {
namespace {

using Pairs = std::map<std::string, std::string>;

CoreWorkload workload(const Pairs& pairs, Command command = Command::run) {
  Properties properties;
  properties.set("recordcount", "1000");
  properties.set("operationcount", "20000");
  for (const auto& [key, value] : pairs) properties.set(key, value);
  return {properties, command};
}

std::string checksum_of_run(const CoreWorkload& what, std::uint64_t seed, unsigned threads) {
  const auto database = find_adapter("noop")->make();
  CoreWork shared(what, seed, threads, false);
  shared.keeps_nothing = true;
  Crew crew(shared, *database);
  crew.prepare(what.operations, nullptr);
  static_cast<void>(crew.start());
  static_cast<void>(crew.join());
  EXPECT_EQ(crew.outcome().succeeded, what.operations);
  return database->stats().at("checksum");
}

TEST(CoreClient, the_same_seed_gives_the_same_operations) {
  const auto mixed = workload({{"requestdistribution", "latest"},
                               {"readproportion", "0.5"},
                               {"insertproportion", "0.2"},
                               {"scanproportion", "0.1"},
                               {"readmodifywriteproportion", "0.1"},
                               {"readallfields", "false"},
                               {"fieldlengthdistribution", "uniform"}});
  EXPECT_EQ(checksum_of_run(mixed, 1, 1), checksum_of_run(mixed, 1, 1));
  EXPECT_NE(checksum_of_run(mixed, 1, 1), checksum_of_run(mixed, 2, 1));
}

TEST(CoreClient, the_same_seed_gives_the_same_operations_on_several_threads) {
  const auto updates = workload({{"requestdistribution", "zipfian"}, {"updateproportion", "0.5"}});
  EXPECT_EQ(checksum_of_run(updates, 1, 3), checksum_of_run(updates, 1, 3));
}

// Remembers keys, and fails as configured.
class Witness : public Session {
 public:
  Status read(std::string_view key, FieldNames, Row& row) override {
    row.fields.assign(row_fields.begin(), row_fields.end());
    keys.emplace(key);
    return ++calls == fail_at ? failure : Status::ok;
  }
  Status scan(std::string_view, std::uint64_t count, FieldNames, std::vector<Row>& rows) override {
    rows.resize(std::min<std::uint64_t>(count, 3));
    return Status::ok;
  }
  Status update(std::string_view, Fields) override { return ++calls == fail_at ? failure : Status::ok; }
  Status insert(std::string_view key, Fields fields) override {
    EXPECT_TRUE(keys.emplace(key).second) << key << " was inserted twice";
    fields_inserted += fields.size();
    return ++calls == fail_at ? failure : Status::ok;
  }
  Status upsert(std::string_view key, Fields fields) override { return insert(key, fields); }
  Status remove(std::string_view) override { return Status::ok; }
  [[nodiscard]] std::string error() const override { return "the disk is gone"; }

  std::set<std::string> keys;
  std::vector<Field> row_fields;
  std::uint64_t calls = 0;
  std::uint64_t fields_inserted = 0;
  std::uint64_t fail_at = 0;
  Status failure = Status::error;
};

const Pace unpaced;

// All that the client has measured.
Measurements measured_by(Client& client) {
  Measurements all;
  client.collect_rest(all);
  return all;
}

TEST(CoreClient, load_inserts_every_record_once_whatever_the_batch) {
  for (const auto* batch : {"1", "7", "1000"}) {
    const auto load =
        workload({{"recordcount", "100"}, {"batchsize", batch}, {"insertorder", "ordered"}}, Command::load);
    CoreWork shared(load, 1, 2, false);
    Witness witness;
    for (unsigned number = 0; number < 2; ++number) CoreClient(shared, witness, number).work(50, unpaced);
    std::set<std::string> expected;
    for (int i = 0; i < 100; ++i) expected.insert("user" + std::to_string(i));
    EXPECT_EQ(witness.keys, expected) << "batchsize " << batch;
    EXPECT_EQ(witness.fields_inserted, 1000U);
  }
}

// Counts values that do not begin a cache line.
class LineWitness final : public Witness {
 public:
  Status update(std::string_view, Fields fields) override {
    if (reinterpret_cast<std::uintptr_t>(fields.data()) % cache_line_bytes != 0) ++misplaced;
    return Status::ok;
  }

  std::uint64_t misplaced = 0;
};

// Otherwise threads slow each other down, by up to a factor of two.
TEST(CoreClient, what_a_client_writes_for_every_operation_lies_on_lines_of_its_own) {
  const auto updates = workload({{"readproportion", "0"}, {"updateproportion", "1"}, {"fieldcount", "1"}});
  constexpr unsigned clients = 64;
  CoreWork shared(updates, 1, clients, false);
  LineWitness witness;
  std::vector<std::unique_ptr<CoreClient>> all;
  for (unsigned i = 0; i < clients; ++i) all.push_back(std::make_unique<CoreClient>(shared, witness, i));
  for (const auto& client : all) client->work(1, unpaced);
  EXPECT_EQ(witness.misplaced, 0U);
}

TEST(CoreClient, keys_of_several_clients_never_meet_on_a_line) {
  std::vector<KeyName> names(64, KeyName(true, 0));
  std::set<std::uintptr_t> lines;
  for (auto& name : names) lines.insert(reinterpret_cast<std::uintptr_t>(name.of(1).data()) / cache_line_bytes);
  EXPECT_EQ(lines.size(), names.size());
}

TEST(CoreClient, an_error_of_the_database_stops_the_run_with_its_message) {
  const auto reads = workload({{"readproportion", "1"}, {"updateproportion", "0"}});
  CoreWork shared(reads, 1, 1, false);
  Witness witness;
  witness.fail_at = 10;
  CoreClient client(shared, witness, 0);
  client.work(100, unpaced);
  ASSERT_TRUE(shared.failure());
  EXPECT_EQ(shared.failure()->kind, Failure::Kind::database);
  EXPECT_NE(shared.failure()->message.find("the disk is gone"), std::string::npos);
  EXPECT_EQ(witness.calls, 10U);
  EXPECT_EQ(measured_by(client).calls_that_returned(Status::error), 1U);
}

TEST(CoreClient, busy_is_counted_and_the_run_goes_on) {
  const auto updates = workload({{"readproportion", "0"}, {"updateproportion", "1"}});
  CoreWork shared(updates, 1, 1, false);
  Witness witness;
  witness.fail_at = 10;
  witness.failure = Status::busy;
  CoreClient client(shared, witness, 0);
  client.work(100, unpaced);
  EXPECT_FALSE(shared.failure());
  EXPECT_EQ(client.succeeded(), 99U);
  EXPECT_EQ(client.failed(), 1U);
  const auto measured = measured_by(client);
  EXPECT_EQ(measured.calls_that_returned(Status::busy), 1U);
  EXPECT_EQ(measured.of(Operation::update).service.count(), 99U);
  EXPECT_EQ(measured.of(Operation::update).failures(), 1U);
  EXPECT_EQ(measured.payload_write_bytes, 9900U);
}

TEST(CoreClient, the_cause_of_a_failure_is_kept_in_the_database_s_message) {
  const auto updates = workload({{"readproportion", "0"}, {"updateproportion", "1"}});
  CoreWork shared(updates, 1, 1, false);
  Witness witness;
  witness.fail_at = 10;
  witness.failure = Status::busy;
  CoreClient client(shared, witness, 0);
  client.work(100, unpaced);
  const auto causes = measured_by(client).causes.commonest_first();
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].message, "the disk is gone");
  EXPECT_EQ(failures_by_status(causes), "UPDATE BUSY 1");
}

TEST(FailureCauses, words_that_differ_in_digits_only_are_one_cause) {
  FailureCauses causes;
  causes.add(Operation::read, Status::busy, "read of user12: locked", 1);
  causes.add(Operation::read, Status::busy, "read of user345: locked", 2);
  causes.add(Operation::update, Status::busy, "update of user12: locked", 1);
  const auto found = causes.commonest_first();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].count, 3U);
  EXPECT_EQ(found[0].message, "read of user12: locked");
}

TEST(FailureCauses, very_many_causes_take_bounded_memory_and_lose_no_failure) {
  FailureCauses causes;
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    for (const auto* end : {"x", "y", "z"}) causes.add(Operation::read, Status::busy, std::string(1, letter) + end, 1);
  }
  std::uint64_t count = 0;
  for (const auto& cause : causes.commonest_first()) count += cause.count;
  EXPECT_EQ(count, 78U);
  EXPECT_LE(causes.commonest_first().size(), FailureCauses::causes_max + 1);
}

// A read-modify-write whose two calls fail counts as one failed operation.
TEST(CoreClient, an_operation_of_several_calls_fails_once) {
  class AlwaysBusy final : public Witness {
   public:
    Status read(std::string_view, FieldNames, Row&) override { return Status::busy; }
    Status update(std::string_view, Fields) override { return Status::busy; }
  };
  const auto composed =
      workload({{"readproportion", "0"}, {"updateproportion", "0"}, {"readmodifywriteproportion", "1"}});
  CoreWork shared(composed, 1, 1, false);
  AlwaysBusy database;
  CoreClient client(shared, database, 0);
  client.work(100, unpaced);
  EXPECT_EQ(client.failed(), 100U);
  EXPECT_EQ(client.succeeded(), 0U);
}

TEST(CoreClient, an_insert_that_succeeds_when_it_is_tried_again_is_no_failed_operation) {
  const auto load = workload({{"recordcount", "100"},
                              {"batchsize", "10"},
                              {"core_workload_insertion_retry_limit", "1"},
                              {"core_workload_insertion_retry_interval", "0"}},
                             Command::load);
  CoreWork shared(load, 1, 1, false);
  class BusyOnce final : public Witness {
   public:
    Status insert(std::string_view, Fields) override { return ++calls == 30 ? Status::busy : Status::ok; }
  };
  BusyOnce database;
  CoreClient client(shared, database, 0);
  client.work(100, unpaced);
  EXPECT_FALSE(shared.failure());
  EXPECT_EQ(client.succeeded(), 100U);
  EXPECT_EQ(client.failed(), 0U);
}

// The record at the start of a scan exists. An index without it returns no rows and no error.
TEST(CoreClient, a_scan_that_finds_nothing_has_failed) {
  class WithoutIndex final : public Witness {
   public:
    Status scan(std::string_view, std::uint64_t, FieldNames, std::vector<Row>& rows) override {
      rows.clear();
      return Status::ok;
    }
  };
  const auto scans = workload({{"readproportion", "0"}, {"updateproportion", "0"}, {"scanproportion", "1"}});
  CoreWork shared(scans, 1, 1, false);
  WithoutIndex database;
  CoreClient client(shared, database, 0);
  client.work(100, unpaced);
  EXPECT_EQ(client.succeeded(), 0U);
  EXPECT_EQ(failures_by_status(measured_by(client).causes.commonest_first()), "SCAN NOT_FOUND 100");
}

TEST(CoreClient, wrong_data_stops_a_verified_run) {
  const auto verified =
      workload({{"readproportion", "1"}, {"updateproportion", "0"}, {"dataintegrity", "true"}, {"fieldcount", "1"}});
  CoreWork shared(verified, 1, 1, true);
  Witness witness;
  witness.row_fields = {{"field0", "not what was written"}};
  CoreClient client(shared, witness, 0);
  client.work(100, unpaced);
  ASSERT_TRUE(shared.failure());
  EXPECT_EQ(shared.failure()->kind, Failure::Kind::wrong_data);
  EXPECT_EQ(witness.calls, 1U);
}

TEST(CoreClient, a_missing_field_is_wrong_data) {
  const auto verified = workload({{"readproportion", "1"}, {"updateproportion", "0"}, {"dataintegrity", "true"}});
  CoreWork shared(verified, 1, 1, true);
  Witness witness;
  CoreClient client(shared, witness, 0);
  client.work(100, unpaced);
  ASSERT_TRUE(shared.failure());
  EXPECT_NE(shared.failure()->message.find("field0 is missing"), std::string::npos);
}

TEST(CoreClient, a_lost_record_is_wrong_data_and_named) {
  const auto verified = workload({{"readproportion", "1"}, {"updateproportion", "0"}, {"dataintegrity", "true"}});
  CoreWork shared(verified, 1, 1, true);
  Witness witness;
  witness.fail_at = 1;
  witness.failure = Status::not_found;
  CoreClient client(shared, witness, 0);
  client.work(100, unpaced);
  ASSERT_TRUE(shared.failure());
  EXPECT_EQ(shared.failure()->kind, Failure::Kind::wrong_data);
  EXPECT_NE(shared.failure()->message.find("READ of " + *witness.keys.begin() + ": the record is missing"),
            std::string::npos)
      << shared.failure()->message;
  EXPECT_EQ(measured_by(client).of(Operation::verify).returns[static_cast<std::size_t>(Status::unexpected_state)], 1U);
  EXPECT_EQ(witness.calls, 1U);
}

// Rows that a busy database refused would be missing from every run after the load.
TEST(CoreClient, a_load_that_stays_busy_fails) {
  for (const auto* batch : {"1", "10"}) {
    const auto load = workload({{"recordcount", "100"}, {"batchsize", batch}}, Command::load);
    CoreWork shared(load, 1, 1, false);
    Witness witness;
    witness.fail_at = 30;
    witness.failure = Status::busy;
    CoreClient client(shared, witness, 0);
    client.work(100, unpaced);
    ASSERT_TRUE(shared.failure()) << "batchsize " << batch;
    EXPECT_NE(shared.failure()->message.find("INSERT of user"), std::string::npos) << shared.failure()->message;
    EXPECT_LT(client.succeeded(), 100U);
  }
}

TEST(CoreClient, a_busy_read_verifies_nothing) {
  const auto verified = workload({{"readproportion", "1"}, {"updateproportion", "0"}, {"dataintegrity", "true"}});
  CoreWork shared(verified, 1, 1, true);
  Witness witness;
  witness.row_fields = {{"field0", "of an earlier row"}};
  witness.fail_at = 1;
  witness.failure = Status::busy;
  CoreClient client(shared, witness, 0);
  client.work(1, unpaced);
  EXPECT_FALSE(shared.failure());
  const auto measured = measured_by(client);
  const auto& verify = measured.of(Operation::verify);
  EXPECT_EQ(verify.service.count() + verify.failures(), 0U);
}

// Stores records, but refuses every third insert.
class Refusing : public Witness {
 public:
  Status read(std::string_view key, FieldNames, Row& row) override {
    reads_of_refused += refused.contains(key) ? 1 : 0;
    if (refused.contains(key)) return Status::not_found;
    deterministic_value(key, "field0", 20, value_);
    row.fields = {{"field0", value_}};
    return Status::ok;
  }
  Status insert(std::string_view key, Fields) override {
    if (++calls % 3 != 0) return Status::ok;
    refused.emplace(key);
    return Status::busy;
  }

  std::set<std::string, std::less<>> refused;
  int reads_of_refused = 0;

 private:
  std::string value_;
};

TEST(CoreClient, a_record_whose_insert_was_refused_is_not_lost) {
  const auto verified = workload({{"readproportion", "0.5"},
                                  {"updateproportion", "0"},
                                  {"insertproportion", "0.5"},
                                  {"requestdistribution", "latest"},
                                  {"fieldcount", "1"},
                                  {"fieldlength", "20"},
                                  {"dataintegrity", "true"}});
  CoreWork shared(verified, 1, 1, true);
  Refusing database;
  CoreClient client(shared, database, 0);
  client.work(2000, unpaced);
  EXPECT_GT(database.reads_of_refused, 0) << "this test could not fail";
  EXPECT_FALSE(shared.failure()) << shared.failure()->message;
  EXPECT_EQ(client.succeeded() + client.failed(), 2000U);
}

TEST(CoreClient, a_target_measures_from_when_the_operation_was_due) {
  const auto reads = workload({{"readproportion", "1"}, {"updateproportion", "0"}});
  CoreWork shared(reads, 1, 1, false);
  Witness witness;
  CoreClient client(shared, witness, 0);
  const auto schedule = RateSchedule::constant(10'000);
  client.work(20, {&schedule});
  const auto measured = measured_by(client);
  const auto& read = measured.of(Operation::read);
  EXPECT_EQ(read.intended.count(), 20U);
  EXPECT_GE(read.intended.min(), read.service.min());
}

TEST(CoreClient, the_mix_is_the_one_asked_for) {
  const auto mixed = workload({{"readproportion", "2"}, {"updateproportion", "1"}, {"scanproportion", "1"}});
  CoreWork shared(mixed, 1, 1, false);
  Witness witness;
  CoreClient client(shared, witness, 0);
  constexpr double operations = 40'000;
  client.work(static_cast<std::uint64_t>(operations), unpaced);
  const auto measured = measured_by(client);
  const auto part = [&](Operation operation) {
    return static_cast<double>(measured.of(operation).service.count()) / operations;
  };
  EXPECT_NEAR(part(Operation::read), 0.5, 0.015);  // six standard deviations
  EXPECT_NEAR(part(Operation::update), 0.25, 0.015);
  EXPECT_NEAR(part(Operation::scan), 0.25, 0.015);
  EXPECT_EQ(part(Operation::insert), 0);
}

}  // namespace
}  // namespace edgejoule::driver
