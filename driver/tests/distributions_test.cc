// Compares request distributions with their defining laws. The same test rejects mutants.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "system/random.h"
#include "workload/core/hash.h"
#include "workload/core/zipfian.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t seed = 20260101;
constexpr std::uint64_t draws = 2'000'000;

using Probabilities = std::vector<double>;

// Probability of each rank under YCSB's inversion, from its formula and not from draws: rank r is returned for u in
// [u(r), u(r+1)) where items * (eta * u - eta + 1)^alpha = r; ranks 0 and 1 have separate bounds. At theta 1 the
// formula's limit: items * e^(slope * (u - 1)) = r.
Probabilities ycsb_law(std::uint64_t items, double theta, double zeta_of_items, std::uint64_t items_at_construction) {
  const double two = 1 + std::pow(0.5, theta);
  const double half = static_cast<double>(items_at_construction) / 2;
  const double rest = 1 - two / zeta_of_items;
  const double slope = std::log(half) / rest;
  const double eta = (1 - std::pow(half, theta - 1)) / rest;
  const auto bound = [&](std::uint64_t rank) {
    const double part = static_cast<double>(rank) / static_cast<double>(items);
    return theta == 1 ? 1 + std::log(part) / slope : (std::pow(part, 1 - theta) - 1 + eta) / eta;
  };
  Probabilities law(items);
  law[0] = 1 / zeta_of_items;
  law[1] = (two - 1) / zeta_of_items;
  double below = two / zeta_of_items;
  for (std::uint64_t rank = 0; rank < items; ++rank) {
    const double end = std::min(1.0, bound(rank + 1));
    if (end <= below) continue;
    law[rank] += end - below;
    below = end;
  }
  return law;
}

// Pearson's statistic as a standard normal deviate (Wilson, Hilferty 1931); cells below five expected are pooled.
double deviate(const Probabilities& law, const std::vector<std::uint64_t>& counts, std::uint64_t total) {
  double statistic = 0;
  double degrees = -1;
  double pooled_expected = 0;
  double pooled_count = 0;
  const auto add = [&](double expected, double count) {
    statistic += (count - expected) * (count - expected) / expected;
    ++degrees;
  };
  for (std::size_t i = 0; i < law.size(); ++i) {
    const double expected = law[i] * static_cast<double>(total);
    if (expected >= 5) {
      add(expected, static_cast<double>(counts[i]));
    } else {
      pooled_expected += expected;
      pooled_count += static_cast<double>(counts[i]);
    }
  }
  if (pooled_expected > 0) add(pooled_expected, pooled_count);
  const double spread = 2 / (9 * degrees);
  return (std::cbrt(statistic / degrees) - (1 - spread)) / std::sqrt(spread);
}

constexpr double accepted_at_one_percent = 2.326;

std::vector<std::uint64_t> counted(std::uint64_t items, const std::function<std::uint64_t(Random&)>& draw) {
  std::vector<std::uint64_t> counts(items);
  Random random(seed);
  for (std::uint64_t i = 0; i < draws; ++i) ++counts.at(draw(random));
  return counts;
}

TEST(Zipfian, follows_the_law_of_ycsb) {
  constexpr std::uint64_t items = 1000;
  const auto law = ycsb_law(items, 0.99, zeta(0, items, 0.99), items);
  const Zipfian zipfian(items);
  EXPECT_LT(deviate(law, counted(items, [&](Random& random) { return zipfian.next(random); }), draws),
            accepted_at_one_percent)
      << "seed " << seed;
}

TEST(Zipfian, the_law_rejects_a_theta_of_0_98) {
  constexpr std::uint64_t items = 1000;
  const auto law = ycsb_law(items, 0.99, zeta(0, items, 0.99), items);
  const Zipfian mutant(items, 0.98);
  EXPECT_GT(deviate(law, counted(items, [&](Random& random) { return mutant.next(random); }), draws),
            accepted_at_one_percent);
}

TEST(Zipfian, zeta_is_exact_for_few_and_close_for_many_items) {
  double sum = 0;
  for (int i = 1; i <= 200'000; ++i) sum += std::pow(i, -0.99);
  EXPECT_NEAR(zeta(0, 200'000, 0.99), sum, 1e-11);
  EXPECT_NEAR(zeta(0, 150'000, 0.99) + zeta(150'000, 200'000, 0.99), sum, 1e-11);
}

// zetan of Java YCSB 0.17.0's ZipfianGenerator for these item counts.
TEST(Zipfian, zeta_is_that_of_java_ycsb) {
  EXPECT_NEAR(zeta(0, 100, 0.99), 5.294568831377164, 1e-12);
  EXPECT_NEAR(zeta(0, 1000, 0.99), 7.728953217284729, 1e-12);
  EXPECT_NEAR(zeta(0, 1'000'000, 0.99), 15.391849746037371, 1e-9);
  EXPECT_NEAR(zeta(0, 1'000'050, 0.99), 15.391907152269239, 1e-9);
  EXPECT_NEAR(zeta(0, 10'000'000'000U, 0.99), 26.46902820178302, 1e-6);
}

double deviate_of_skew(double theta, const Zipfian& zipfian, std::uint64_t items) {
  return deviate(ycsb_law(items, theta, zeta(0, items, theta), items),
                 counted(items, [&](Random& random) { return zipfian.next(random); }), draws);
}

TEST(Zipfian, every_skew_follows_its_law) {
  constexpr std::uint64_t items = 1000;
  for (const double theta : {0.0, 0.5, 0.9, 0.99, 1.0, 1.2, 2.0}) {
    EXPECT_LT(deviate_of_skew(theta, Zipfian(items, theta), items), accepted_at_one_percent)
        << "theta " << theta << ", seed " << seed;
  }
}

TEST(Zipfian, the_law_of_every_skew_rejects_its_neighbour) {
  constexpr std::uint64_t items = 1000;
  for (const double theta : {0.0, 0.5, 0.99, 1.0}) {
    EXPECT_GT(deviate_of_skew(theta, Zipfian(items, theta + 0.01), items), accepted_at_one_percent)
        << "theta " << theta;
  }
}

// The keys, each with the probability of its rank.
template <typename Chooser>
double deviate_of_records(double theta, Chooser chooser, std::uint64_t items) {
  const auto of_ranks = ycsb_law(items, theta, zeta(0, items, theta), items);
  const Permutation places(items, items);
  Probabilities of_keys(items);
  for (std::uint64_t rank = 0; rank < items; ++rank) of_keys[places.at(rank)] = of_ranks[rank];
  return deviate(of_keys, counted(items, [&](Random& random) { return chooser.next(random); }), draws);
}

TEST(PermutedZipfian, gives_each_record_the_share_of_its_own_rank) {
  constexpr std::uint64_t items = 1000;
  for (const double theta : {0.0, 0.5, 1.0}) {
    EXPECT_LT(deviate_of_records(theta, PermutedZipfian(0, items, theta), items), accepted_at_one_percent)
        << "theta " << theta << ", seed " << seed;
  }
}

TEST(PermutedZipfian, ycsb_s_scrambled_ranks_have_another_law) {
  constexpr std::uint64_t items = 1000;
  for (const double theta : {0.5, 1.0}) {
    struct Scrambled {
      std::uint64_t next(Random& random) const { return keys.next(random, items); }
      ScrambledZipfian keys;
    };
    EXPECT_GT(deviate_of_records(theta, Scrambled{ScrambledZipfian(theta)}, items), accepted_at_one_percent)
        << "theta " << theta;
  }
}

TEST(PermutedZipfian, stays_among_its_keys) {
  Random random(seed);
  for (const std::uint64_t count : {1U, 2U, 3U, 100U}) {
    const PermutedZipfian chooser(7, count, 0.5);
    for (int i = 0; i < 1000; ++i) {
      const auto key = chooser.next(random);
      ASSERT_TRUE(key >= 7 && key < 7 + count) << key << " of " << count << ", seed " << seed;
    }
  }
}

TEST(Zipfian, skew_0_is_uniform) {
  constexpr std::uint64_t items = 1000;
  const Zipfian zipfian(items, 0);
  EXPECT_LT(deviate(Probabilities(items, 1.0 / items),
                    counted(items, [&](Random& random) { return zipfian.next(random); }), draws),
            accepted_at_one_percent)
      << "seed " << seed;
}

TEST(Zipfian, skew_1_is_the_limit_of_its_neighbours) {
  constexpr std::uint64_t items = 10'000'000'001U;
  const Zipfian at(items, 1);
  for (const double theta : {1 - 1e-7, 1 - 2e-9, 1 - 5e-10, 1 + 5e-10, 1 + 2e-9, 1 + 1e-7}) {
    const Zipfian near(items, theta);
    Random at_random(seed);
    Random near_random(seed);
    for (int i = 0; i < 10'000; ++i) {
      const auto expected = static_cast<double>(at.next(at_random));
      ASSERT_NEAR(static_cast<double>(near.next(near_random)), expected, 1 + expected * 1e-4)
          << "theta " << theta << ", seed " << seed;
    }
  }
}

constexpr std::uint64_t scrambled_ranks = 10'000'000'001U;
constexpr double scrambled_zeta = 26.46902820178302;

// Each rank below 100 is a cell. Beyond, each cell is a quarter larger than the one before.
std::vector<std::uint64_t> rank_cells() {
  std::vector<std::uint64_t> begins;
  for (std::uint64_t begin = 0; begin < scrambled_ranks;
       begin += std::max<std::uint64_t>(1, begin < 100 ? 1 : begin / 4)) {
    begins.push_back(begin);
  }
  return begins;
}

// Probability of each cell of ranks, from the formula of the inversion.
Probabilities scrambled_law(const std::vector<std::uint64_t>& begins) {
  constexpr double theta = 0.99;
  const double two = 1 + std::pow(0.5, theta);
  const auto ranks = static_cast<double>(scrambled_ranks);
  const double eta = (1 - std::pow(2 / ranks, 1 - theta)) / (1 - two / scrambled_zeta);
  const auto below = [&](std::uint64_t rank) {
    if (rank < 2) return static_cast<double>(rank) / scrambled_zeta;
    return (std::pow(static_cast<double>(rank) / ranks, 1 - theta) - 1 + eta) / eta;
  };
  Probabilities law(begins.size());
  for (std::size_t i = 0; i < begins.size(); ++i) {
    law[i] = (i + 1 < begins.size() ? below(begins[i + 1]) : 1) - below(begins[i]);
  }
  return law;
}

double deviate_of_ranks(const Zipfian& zipfian) {
  const auto begins = rank_cells();
  const auto counts = counted(begins.size(), [&](Random& random) {
    const auto cell = std::ranges::upper_bound(begins, zipfian.next(random)) - begins.begin() - 1;
    return static_cast<std::uint64_t>(cell);
  });
  return deviate(scrambled_law(begins), counts, draws);
}

TEST(ScrambledZipfian, ranks_follow_the_law_of_ycsb) {
  EXPECT_LT(deviate_of_ranks(Zipfian(scrambled_ranks, 0.99, scrambled_zeta)), accepted_at_one_percent)
      << "seed " << seed;
}

TEST(ScrambledZipfian, the_law_rejects_a_theta_of_0_98) {
  EXPECT_GT(deviate_of_ranks(Zipfian(scrambled_ranks, 0.98, zeta(0, scrambled_ranks, 0.98))), accepted_at_one_percent);
}

TEST(ScrambledZipfian, the_key_is_the_hash_of_the_rank_within_the_range) {
  constexpr std::uint64_t items = 1500;
  const ScrambledZipfian keys;
  const Zipfian ranks(scrambled_ranks, 0.99, scrambled_zeta);
  Random keys_random(seed);
  Random ranks_random(seed);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_EQ(keys.next(keys_random, items), fnv_hash(ranks.next(ranks_random)) % items) << "seed " << seed;
  }
}

TEST(Zipfian, few_items_stay_in_range_also_when_they_grow) {
  for (std::uint64_t items = 1; items <= 4; ++items) {
    Random random(seed);
    Zipfian zipfian(items);
    for (int i = 0; i < 10'000; ++i) ASSERT_LT(zipfian.next(random), items);
    for (int i = 0; i < 10'000; ++i) ASSERT_LT(zipfian.next(random, items + 3), items + 3);
  }
}

TEST(SkewedLatest, distance_from_the_newest_key_is_zipfian) {
  constexpr std::uint64_t newest = 999;
  const auto law = ycsb_law(newest, 0.99, zeta(0, newest, 0.99), newest);
  SkewedLatest latest(newest);
  EXPECT_LT(deviate(law, counted(newest, [&](Random& random) { return newest - latest.next(random, newest); }), draws),
            accepted_at_one_percent)
      << "seed " << seed;
}

TEST(SkewedLatest, follows_the_newest_key_with_the_sum_over_all_items) {
  constexpr std::uint64_t old_newest = 500;
  constexpr std::uint64_t newest = 1000;
  const auto law = ycsb_law(newest, 0.99, zeta(0, newest, 0.99), old_newest);
  SkewedLatest latest(old_newest);
  EXPECT_LT(deviate(law, counted(newest, [&](Random& random) { return newest - latest.next(random, newest); }), draws),
            accepted_at_one_percent)
      << "seed " << seed;
}

TEST(SkewedLatest, the_law_rejects_a_sum_that_does_not_grow) {
  constexpr std::uint64_t old_newest = 500;
  constexpr std::uint64_t newest = 1000;
  const auto law = ycsb_law(newest, 0.99, zeta(0, newest, 0.99), old_newest);
  const Zipfian mutant(newest, 0.99, zeta(0, old_newest, 0.99));
  EXPECT_GT(deviate(law, counted(newest, [&](Random& random) { return mutant.next(random); }), draws),
            accepted_at_one_percent);
}

}  // namespace
}  // namespace edgejoule::driver
