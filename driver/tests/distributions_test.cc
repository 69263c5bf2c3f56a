// Request distributions against the law they are defined by, with mutants that the same test rejects.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "hash.h"
#include "random.h"
#include "zipfian.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t seed = 20260101;
constexpr std::uint64_t draws = 2'000'000;

using Probabilities = std::vector<double>;

// Probability of each rank under YCSB's inversion, from its formula and not from draws: rank r is returned for u in
// [u(r), u(r+1)) where items * (eta * u - eta + 1)^alpha = r; ranks 0 and 1 have bounds of their own.
Probabilities ycsb_law(std::uint64_t items, double theta, double zeta_of_items, std::uint64_t items_at_construction) {
  const double two = 1 + std::pow(0.5, theta);
  const double eta =
      (1 - std::pow(2 / static_cast<double>(items_at_construction), 1 - theta)) / (1 - two / zeta_of_items);
  const auto bound = [&](std::uint64_t rank) {
    return (std::pow(static_cast<double>(rank) / static_cast<double>(items), 1 - theta) - 1 + eta) / eta;
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

// Popular ranks land where the hash sends them; the tail is spread evenly over the rest (an error per cell far below
// that of the draws).
Probabilities scrambled_law(std::uint64_t count, double theta) {
  constexpr std::uint64_t ranks = 10'000'000'001U;
  constexpr std::uint64_t told_apart = 3'000'000;
  const double zeta_of_items = 26.46902820178302;
  const double two = 1 + std::pow(0.5, theta);
  const double eta = (1 - std::pow(2 / static_cast<double>(ranks), 1 - theta)) / (1 - two / zeta_of_items);
  const auto below = [&](std::uint64_t rank) {
    const double u = (std::pow(static_cast<double>(rank) / static_cast<double>(ranks), 1 - theta) - 1 + eta) / eta;
    return rank == 0   ? 0
           : rank == 1 ? 1 / zeta_of_items
           : rank == 2 ? two / zeta_of_items
                       : std::max(u, two / zeta_of_items);
  };
  Probabilities law(count, (1 - below(told_apart)) / static_cast<double>(count));
  for (std::uint64_t rank = 0; rank < told_apart; ++rank) law[fnv_hash(rank) % count] += below(rank + 1) - below(rank);
  return law;
}

TEST(ScrambledZipfian, follows_the_law_of_ycsb) {
  constexpr std::uint64_t count = 500;
  const ScrambledZipfian keys(0, count - 1);
  EXPECT_LT(
      deviate(scrambled_law(count, 0.99), counted(count, [&](Random& random) { return keys.next(random); }), draws),
      accepted_at_one_percent)
      << "seed " << seed;
}

TEST(ScrambledZipfian, the_law_rejects_a_theta_of_0_98) {
  constexpr std::uint64_t count = 500;
  const ScrambledZipfian mutant(0, count - 1, Zipfian(10'000'000'001U, 0.98, zeta(0, 10'000'000'001U, 0.98)));
  EXPECT_GT(
      deviate(scrambled_law(count, 0.99), counted(count, [&](Random& random) { return mutant.next(random); }), draws),
      accepted_at_one_percent);
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
