// Random values have the distribution of Java YCSB's and do not repeat, so a database that compresses or deduplicates
// them gains no more than from Java's.
//
// Java takes six bytes from one word of 32 random bits, of which 31 are visible. The tests recover those bits and test
// them for randomness. Mutants must fail each test.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "run/client.h"
#include "system/random.h"
#include "workload/values.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t group_bytes = 6;
constexpr std::array<unsigned, group_bytes> masks{31, 63, 95, 31, 63, 95};
constexpr std::uint32_t shown_bits = ~(1U << 30U);

// RandomByteIterator.fillBytesImpl of YCSB 0.17.0.
void append_java_group(std::string& out, std::uint32_t word) {
  for (std::size_t i = 0; i < group_bytes; ++i) out += static_cast<char>(' ' + (word >> 5 * i & masks[i]));
}

// The 31 bits from which the group was made; nullopt if no word gives these bytes.
std::optional<std::uint32_t> word_of_group(std::string_view group) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < group_bytes; ++i) {
    word |= (static_cast<unsigned>(group[i] - ' ') & masks[i]) << 5 * i;
  }
  std::string made;
  append_java_group(made, word);
  return made == group ? std::optional(word) : std::nullopt;
}

// A source of consecutive values of one length.
class Source {
 public:
  virtual ~Source() = default;
  virtual std::string next(std::uint64_t bytes) = 0;
};

class Driver final : public Source {
 public:
  explicit Driver(std::uint64_t seed) : random_(seed) {}
  std::string next(std::uint64_t bytes) override {
    Field field{"field0", {}};
    buffer_.draw(random_, std::span(&bytes, 1), std::span(&field, 1));
    return std::string(field.value);
  }

 private:
  RandomBytes random_;
  ValueBuffer buffer_;
};

class Java : public Source {
 public:
  explicit Java(std::uint32_t seed) : random_(seed) {}
  std::string next(std::uint64_t bytes) override {
    std::string value;
    while (value.size() < bytes) append_java_group(value, word());
    value.resize(bytes);
    return value;
  }

 protected:
  virtual std::uint32_t word() { return static_cast<std::uint32_t>(random_()); }

 private:
  std::mt19937 random_;
};

// Mutants.

// The driver's former values: cut from a pool of 1 MiB, at multiples of six bytes from its start.
class Pool final : public Source {
 public:
  explicit Pool(std::uint64_t seed) : pool_(Java(1).next(6 * places + 10'000)), random_(seed) {}
  std::string next(std::uint64_t bytes) override { return pool_.substr(random_.below(places) * 6, bytes); }

 private:
  static constexpr std::uint64_t places = 174'762;
  std::string pool_;
  Random random_;
};

// Adjacent bytes do not share bits.
class Unbound final : public Source {
 public:
  explicit Unbound(std::uint32_t seed) : random_(seed) {}
  std::string next(std::uint64_t bytes) override {
    std::string value;
    for (std::uint64_t i = 0; i < bytes; ++i) value += static_cast<char>(' ' + (random_() & masks[i % group_bytes]));
    return value;
  }

 private:
  std::mt19937 random_;
};

// One bit is 1 in 51 of 100 groups.
class Biased final : public Java {
 public:
  using Java::Java;
  std::uint32_t word() override {
    const auto drawn = Java::word();
    return Java::word() % 50 == 0 ? drawn | 1U << 13U : drawn;
  }
};

// Two bits of a group are equal too often.
class Correlated final : public Java {
 public:
  using Java::Java;
  std::uint32_t word() override {
    const auto drawn = Java::word();
    return Java::word() % 50 == 0 ? (drawn & ~(1U << 20U)) | (drawn >> 3U & 1U) << 20U : drawn;
  }
};

// The words of that many groups; empty if a group is not one of Java's.
std::vector<std::uint32_t> words_of(Source& source, std::uint64_t value_bytes, std::uint64_t groups) {
  std::vector<std::uint32_t> words;
  while (words.size() < groups) {
    const auto value = source.next(value_bytes);
    for (std::size_t i = 0; i + group_bytes <= value.size(); i += group_bytes) {
      const auto word = word_of_group(std::string_view(value).substr(i, group_bytes));
      if (!word) return {};
      words.push_back(*word);
    }
  }
  return words;
}

TEST(RandomBytes, come_in_the_groups_of_java) {
  constexpr std::uint64_t groups = 20'000;
  for (const std::uint64_t bytes : {6U, 48U, 100U, 1000U, 10'000U}) {
    Driver driver(1);
    EXPECT_GE(words_of(driver, bytes, groups).size(), groups) << "values of " << bytes << " bytes";
  }
  Unbound unbound(1);
  EXPECT_TRUE(words_of(unbound, 100, groups).empty());
}

TEST(RandomBytes, of_any_length_begin_a_group_and_are_cut_where_they_end) {
  RandomBytes random(1);
  ValueBuffer buffer;
  std::vector<std::uint64_t> lengths(300);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = i;
  std::vector<Field> fields(lengths.size());
  buffer.draw(random, lengths, fields);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    ASSERT_EQ(fields[i].value.size(), i);
    for (std::size_t place = 0; place < i; ++place) {
      const auto offset = static_cast<unsigned>(fields[i].value[place] - ' ');
      ASSERT_EQ(offset & ~masks[place % group_bytes], 0U) << "byte " << place << " of " << i;
    }
  }
}

// The largest deviation, in standard deviations, of a count that is binomial with probability 1/2.
double worst_deviation(const std::vector<std::uint32_t>& words) {
  const auto draws = static_cast<double>(words.size());
  double worst = 0;
  const auto judge = [&](std::uint64_t ones) {
    worst = std::max(worst, std::abs(static_cast<double>(ones) - draws / 2) / (std::sqrt(draws) / 2));
  };
  std::array<std::vector<std::uint64_t>, 32> column;  // the bits at one place of all words
  for (unsigned i = 0; i < 32; ++i) {
    column[i].resize(words.size() / 64 + 1);
    for (std::size_t w = 0; w < words.size(); ++w) column[i][w / 64] |= std::uint64_t{words[w] >> i & 1U} << w % 64;
  }
  for (unsigned i = 0; i < 32; ++i) {
    if (i == 30) continue;  // not visible in the bytes
    std::array<std::uint64_t, 32> differs{};
    std::uint64_t ones = 0;
    for (std::size_t w = 0; w < column[i].size(); ++w) {
      ones += static_cast<unsigned>(std::popcount(column[i][w]));
      for (unsigned k = 0; k < i; ++k) differs[k] += static_cast<unsigned>(std::popcount(column[i][w] ^ column[k][w]));
    }
    judge(ones);
    for (unsigned k = 0; k < i; ++k) {
      if (k != 30) judge(differs[k]);
    }
  }
  return worst;
}

constexpr double deviations_max = 6;  // for 496 counts; exceeded by chance in 1 of 10^6 runs

TEST(RandomBytes, have_31_fair_and_independent_bits_in_each_group) {
  constexpr std::uint64_t groups = 400'000;
  for (const std::uint64_t bytes : {6U, 48U, 100U, 1000U}) {
    Driver driver(3);
    EXPECT_LT(worst_deviation(words_of(driver, bytes, groups)), deviations_max) << "values of " << bytes << " bytes";
  }
  Java java(1);
  EXPECT_LT(worst_deviation(words_of(java, 100, groups)), deviations_max) << "this test would refuse Java's bytes";
  Biased biased(1);
  EXPECT_GT(worst_deviation(words_of(biased, 100, groups)), deviations_max);
  Correlated correlated(1);
  EXPECT_GT(worst_deviation(words_of(correlated, 100, groups)), deviations_max);
}

// Pairs of adjacent groups that occur more than once. A compressor gains nothing from a distant repetition of twelve
// bytes.
std::uint64_t repeated_pairs(const std::vector<std::uint32_t>& words) {
  std::vector<std::uint64_t> pairs;
  for (std::size_t i = 1; i < words.size(); ++i) {
    pairs.push_back(std::uint64_t{words[i - 1] & shown_bits} << 32U | (words[i] & shown_bits));
  }
  std::ranges::sort(pairs);
  const auto [first, last] = std::ranges::unique(pairs);
  return static_cast<std::uint64_t>(last - first);
}

TEST(RandomBytesLong, do_not_come_again_within_64_megabytes) {
  constexpr std::uint64_t groups = 64'000'000 / group_bytes;
  Driver driver(5);
  EXPECT_EQ(repeated_pairs(words_of(driver, 102, groups)), 0U);  // 10^-5 are expected of random words
  Pool pool(5);
  EXPECT_GT(repeated_pairs(words_of(pool, 102, groups)), groups / 2);
}

TEST(RandomBytes, words_repeat_as_often_as_words_of_31_bits_do) {
  constexpr std::uint64_t groups = 1'000'000;
  constexpr double expected = double{groups} * groups / 2 / 0x1.0p31;
  const auto repeats = [](Source& source) {
    auto words = words_of(source, 11, groups);
    for (auto& word : words) word &= shown_bits;
    std::ranges::sort(words);
    const auto [first, last] = std::ranges::unique(words);
    return static_cast<double>(last - first);
  };
  const auto deviations = [&](double count) { return std::abs(count - expected) / std::sqrt(expected); };
  Driver driver(7);
  EXPECT_LT(deviations(repeats(driver)), deviations_max);
  Java java(7);
  EXPECT_LT(deviations(repeats(java)), deviations_max);
  Pool pool(7);
  EXPECT_GT(deviations(repeats(pool)), deviations_max);
}

TEST(RandomBytes, follow_from_the_seed) {
  EXPECT_EQ(Driver(1).next(100), Driver(1).next(100));
  EXPECT_NE(Driver(1).next(100), Driver(2).next(100));
}

TEST(RandomBytes, of_a_run_are_not_those_of_the_load_nor_of_another_thread) {
  const auto first_value = [](Command command, unsigned thread) {
    return Driver(value_seed(1, command, thread)).next(100);
  };
  EXPECT_NE(first_value(Command::load, 0), first_value(Command::run, 0));
  EXPECT_NE(first_value(Command::load, 0), first_value(Command::load, 1));
}

}  // namespace
}  // namespace edgejoule::driver
