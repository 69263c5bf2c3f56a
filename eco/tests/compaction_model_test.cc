#include "compaction_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace {

constexpr std::uint64_t mb = 1'000'000;

// Jobs of mixed sizes of values: 2.2 ms a MB, 0.9 us an entry, 3 % of noise.
struct Jobs {
  explicit Jobs(std::uint64_t seed) : random(seed) {}

  std::pair<eco::Job, eco::Cost> next(std::uint64_t value_bytes) {
    const double bytes = std::uniform_real_distribution<double>(20, 400)(random) * mb;
    const double entries = bytes / static_cast<double>(value_bytes + 24);
    const double s =
        (0.005 + bytes * 2.2e-9 + entries * 0.9e-6) * std::exp(std::normal_distribution<double>(0, 0.03)(random));
    return {{.input_bytes = static_cast<std::uint64_t>(bytes),
             .input_entries = static_cast<std::uint64_t>(entries),
             .codec = "Snappy"},
            {.compute_s = s, .energy_j = 5 * s}};
  }
  std::pair<eco::Job, eco::Cost> next() {
    constexpr std::uint64_t sizes[] = {16, 50, 100, 400, 1000, 4000};
    return next(sizes[random() % std::size(sizes)]);
  }

  std::mt19937_64 random;
};

// Returns the mean relative error of jobs 21 to 220; each is predicted, then learnt.
struct Error {
  double time = 0, energy = 0;
};
Error prequential_error(eco::CompactionModel model, std::uint64_t seed) {
  Jobs jobs(seed);
  Error error;
  for (int i = 0; i < 220; ++i) {
    const auto [job, cost] = jobs.next();
    const auto prediction = model.predict(job);
    if (i >= 20) {
      error.time += std::abs(prediction.compute_s.mean / cost.compute_s - 1) / 200;
      error.energy += std::abs(prediction.energy_j.mean / cost.energy_j - 1) / 200;
    }
    model.learn(job, cost);
  }
  return error;
}

TEST(CompactionModel, errs_by_at_most_5_percent_on_mixed_sizes_of_values_after_20_jobs) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Error error = prequential_error(eco::CompactionModel(), seed);
    EXPECT_LE(error.time, 0.05) << "seed " << seed;
    EXPECT_LE(error.energy, 0.05) << "seed " << seed;
  }
}

TEST(CompactionModel, by_bytes_alone_errs_by_half) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Error error = prequential_error(eco::CompactionModel(eco::CompactionModel::Terms::bytes), seed);
    EXPECT_GE(error.time, 0.45) << "seed " << seed;
  }
}

TEST(CompactionModel, learns_a_new_size_of_values_from_two_jobs) {
  Jobs jobs(7);
  eco::CompactionModel model;
  for (int i = 0; i < 300; ++i) {
    const auto [job, cost] = jobs.next(1000);
    model.learn(job, cost);
  }
  for (int i = 0; i < 2; ++i) {
    const auto [job, cost] = jobs.next(50);
    model.learn(job, cost);
  }
  const auto [job, cost] = jobs.next(50);
  EXPECT_NEAR(model.predict(job).compute_s.mean / cost.compute_s, 1, 0.15);
}

TEST(CompactionModel, knows_nothing_without_observations) {
  const auto prediction = eco::CompactionModel().predict({.input_bytes = mb, .input_entries = 1000, .codec = "ZSTD"});
  EXPECT_EQ(prediction.observations, 0);
  EXPECT_EQ(prediction.compute_s.mean, 0);
}

TEST(CompactionModel, keeps_codecs_apart_and_lends_the_best_known_to_one_it_never_saw) {
  const auto job = [](const char* codec) {
    return eco::Job{.input_bytes = 64 * mb, .input_entries = 64000, .codec = codec};
  };
  eco::CompactionModel model;
  for (int i = 0; i < 10; ++i) model.learn(job("Snappy"), {.compute_s = 1, .energy_j = 5});
  for (int i = 0; i < 5; ++i) model.learn(job("ZSTD"), {.compute_s = 3, .energy_j = 15});
  EXPECT_NEAR(model.predict(job("Snappy")).compute_s.mean, 1, 0.01);
  EXPECT_NEAR(model.predict(job("ZSTD")).compute_s.mean, 3, 0.03);
  EXPECT_NEAR(model.predict(job("LZ4")).compute_s.mean, 1, 0.01);
  EXPECT_EQ(model.predict(job("ZSTD")).observations, 5);
}

TEST(CompactionModel, predicts_the_same_from_its_state) {
  Jobs jobs(3);
  eco::CompactionModel model, copy;
  for (int i = 0; i < 30; ++i) {
    const auto [job, cost] = jobs.next();
    model.learn(job, cost);
  }
  copy.set_state(model.state());
  const auto [job, cost] = jobs.next();
  EXPECT_EQ(model.predict(job).compute_s.upper(), copy.predict(job).compute_s.upper());
  EXPECT_EQ(model.predict(job).energy_j.mean, copy.predict(job).energy_j.mean);
}

}  // namespace
