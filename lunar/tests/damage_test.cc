// Damage to single sectors: what is kept twice survives it.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "emubd.h"
#include "lunar.h"
#include "values.h"
#include "world.h"

namespace lunar_test {
namespace {

enum class Damage { zeroed, unreadable, flipped };

void damage(emubd& device, std::uint32_t sector, Damage how) {
  std::uint8_t* bytes = device.sectors + std::size_t{512} * sector;
  if (how == Damage::zeroed) std::memset(bytes, 0, 512);
  if (how == Damage::unreadable) emubd_set_bad(&device, sector, EMUBD_BAD_READ);
  if (how == Damage::flipped) bytes[100] ^= 4;
}

// A volume that keeps names, metadata and allocation twice, unmounted after a random life.
std::unique_ptr<World> unmounted_volume(std::uint64_t seed) {
  auto world = std::make_unique<World>(Options{.sectors = 2048, .keys = 60, .secondary = 2}, seed);
  for (int i = 0; i < 80; ++i) EXPECT_EQ(world->step(), 0) << world->did;
  EXPECT_EQ(world->unmount(), 0);
  emubd_reset(&world->device);
  return world;
}

TEST(KeptTwice, any_one_sector_of_names_metadata_and_allocation_may_be_lost) {
  const auto seed = test_seed();
  auto world = unmounted_volume(seed);
  const lunar_geometry g = world->db.geometry;
  ASSERT_EQ(g.kept_twice, 1);
  emubd saved{};
  ASSERT_EQ(emubd_open(&saved, 512, 2048), 0);
  ASSERT_EQ(emubd_copy(&saved, &world->device), 0);
  for (std::uint32_t sector = g.root_at; sector < g.log_at; ++sector)
    for (const Damage how : {Damage::zeroed, Damage::unreadable, Damage::flipped}) {
      SCOPED_TRACE("sector " + std::to_string(sector) + ", damage " + std::to_string(static_cast<int>(how)));
      World other(Options{.sectors = 2048, .keys = 60, .secondary = 2}, seed);
      ASSERT_EQ(emubd_copy(&other.device, &saved), 0);
      other.device.mounted = nullptr;
      damage(other.device, sector, how);
      ASSERT_EQ(other.mount(), 0);
      other.go_on_from(world->now);
      const auto state = other.read();
      ASSERT_TRUE(state);
      ASSERT_EQ(*state, world->now);
      lunar_findings found{};
      ASSERT_EQ(lunar_check(&other.db, &found), 0) << found.text;
      for (int i = 0; i < 12; ++i) ASSERT_EQ(other.step(), 0) << other.did;
      ASSERT_EQ(other.unmount(), 0);
      ASSERT_EQ(other.mount(), 0);
      const auto later = other.read();
      ASSERT_TRUE(later && *later == other.now);
    }
  emubd_close(&saved);
}

TEST(KeptTwice, both_copies_lost_is_reported) {
  auto world = unmounted_volume(test_seed());
  const lunar_geometry g = world->db.geometry;
  const std::uint32_t distance = g.map_at + g.map_sectors - g.root_at;
  ASSERT_EQ(world->mount(), 0);
  ASSERT_EQ(world->unmount(), 0);  // now the log has no image of the page
  damage(world->device, g.meta_at, Damage::flipped);
  damage(world->device, g.meta_at + distance, Damage::flipped);
  ASSERT_EQ(world->mount(), LUNAR_E_CORRUPT);
}

TEST(KeptTwice, a_page_read_from_its_second_copy_is_counted) {
  auto world = unmounted_volume(test_seed());
  damage(world->device, world->db.geometry.root_at, Damage::zeroed);
  ASSERT_EQ(world->mount(), 0);
  lunar_statistics stat{};
  ASSERT_EQ(lunar_stat(&world->db, &stat), 0);
  EXPECT_GE(stat.second_copies, 1U);
}

}  // namespace
}  // namespace lunar_test
