// Golden values printed by Java YCSB: Utils.hash, CoreWorkload.buildKeyName, buildDeterministicValue and
// ZipfianGenerator of the artifact site.ycsb:core:0.17.0 (fetched by driver/bench/pom.xml).
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "system/random.h"
#include "workload/core/hash.h"
#include "workload/core/key_name.h"
#include "workload/decimal.h"
#include "workload/values.h"

namespace edgejoule::driver {
namespace {

using Hashes = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

const Hashes golden_hashes{{0, 6284781860667377211U},
                           {1, 8517097267634966620U},
                           {2, 1820151046732198393U},
                           {999, 2071219101098386137U},
                           {1000000, 1011632231655643464U},
                           {4294967295U, 5673037472935113441U},
                           {4294967296U, 634246865027890484U},
                           {10000000000U, 1201321332300452516U},
                           {9223372036854775807U, 8289549613075766851U}};

template <typename Hash>
std::size_t mismatches(Hash hash) {
  std::size_t count = 0;
  for (const auto& [number, golden] : golden_hashes) count += hash(number) == golden ? 0 : 1;
  return count;
}

TEST(KeyHash, is_that_of_java_ycsb) { EXPECT_EQ(mismatches(fnv_hash), 0U); }

TEST(KeyHash, golden_values_reject_a_missing_absolute_value) {
  const auto without_abs = [](std::uint64_t number) {
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (int byte = 0; byte < 8; ++byte, number >>= 8U) hash = (hash ^ (number & 0xFFU)) * 0x100000001B3U;
    return hash;
  };
  EXPECT_GT(mismatches(without_abs), 0U);
}

TEST(KeyHash, golden_values_reject_fnv_1_in_place_of_fnv_1a) {
  const auto fnv_1 = [](std::uint64_t number) {
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (int byte = 0; byte < 8; ++byte, number >>= 8U) hash = (hash * 0x100000001B3U) ^ (number & 0xFFU);
    return static_cast<std::int64_t>(hash) < 0 ? 0U - hash : hash;
  };
  EXPECT_GT(mismatches(fnv_1), 0U);
}

TEST(KeyName, is_that_of_java_ycsb_for_every_order_and_padding) {
  struct Golden {
    bool hashed;
    std::uint64_t padding;
    std::uint64_t number;
    std::string name;
  };
  const std::vector<Golden> goldens{{true, 1, 0, "user6284781860667377211"},
                                    {true, 1, 7, "user5465015992139406178"},
                                    {true, 1, 123456789, "user2350796791908741607"},
                                    {true, 1, 3000000000U, "user4396946494927717697"},
                                    {true, 24, 0, "user000006284781860667377211"},
                                    {true, 24, 3000000000U, "user000004396946494927717697"},
                                    {false, 1, 0, "user0"},
                                    {false, 1, 7, "user7"},
                                    {false, 1, 3000000000U, "user3000000000"},
                                    {false, 12, 0, "user000000000000"},
                                    {false, 12, 123456789, "user000123456789"},
                                    {false, 24, 7, "user000000000000000000000007"},
                                    {false, 24, 3000000000U, "user000000000000003000000000"}};
  for (const auto& golden : goldens) {
    KeyName key(golden.hashed, golden.padding);
    static_cast<void>(key.of(18446744073709551615U));  // leaves digits in the buffer that must not appear
    EXPECT_EQ(key.of(golden.number), golden.name);
  }
}

TEST(Decimal, digits_are_those_of_the_standard_library) {
  std::vector<std::uint64_t> numbers{0, 18446744073709551615U};
  for (std::uint64_t power = 1; power < 10'000'000'000'000'000'000U; power *= 10) {
    numbers.insert(numbers.end(), {power - 1, power, power + 1, power * 9});
  }
  constexpr std::uint64_t seed = 1;
  Random random(seed);
  for (unsigned i = 0; i < 100'000; ++i) numbers.push_back(random.next() >> (i % 64));
  for (const auto number : numbers) {
    const auto expected = std::to_string(number);
    char text[decimal_digits_max];
    write_twenty_digits(text, number);
    ASSERT_EQ(decimal_digits(number), expected.size()) << number << ", seed " << seed;
    ASSERT_EQ(std::string(text, decimal_digits_max), std::string(decimal_digits_max - expected.size(), '0') + expected)
        << "seed " << seed;
  }
}

std::string deterministic(std::string_view key, std::string_view field, std::uint64_t bytes) {
  std::string value;
  deterministic_value(key, field, bytes, value);
  return value;
}

TEST(DeterministicValue, is_that_of_java_ycsb_for_every_length) {
  const std::string key = "user6284781860667377211";
  EXPECT_EQ(deterministic(key, "field0", 5), "user6");
  EXPECT_EQ(deterministic(key, "field0", 16), "user628478186066");
  EXPECT_EQ(deterministic(key, "field0", 40), "user6284781860667377211:field0:-56807877");
  EXPECT_EQ(deterministic(key, "field0", 100),
            "user6284781860667377211:field0:-56807877:2032869390:-165488160:1762371712:-169193395:-1039977118:-10");
  EXPECT_EQ(deterministic("user1", "field9", 16), "user1:field9:-12");
  EXPECT_EQ(deterministic("user1", "field9", 100),
            "user1:field9:-1268390937:701431326:1606534939:-534149429:-1854609471:-1563934887:1739619784:-7954596");
}

}  // namespace
}  // namespace edgejoule::driver
