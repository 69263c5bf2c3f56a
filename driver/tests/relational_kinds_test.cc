// Mobibench and sqlite-bench: the rows of their operations, how often, in what order and how many at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "call_log.h"
#include "run/client.h"
#include "system/usage_error.h"
#include "workload/permutation.h"
#include "workload/workload_kinds.h"

namespace edgejoule::driver {
namespace {

using Pairs = std::map<std::string, std::string>;

std::unique_ptr<const Workload> made(const std::string& kind, const Pairs& pairs, Command command = Command::run) {
  Properties properties;
  properties.set("workload", kind);
  for (const auto& [key, value] : pairs) properties.set(key, value);
  return workload_kind(properties).make(properties, command);
}

const Pace unpaced;

// The calls of all clients, one client after the other.
Calls calls_of(const Workload& what, unsigned threads = 1) {
  CallLog log;
  const auto work = what.begin(1, threads, false);
  for (unsigned number = 0; number < threads; ++number) {
    const auto own = what.operations / threads + (number < what.operations % threads ? 1 : 0);
    work->client(log, number)->work(own, unpaced);
  }
  return static_cast<Calls&&>(log);
}

std::vector<std::string> numbers(std::uint64_t first, std::uint64_t end) {
  std::vector<std::string> all;
  for (auto number = first; number < end; ++number) all.push_back(std::to_string(number));
  std::ranges::sort(all);
  return all;
}

std::vector<std::string> sorted(std::vector<std::string> keys) {
  std::ranges::sort(keys);
  return keys;
}

template <typename Order>
bool has_each_number_once(std::uint64_t count, Order order) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t place = 0; place < count; ++place) {
    const auto number = order(place);
    if (number >= count || !seen.insert(number).second) return false;
  }
  return true;
}

TEST(Permutation, has_each_number_once) {
  for (const std::uint64_t count : {1U, 2U, 3U, 4U, 5U, 63U, 64U, 65U, 1000U, 4096U, 4097U}) {
    const Permutation permutation(count, count);
    EXPECT_TRUE(has_each_number_once(count, [&](std::uint64_t place) { return permutation.at(place); })) << count;
  }
}

TEST(Permutation, the_check_rejects_draws_with_replacement_and_a_walk_that_is_cut_short) {
  Random random(1);
  EXPECT_FALSE(has_each_number_once(1000, [&](std::uint64_t) { return random.below(1000); }));
  const Permutation wider(1024, 1);
  EXPECT_FALSE(has_each_number_once(1000, [&](std::uint64_t place) { return wider.at(place) % 1000; }));
}

TEST(Permutation, follows_from_the_seed_and_is_not_in_order) {
  const Permutation one(1000, 1);
  const Permutation again(1000, 1);
  const Permutation other(1000, 2);
  int in_place = 0;
  int same_as_other = 0;
  for (std::uint64_t place = 0; place < 1000; ++place) {
    EXPECT_EQ(one.at(place), again.at(place));
    in_place += one.at(place) == place ? 1 : 0;
    same_as_other += one.at(place) == other.at(place) ? 1 : 0;
  }
  EXPECT_LT(in_place, 20);  // 1 is expected
  EXPECT_LT(same_as_other, 20);
}

TEST(Mobibench, loads_rows_from_0_in_batches) {
  const auto what = made("mobibench", {{"recordcount", "2500"}}, Command::load);
  const auto log = calls_of(*what, 2);
  EXPECT_EQ(sorted(log.keys("insert")), numbers(0, 2500));
  EXPECT_EQ(log.batches, 4U);
  EXPECT_TRUE(std::ranges::all_of(log.calls, [](const Call& call) { return call.bytes == 4096; }));
}

TEST(Mobibench, inserts_rows_after_those_that_are_there_one_by_one) {
  for (const auto* order : {"sequential", "random"}) {
    const auto what = made("mobibench", {{"recordcount", "100"},
                                         {"operationcount", "1000"},
                                         {"mobibench.order", order},
                                         {"mobibench.value_bytes", "100"}});
    const auto log = calls_of(*what, 2);
    EXPECT_EQ(sorted(log.keys("insert")), numbers(100, 1100)) << order;
    EXPECT_EQ(log.batches, 0U);
    EXPECT_EQ(log.calls[0].bytes, 100U);
  }
}

TEST(Mobibench, inserts_in_order_or_not_as_configured) {
  const Pairs counts{{"recordcount", "1000"}, {"operationcount", "100"}};
  EXPECT_TRUE(std::ranges::is_sorted(calls_of(*made("mobibench", counts)).keys("insert")));
  auto random = counts;
  random["mobibench.order"] = "random";
  EXPECT_FALSE(std::ranges::is_sorted(calls_of(*made("mobibench", random)).keys("insert")));
}

TEST(Mobibench, updates_all_rows_alike) {
  const auto what =
      made("mobibench", {{"mobibench.operation", "update"}, {"recordcount", "100"}, {"operationcount", "10000"}});
  std::map<std::string, int> updates;
  for (const auto& key : calls_of(*what, 2).keys("update")) ++updates[key];
  ASSERT_EQ(updates.size(), 100U);
  double chi_square = 0;
  for (const auto& [key, count] : updates) {
    EXPECT_LT(std::stoi(key), 100);
    chi_square += (count - 100.0) * (count - 100.0) / 100;
  }
  EXPECT_LT(chi_square, 149);  // p = 0.001 at 99 degrees of freedom
}

TEST(Mobibench, deletes_each_row_once_and_ends) {
  const auto what = made("mobibench", {{"mobibench.operation", "delete"}, {"recordcount", "500"}});
  const auto log = calls_of(*what, 3);
  EXPECT_EQ(sorted(log.keys("remove")), numbers(0, 500));
  CallLog alone;
  const auto work = what->begin(1, 1, false);
  const auto client = work->client(alone, 0);
  client->work(0, unpaced);
  EXPECT_EQ(client->succeeded(), 500U);
}

TEST(Mobibench, asks_for_synchronous_transactions_and_its_own_journal_mode) {
  const auto what = made("mobibench", {});
  EXPECT_EQ(what->defaults.at("durability"), "power");
  EXPECT_EQ(what->defaults.at("sqlite.journal_mode"), "truncate");
}

TEST(Mobibench, refuses_what_cannot_be) {
  const std::vector<Pairs> wrong{{{"mobibench.operation", "read"}},
                                 {{"mobibench.operation", "delete"}, {"recordcount", "5"}, {"operationcount", "6"}},
                                 {{"operationcount", "0"}},
                                 {{"recordcount", "0"}},
                                 {{"mobibench.order", "random"}, {"operationcount", "0"}, {"maxexecutiontime", "1"}}};
  for (const auto& pairs : wrong) EXPECT_THROW(made("mobibench", pairs), UsageError);
}

TEST(Mobibench, a_load_that_finds_the_database_busy_fails_and_a_run_goes_on) {
  for (const auto command : {Command::load, Command::run}) {
    const auto what = made("mobibench", {{"recordcount", "100"}}, command);
    CallLog log;
    log.answer = Status::busy;
    const auto work = what->begin(1, 1, false);
    work->client(log, 0)->work(100, unpaced);
    EXPECT_EQ(work->failure().has_value(), command == Command::load);
  }
}

struct Expected {
  std::string benchmark;
  std::string call;
  std::uint64_t operations;
  std::uint64_t bytes;
  std::size_t batches;
  bool in_order;
};

void PrintTo(const Expected& expected, std::ostream* out) { *out << expected.benchmark; }

class SqliteBench : public testing::TestWithParam<Expected> {};

INSTANTIATE_TEST_SUITE_P(Benchmarks, SqliteBench,
                         testing::Values(Expected{"fillseq", "upsert", 20000, 100, 0, true},
                                         Expected{"fillseqsync", "upsert", 200, 100, 0, true},
                                         Expected{"fillseqbatch", "upsert", 20000, 100, 20, true},
                                         Expected{"fillrandom", "upsert", 20000, 100, 0, false},
                                         Expected{"fillrandsync", "upsert", 200, 100, 0, false},
                                         Expected{"fillrandbatch", "upsert", 20000, 100, 20, false},
                                         Expected{"overwrite", "upsert", 20000, 100, 0, false},
                                         Expected{"overwritebatch", "upsert", 20000, 100, 20, false},
                                         Expected{"readrandom", "read", 20000, 0, 0, false},
                                         Expected{"fillrand100K", "upsert", 20, 100000, 0, false},
                                         Expected{"fillseq100K", "upsert", 20, 100000, 0, true},
                                         Expected{"readrand100K", "read", 20, 0, 0, false}),
                         [](const auto& expected) { return expected.param.benchmark; });

TEST_P(SqliteBench, does_what_db_bench_sqlite3_does) {
  const auto& expected = GetParam();
  const auto what = made("sqlite-bench", {{"sqlite-bench.benchmark", expected.benchmark}, {"recordcount", "20000"}});
  EXPECT_EQ(what->operations, expected.operations);
  const auto log = calls_of(*what);
  const auto keys = log.keys(expected.call);
  ASSERT_EQ(keys.size(), log.calls.size());
  EXPECT_EQ(keys.size(), expected.operations);
  EXPECT_EQ(log.batches, expected.batches);
  EXPECT_EQ(std::ranges::is_sorted(keys), expected.in_order);
  const std::set<std::string> distinct(keys.begin(), keys.end());
  EXPECT_EQ(distinct.size() == keys.size(), expected.in_order || keys.size() == 1);
  for (const auto& call : log.calls) {
    EXPECT_EQ(call.key.size(), 16U);
    EXPECT_LT(std::stoull(call.key), expected.operations);
    EXPECT_EQ(call.bytes, expected.bytes);
  }
  EXPECT_EQ(what->creates, expected.benchmark.starts_with("fill"));
  EXPECT_EQ(what->defaults.at("durability"), expected.benchmark.ends_with("sync") ? "power" : "none");
}

// Rows "0000000000000000" to 999, returned in order.
class Table : public CallLog {
 public:
  Status scan(std::string_view start, std::uint64_t count, FieldNames, std::vector<Row>& rows) override {
    calls.push_back({"scan", std::string(start), count, 0, 0});
    rows.clear();
    for (auto row = keys_.lower_bound(start); row != keys_.end() && rows.size() < count; ++row) {
      rows.push_back({*row, {}});
      ++found[*row];
    }
    return Status::ok;
  }

  std::map<std::string, int> found;

 private:
  std::set<std::string, std::less<>> keys_ = [] {
    std::set<std::string, std::less<>> keys;
    for (int number = 0; number < 1000; ++number)
      keys.insert(std::string(13, '0') + std::to_string(1000 + number).substr(1));
    return keys;
  }();
};

TEST(SqliteBenchClients, readseq_finds_each_row_once_and_ends_with_the_table) {
  const auto what = made("sqlite-bench", {{"sqlite-bench.benchmark", "readseq"},
                                          {"sqlite-bench.scan_records", "30"},
                                          {"recordcount", "1000"},
                                          {"operationcount", "5000"}});
  Table table;
  const auto work = what->begin(1, 1, false);
  const auto client = work->client(table, 0);
  client->work(what->operations, unpaced);
  EXPECT_EQ(client->succeeded(), 1000U);
  EXPECT_EQ(table.found.size(), 1000U);
  EXPECT_TRUE(std::ranges::all_of(table.found, [](const auto& row) { return row.second == 1; }));
  EXPECT_EQ(table.calls.size(), 35U);  // 34 with rows, and one at the end of the table
}

TEST(SqliteBenchClients, the_clients_of_readseq_share_the_table) {
  const auto what = made("sqlite-bench", {{"sqlite-bench.benchmark", "readseq"}, {"recordcount", "1000"}});
  Table table;
  const auto work = what->begin(1, 4, false);
  for (unsigned number = 0; number < 4; ++number) work->client(table, number)->work(250, unpaced);
  EXPECT_EQ(table.found.size(), 1000U);
  EXPECT_TRUE(std::ranges::all_of(table.found, [](const auto& row) { return row.second == 1; }));
}

TEST(SqliteBenchClients, readseq_by_key_asks_for_each_row_once) {
  const auto what =
      made("sqlite-bench",
           {{"sqlite-bench.benchmark", "readseq"}, {"sqlite-bench.readseq", "point"}, {"recordcount", "100"}});
  const auto keys = calls_of(*what).keys("read");
  EXPECT_EQ(keys.size(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(keys));
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 100U);
}

TEST(SqliteBenchClients, keeps_its_locks_only_where_one_client_works) {
  EXPECT_EQ(made("sqlite-bench", {})->defaults.at("sqlite.locking_mode"), "exclusive");
  EXPECT_FALSE(made("sqlite-bench", {{"threadcount", "2"}})->defaults.contains("sqlite.locking_mode"));
}

}  // namespace
}  // namespace edgejoule::driver
