// The generators of db_bench's kinds. Golden values come from db_bench 7.8.3 (Debian's rocksdb-tools), from its trace
// and ldb. test_db_bench.py compares whole runs.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "adapters/registry.h"
#include "run/crew.h"
#include "system/usage_error.h"
#include "workload/compressible_values.h"
#include "workload/db_bench/db_bench_client.h"
#include "workload/db_bench/db_bench_workload.h"
#include "workload/db_bench/kinds.h"
#include "workload/db_bench/mixgraph_law.h"

namespace edgejoule::driver::db_bench {
namespace {

constexpr TwoTermExponential published_shares{14.18, -2.917, 0.0164, -0.08082};

MixgraphParameters published() {
  return {20'000, 0.002312,           0.3467, published_shares, 30, {0.83, 0.14, 0.03}, {0, 0.2615, 25.45},
          1024,   {0, 2.517, 14.236}, 10'000};
}

std::unique_ptr<const Workload> made(const WorkloadKind& kind, const std::map<std::string, std::string>& values,
                                     Command command = Command::run) {
  Properties properties;
  for (const auto& [name, value] : values) properties.set(name, value);
  return kind.make(properties, command);
}

TEST(NumberKey, is_the_number_big_endian_and_then_zeros) {
  EXPECT_EQ(NumberKey(16).of(0x0102), std::string("\0\0\0\0\0\0\1\2", 8) + "00000000");
  EXPECT_EQ(NumberKey(8).of(~std::uint64_t{0}), std::string(8, '\xFF'));
}

TEST(NumberKey, shorter_than_the_number_keeps_its_low_bytes) {
  EXPECT_EQ(NumberKey(2).of(0x010203), std::string("\2\3"));
}

TEST(NumberKey, leaves_nothing_of_the_key_before) {
  NumberKey key(16);
  static_cast<void>(key.of(~std::uint64_t{0}));
  EXPECT_EQ(key.of(1), NumberKey(16).of(1));
}

TEST(CompressibleValues, are_pieces_of_100_bytes_of_which_the_first_part_is_repeated) {
  for (const double ratio : {0.0, 0.25, 0.5, 1.0}) {
    const CompressibleValues values(ratio, 0);
    EXPECT_GE(values.bytes().size(), 1U << 20U);
    const auto random_bytes = std::max<std::size_t>(1, static_cast<std::size_t>(100 * ratio));
    for (std::size_t i = random_bytes; i < 100; ++i) {
      EXPECT_EQ(values.bytes()[700 + i], values.bytes()[700 + i - random_bytes]) << ratio << " " << i;
    }
  }
}

TEST(CompressibleValues, begin_as_the_first_value_of_db_bench) {
  constexpr std::string_view first = R"(^{Vhz"!/%wMZ;'a F/REZJ4Tw@%NXxy2?.ArVCZ2B6[jnUd)4 )";
  ASSERT_EQ(first.size(), 50U);
  EXPECT_EQ(CompressibleValues(0.5, 0).bytes().substr(0, 100), std::string(first) + std::string(first));
}

TEST(CompressibleValues, are_long_enough_for_the_longest_value) {
  const std::uint64_t longest = 3U << 20U;
  const CompressibleValues values(0.5, longest);
  ValueCutter cutter(values);
  EXPECT_EQ(cutter.next(longest).size(), longest);
  EXPECT_EQ(cutter.next(longest).data(), values.bytes().data());
}

TEST(ValueCutter, goes_through_the_pool_and_begins_again_where_a_value_does_not_fit) {
  const CompressibleValues values(0.5, 0);
  ValueCutter cutter(values);
  const std::uint64_t half = values.bytes().size() / 2 + 1;
  EXPECT_EQ(cutter.next(10).data(), values.bytes().data());
  EXPECT_EQ(cutter.next(half).data(), values.bytes().data() + 10);
  EXPECT_EQ(cutter.next(half).data(), values.bytes().data());
}

TEST(Scatter, is_the_first_word_of_the_standard_twister_of_that_seed) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 1000; ++round) {
    Scattered numbers{};
    for (auto& number : numbers) number = random() >> (random() % 64);
    const auto seeds = numbers;
    scatter(numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], std::mt19937_64(seeds[i])()) << seeds[i];
  }
}

TEST(Remainder, is_that_of_a_division) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 100'000; ++round) {
    const auto divisor = std::max<std::uint64_t>(1, random() >> (random() % 64));
    const auto number = random() >> (random() % 64);
    EXPECT_EQ(Remainder(divisor).of(number), number % divisor) << number << " by " << divisor;
  }
  for (const auto divisor : {std::uint64_t{1}, std::uint64_t{1} << 63U, ~std::uint64_t{0}}) {
    for (const auto number : {std::uint64_t{0}, std::uint64_t{1} << 63U, ~std::uint64_t{0}}) {
      EXPECT_EQ(Remainder(divisor).of(number), number % divisor) << number << " by " << divisor;
    }
  }
}

TEST(KeyRanges, get_tickets_by_their_shares_whatever_their_places) {
  constexpr std::uint64_t count = 30;
  const KeyRanges ranges(published_shares, count);
  std::vector<std::uint64_t> tickets(count);
  for (std::uint64_t draw = 0; draw < ranges.tickets(); ++draw) ++tickets[ranges.place(draw)];
  std::ranges::sort(tickets);
  const auto share = [](double x) { return 14.18 * std::exp(-2.917 * x) + 0.0164 * std::exp(-0.08082 * x); };
  const auto in_all = std::floor(1 / share(count)) + 1;
  for (std::uint64_t x = 1; x <= count; ++x) {
    EXPECT_EQ(tickets[count - x], std::floor(in_all * share(static_cast<double>(x)))) << x;
  }
}

TEST(KeyRanges, fold_draws_beyond_the_tickets) {
  const KeyRanges ranges(published_shares, 30);
  for (const std::uint64_t draw : {0U, 1U, 77U}) EXPECT_EQ(ranges.place(draw), ranges.place(draw + ranges.tickets()));
}

TEST(KeyRanges, refuse_shares_that_give_no_range_a_ticket) {
  EXPECT_THROW(KeyRanges({-1, 0, 0, 0}, 30), std::range_error);
  EXPECT_THROW(KeyRanges({1, -100, 0, 0}, 30), std::range_error);
  EXPECT_THROW(KeyRanges({1, 700, 0, 0}, 30), std::range_error);
}

TEST(Pareto, is_exceeded_with_the_probability_asked_for) {
  const Pareto law{0, 0.2615, 25.45};
  for (const double u : {0.01, 0.1, 0.5, 0.9}) {
    const auto exceeded = [&law](std::int64_t x) {
      return std::pow(1 + law.k * static_cast<double>(x) / law.sigma, -1 / law.k);
    };
    EXPECT_LE(exceeded(law.quantile(u)), u);
    EXPECT_GT(exceeded(law.quantile(u) - 1), u);
  }
  EXPECT_EQ((Pareto{3, 0, 10}.quantile(std::exp(-1.05))), 14);
}

TEST(Pareto, beyond_64_bits_is_the_least_number) {
  EXPECT_EQ((Pareto{0, 0.2615, 25.45}.quantile(0)), std::numeric_limits<std::int64_t>::min());
}

// db_bench --benchmarks=mixgraph --seed=42 --num=20000 --key_size=48 with the published parameters: its first trace
// records, and the numbers that its generator draws for them.
TEST(Mixgraph, decides_of_a_seed_what_db_bench_decides) {
  std::mt19937_64 random(43);
  Scattered draws{};
  for (auto& draw : draws) {
    random.discard(1);
    draw = random() % 20'000;
  }
  MixgraphLaw::Operations operations{};
  MixgraphLaw(published()).decide(draws, operations);
  const std::array<std::uint64_t, 8> keys{0x4cda, 0x23bd, 0x4b75, 0x4c00, 0x4c9c, 0x4cc5, 0x3c84, 0x4dfb};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(operations[i].key, keys[i]) << i;
    EXPECT_EQ(operations[i].kind, i == 0 ? MixgraphOperation::Kind::seek : MixgraphOperation::Kind::get) << i;
  }
}

TEST(Mixgraph, value_sizes_are_from_10_bytes_to_the_most_and_folded_beyond) {
  auto parameters = published();
  parameters.ratios = {0, 1, 0};
  parameters.value_bytes = {0, 2, 100};
  parameters.value_bytes_max = 500;
  const MixgraphLaw law(parameters);
  MixgraphLaw::Operations operations{};
  for (std::uint64_t first = 0; first < parameters.keys; first += 8) {
    Scattered draws{};
    for (std::size_t i = 0; i < draws.size(); ++i) draws[i] = first + i;
    law.decide(draws, operations);
    for (std::size_t i = 0; i < draws.size(); ++i) {
      const auto size = parameters.value_bytes.quantile(static_cast<double>(draws[i]) / 20'000);
      const auto expected = size < 10 ? 10 : size > 500 ? size % 500 : size;
      EXPECT_EQ(operations[i].amount, static_cast<std::uint64_t>(expected)) << draws[i];
    }
  }
}

TEST(DbBenchKinds, take_ycsb_s_names_of_counts_as_well_as_db_bench_s) {
  const auto theirs = made(fillrandom(), {{"num", "7"}, {"writes", "9"}});
  const auto ycsb_s = made(fillrandom(), {{"recordcount", "7"}, {"operationcount", "9"}});
  EXPECT_EQ(theirs->operations, 9U);
  EXPECT_EQ(ycsb_s->operations, 9U);
  EXPECT_EQ(theirs->in_force.at("recordcount"), "7");
  EXPECT_EQ(made(fillrandom(), {{"num", "7"}}, Command::load)->operations, 7U);
  EXPECT_EQ(made(mixgraph(), {{"num", "7"}})->operations, 7U);
}

TEST(DbBenchKinds, refuse_both_names_of_a_count) {
  EXPECT_THROW(made(mixgraph(), {{"num", "7"}, {"recordcount", "7"}}), UsageError);
  EXPECT_THROW(made(mixgraph(), {{"reads", "7"}, {"operationcount", "7"}}), UsageError);
}

TEST(DbBenchKinds, refuse_what_gives_no_law) {
  const std::map<std::string, std::string> ranges{{"keyrange_dist_a", "-1"}, {"num", "100"}};
  EXPECT_THROW(made(mixgraph(), ranges), UsageError);
  EXPECT_THROW(made(mixgraph(), {{"keyrange_num", "11"}, {"num", "10"}}), UsageError);
  EXPECT_THROW(made(mixgraph(), {{"mix_get_ratio", "0"}}), UsageError);
  EXPECT_THROW(made(mixgraph(), {{"key_dist_a", "1e-9"}, {"key_dist_b", "1e-3"}}), UsageError);
  EXPECT_THROW(made(mixgraph(), {{"sine_mix_rate", "true"}, {"sine_a", "2"}, {"sine_d", "1"}}), UsageError);
  EXPECT_THROW(made(fillrandom(), {{"compression_ratio", "2"}}), UsageError);
  EXPECT_THROW(made(fillrandom(), {{"writes", "0"}}), UsageError);
}

TEST(DbBenchKinds, only_fillrandom_begins_without_a_database) {
  EXPECT_TRUE(made(fillrandom(), {})->creates);
  EXPECT_FALSE(made(mixgraph(), {})->creates);
  EXPECT_FALSE(made(readwhilewriting(), {})->creates);
}

TEST(DbBenchKinds, a_sine_of_mixgraph_is_the_rate_of_the_run) {
  const std::map<std::string, std::string> values{
      {"sine_mix_rate", "true"}, {"sine_a", "1000"}, {"sine_b", "0.5"}, {"sine_c", "0.25"}, {"sine_d", "4500"}};
  const auto rate = RateSchedule::parse(made(mixgraph(), values)->defaults.at("rate"));
  EXPECT_DOUBLE_EQ(rate.mean_ops_s(), 4500);
  const auto due_s = static_cast<double>(rate.due_ns(20'000)) / 1e9;
  const auto operations = 4500 * due_s + 1000 / 0.5 * (std::cos(0.25) - std::cos(0.5 * due_s + 0.25));
  EXPECT_NEAR(operations, 20'000, 1e-3);
  EXPECT_FALSE(made(mixgraph(), {{"sine_d", "4500"}})->defaults.contains("rate"));
  EXPECT_FALSE(made(mixgraph(), values, Command::load)->defaults.contains("rate"));
}

// Runs the workload on noop. Returns the number of operations.
std::uint64_t run(const Workload& workload, unsigned threads, Measurements& all) {
  const auto database = find_adapter("noop")->make();
  const auto work = workload.begin(1, threads, false);
  Crew crew(*work, *database);
  crew.prepare(workload.operations, nullptr);
  static_cast<void>(crew.start());
  static_cast<void>(crew.join());
  static_cast<void>(crew.last_interval());
  all.add(crew.measurements());
  return crew.outcome().succeeded;
}

TEST(ReadWhileWriting, counts_the_reads_of_all_clients_but_one_more) {
  for (const unsigned threads : {1U, 3U}) {
    Measurements all;
    EXPECT_EQ(run(*made(readwhilewriting(), {{"num", "1000"}, {"reads", "100000"}}), threads, all), 100'000U);
    EXPECT_EQ(all.of(Operation::read).service.count(), 100'000U);
    EXPECT_EQ(all.payload_write_bytes, all.of(Operation::insert).service.count() * 100);
  }
}

TEST(ReadWhileWriting, has_a_first_client_that_writes_beside_the_others_and_at_its_rate) {
  const auto workload = made(readwhilewriting(), {{"num", "1000"}, {"benchmark_write_rate_limit", "116000"}});
  const auto work = workload->begin(1, 2, false);
  EXPECT_EQ(work->threads, 3U);
  const auto database = find_adapter("noop")->make();
  const auto session = database->session();
  const auto writer = work->client(*session, 0);
  EXPECT_TRUE(writer->accompanies());
  EXPECT_FALSE(work->client(*session, 1)->accompanies());
  const auto begin_ns = now_monotonic_ns();
  writer->work(21, {});  // one of 116 bytes each ms
  EXPECT_GE(now_monotonic_ns() - begin_ns, 20'000'000U);
  Measurements all;
  writer->collect_rest(all);
  EXPECT_EQ(all.of(Operation::insert).service.count(), 21U);
}

TEST(FillRandom, writes_each_record_of_a_short_last_batch) {
  Measurements all;
  EXPECT_EQ(run(*made(fillrandom(), {{"num", "1003"}, {"batch_size", "10"}}), 2, all), 1003U);
  EXPECT_EQ(all.payload_write_bytes, 1003U * 100);
}

}  // namespace
}  // namespace edgejoule::driver::db_bench
