// Compares cuts with an independent model of a disk: for each sector, the writes that it may hold after a power cut.
#include "durability/cut.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "system/random.h"
#include "test_seed.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t sector_bytes = 512;
constexpr std::uint64_t disk_sectors = 64;
constexpr std::uint64_t never = 0;

// Every sector of a write contains the number of the write's entry plus one; an untouched sector contains `never`.
void add_write(BlockTrace& trace, std::uint64_t sector, std::uint64_t sectors) {
  std::vector<std::byte> data(sectors * sector_bytes);
  const std::uint64_t stamp = trace.size() + 1;
  for (std::uint64_t place = 0; place < data.size(); place += sizeof stamp) {
    std::memcpy(&data[place], &stamp, sizeof stamp);
  }
  ASSERT_TRUE(trace.add_write(sector * sector_bytes, data, stamp));
}

void fill_at_random(BlockTrace& trace, std::uint64_t entries, Random& random) {
  for (std::uint64_t count = 0; count < entries; ++count) {
    if (random.below(6) == 0) {
      ASSERT_TRUE(trace.add_flush(trace.size() + 1));
      continue;
    }
    const auto first = random.below(disk_sectors);
    add_write(trace, first, 1 + random.below(std::min<std::uint64_t>(20, disk_sectors - first)));
  }
}

// The permitted contents of each sector after a cut at the position.
std::vector<std::set<std::uint64_t>> permitted(const BlockTrace& trace, std::uint64_t position) {
  std::vector<std::set<std::uint64_t>> sectors(disk_sectors, {never});
  for (std::uint64_t index = 0; index < position; ++index) {
    const auto& entry = trace.entry(index);
    if (entry.kind == TraceEntry::Kind::flush) {
      for (auto& sector : sectors) sector = {*sector.rbegin()};
    }
    for (std::uint64_t byte = 0; byte < entry.bytes; byte += sector_bytes) {
      sectors[(entry.offset + byte) / sector_bytes].insert(index + 1);
    }
  }
  return sectors;
}

std::uint64_t held(std::span<const std::byte> image, std::uint64_t sector) {
  std::uint64_t stamp = 0;
  std::memcpy(&stamp, &image[sector * sector_bytes], sizeof stamp);
  return stamp;
}

std::vector<std::byte> image_after(const BlockTrace& trace, const Cut& cut, Flushes flushes) {
  std::vector<std::byte> image(disk_sectors * sector_bytes);
  cut_image(trace, cut, flushes, image);
  return image;
}

// Sectors of the image with contents that no disk could have after a cut at the position.
std::uint64_t impossible_sectors(const BlockTrace& trace, std::uint64_t position, std::span<const std::byte> image) {
  const auto sectors = permitted(trace, position);
  std::uint64_t impossible = 0;
  for (std::uint64_t sector = 0; sector < disk_sectors; ++sector) {
    if (!sectors[sector].contains(held(image, sector))) ++impossible;
  }
  return impossible;
}

CutPlan plan_of(const BlockTrace& trace, Flushes flushes = Flushes::honoured) {
  return {{0, trace.size() + 1}, {3, 17, 40}, {{100, 120}}, flushes};
}

class RandomTrace : public testing::Test {
 protected:
  void SetUp() override {
    Random random(seed_);
    ASSERT_NO_FATAL_FAILURE(fill_at_random(trace_, 300, random));
  }

  std::uint64_t seed_ = test_seed();
  BlockTrace trace_{1000, 8 << 20};
};

TEST_F(RandomTrace, a_cut_leaves_only_what_a_disk_could_hold) {
  for (const auto& cut : choose_cuts(trace_, plan_of(trace_), 500, seed_)) {
    EXPECT_EQ(impossible_sectors(trace_, cut.position, image_after(trace_, cut, Flushes::honoured)), 0)
        << "cut " << cut.number << " at " << cut.position << ", survival " << survival_name(cut.survival);
  }
}

// Mutant: an image made without regard to flushes loses flushed writes, and the model detects it.
TEST_F(RandomTrace, a_disk_that_ignores_flushes_is_detected_by_the_model) {
  std::uint64_t impossible = 0;
  for (auto cut : choose_cuts(trace_, plan_of(trace_), 100, seed_)) {
    cut.survival = Survival::none;
    impossible += impossible_sectors(trace_, cut.position, image_after(trace_, cut, Flushes::ignored));
  }
  EXPECT_GT(impossible, 0);
}

// Mutant: an image with writes from after the cut.
TEST_F(RandomTrace, writes_from_after_the_cut_are_detected_by_the_model) {
  std::uint64_t impossible = 0;
  for (auto cut : choose_cuts(trace_, plan_of(trace_), 100, seed_)) {
    const auto position = cut.position;
    cut.position = std::min(position + 5, trace_.size());
    cut.survival = Survival::all;
    impossible += impossible_sectors(trace_, position, image_after(trace_, cut, Flushes::honoured));
  }
  EXPECT_GT(impossible, 0);
}

TEST_F(RandomTrace, every_kind_of_survival_is_drawn_and_differs_from_the_others) {
  std::map<Survival, std::set<std::vector<std::byte>>> images;
  for (const auto& cut : choose_cuts(trace_, plan_of(trace_), 500, seed_)) {
    images[cut.survival].insert(image_after(trace_, cut, Flushes::honoured));
  }
  EXPECT_EQ(images.size(), 5);
  EXPECT_NE(images[Survival::none], images[Survival::all]);
  EXPECT_NE(images[Survival::blocks], images[Survival::sectors]);
}

TEST_F(RandomTrace, no_two_cuts_are_the_same) {
  std::set<std::pair<std::uint64_t, std::vector<std::byte>>> different;
  const auto cuts = choose_cuts(trace_, plan_of(trace_), 300, seed_);
  for (const auto& cut : cuts) different.emplace(cut.position, image_after(trace_, cut, Flushes::honoured));
  // If later writes overwrite earlier ones, two cuts that preserve different writes may give the same image.
  EXPECT_GT(different.size(), cuts.size() * 3 / 4);
  EXPECT_GT(cuts.size(), 250);
}

TEST_F(RandomTrace, the_same_seed_makes_the_same_cuts_and_another_seed_others) {
  const auto positions = [this](std::uint64_t seed) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> drawn;
    for (const auto& cut : choose_cuts(trace_, plan_of(trace_), 50, seed)) drawn.emplace_back(cut.position, cut.seed);
    return drawn;
  };
  EXPECT_EQ(positions(seed_), positions(seed_));
  EXPECT_NE(positions(seed_), positions(seed_ + 1));
}

TEST_F(RandomTrace, fewer_cuts_than_asked_do_not_change_those_that_are_made) {
  const auto many = choose_cuts(trace_, plan_of(trace_), 50, seed_);
  const auto few = choose_cuts(trace_, plan_of(trace_), 10, seed_);
  for (std::size_t number = 0; number < few.size(); ++number) EXPECT_EQ(few[number].seed, many[number].seed);
}

TEST_F(RandomTrace, acknowledgements_and_background_work_are_preferred) {
  std::uint64_t at_acknowledgements = 0;
  std::uint64_t in_background = 0;
  std::uint64_t all = 0;
  constexpr std::uint64_t traces = 20;  // one trace may have few different cuts at its acknowledgements
  for (std::uint64_t number = 0; number < traces; ++number) {
    BlockTrace trace(1000, 8 << 20);
    Random random(seed_ + number);
    ASSERT_NO_FATAL_FAILURE(fill_at_random(trace, 300, random));
    const auto cuts = choose_cuts(trace, plan_of(trace), 400, seed_ + number);
    for (const auto& cut : cuts) {
      if (cut.position == 3 || cut.position == 17 || cut.position == 40) ++at_acknowledgements;
      if (cut.position >= 100 && cut.position < 120) ++in_background;
    }
    all += cuts.size();
  }
  // Random positions would give 1 % and 7 % of the cuts.
  EXPECT_GT(at_acknowledgements, all / 50);
  EXPECT_GT(in_background, all / 8);
}

TEST_F(RandomTrace, cuts_stay_within_the_range_asked_for) {
  auto plan = plan_of(trace_);
  plan.range = {50, 60};
  for (const auto& cut : choose_cuts(trace_, plan, 100, seed_)) {
    EXPECT_GE(cut.position, 50);
    EXPECT_LT(cut.position, 60);
  }
}

TEST(Cut, everything_before_the_last_flush_is_durable) {
  BlockTrace trace(10, 1 << 20);
  add_write(trace, 0, 1);
  add_write(trace, 1, 1);
  ASSERT_TRUE(trace.add_flush(3));
  add_write(trace, 2, 1);
  EXPECT_EQ(durable_entries(trace, 2, Flushes::honoured), 0);
  EXPECT_EQ(durable_entries(trace, 3, Flushes::honoured), 3);
  EXPECT_EQ(durable_entries(trace, 4, Flushes::honoured), 3);
}

TEST(Cut, a_trace_without_a_write_has_one_cut) {
  BlockTrace trace(10, 1 << 20);
  const CutPlan plan{{0, 1}, {}, {}, Flushes::honoured};
  EXPECT_EQ(choose_cuts(trace, plan, 100, 1).size(), 1);
}

}  // namespace
}  // namespace edgejoule::driver
