// A card is taken out and another one is put in: nothing is written to it, and no operation is acknowledged.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "emubd.h"
#include "lunar.h"
#include "values.h"
#include "world.h"

namespace lunar_test {
namespace {

// The card slot of a world: its requests go to one of two cards, or fail.
struct Slot {
  explicit Slot(World& of) : first(of.device), inserted(&of.device) {
    EXPECT_EQ(emubd_open(&second, first.sector_bytes, first.sector_count), 0);
    lunar_config& config = of.config();
    config.context = this;
    config.read = [](const lunar_config* c, std::uint32_t sector, void* data, std::uint32_t count) {
      Slot& slot = *static_cast<Slot*>(c->context);
      if (slot.fails()) return -1;
      std::memcpy(data, slot.inserted->sectors + std::size_t{512} * sector, std::size_t{512} * count);
      return 0;
    };
    config.write = [](const lunar_config* c, std::uint32_t sector, const void* data, std::uint32_t count) {
      Slot& slot = *static_cast<Slot*>(c->context);
      if (slot.fails()) return -1;
      if (slot.inserted == &slot.second) ++slot.written;
      std::memcpy(slot.inserted->sectors + std::size_t{512} * sector, data, std::size_t{512} * count);
      return 0;
    };
    config.sync = [](const lunar_config* c) { return static_cast<Slot*>(c->context)->fails() ? -1 : 0; };
  }
  ~Slot() { emubd_close(&second); }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  // The request number `out_at`, and so many in all, meet no card; then the slot has the second one.
  bool fails() {
    ++requests;
    if (requests < out_at || out_at == 0) return false;
    if (requests < out_at + outs) return true;
    if (changes) inserted = &second;
    return false;
  }

  emubd& first;
  emubd second{};
  emubd* inserted;
  std::uint64_t requests = 0, out_at = 0, outs = 1;
  std::size_t written = 0;  // requests to the second card
  bool changes = true;
};

const Setting settings[] = {
    {"none", {.mode = LUNAR_MODE_NONE}},
    {"metadata", {.mode = LUNAR_MODE_METADATA, .atomic_sectors = true}},
    {"data", {.mode = LUNAR_MODE_DATA, .sectors = 448, .log_bytes = 192 * 512, .secondary = 2}},
    {"data_16_KiB", {.mode = LUNAR_MODE_DATA, .sectors = 1024, .buffer_bytes = 16384, .index = LUNAR_INDEX_TREE}},
    {"full", {.mode = LUNAR_MODE_FULL}},
    {"full_ring", {.mode = LUNAR_MODE_FULL, .buffer_bytes = 16384, .ring_rows = 9}},
};

class ChangedCard : public testing::TestWithParam<Setting> {};

TEST_P(ChangedCard, is_not_written_to_wherever_the_first_one_is_taken_out) {
  const auto seed = test_seed();
  const std::uint64_t stride = one_in(3);
  bool ends = false;
  for (std::uint64_t k = 1; !ends; k += stride)
    for (const std::uint64_t outs : {1, 2, 5}) {
      SCOPED_TRACE("request " + std::to_string(k) + ", " + std::to_string(outs) + " requests without a card");
      Options of_second = GetParam().options;
      of_second.volume_seed = 99;
      World world(GetParam().options, seed), other(of_second, seed);
      for (int i = 0; i < 20; ++i) ASSERT_EQ(world.step(), 0) << world.did;
      for (int i = 0; i < 20; ++i) ASSERT_EQ(other.step(), 0) << other.did;
      ASSERT_EQ(other.unmount(), 0);
      Slot slot(world);
      std::memcpy(slot.second.sectors, other.device.sectors, std::size_t{512} * other.device.sector_count);
      slot.out_at = k, slot.outs = outs;
      int acknowledged = 0;
      for (int i = 0; i < 40; ++i) {
        const bool was_out = slot.requests >= k;
        const int error = world.step();
        acknowledged += was_out && error == 0;
        EXPECT_NE(error, LUNAR_E_CORRUPT);
      }
      ends = slot.requests < k;
      EXPECT_EQ(acknowledged, 0);
      const int unmounted = world.unmount();
      EXPECT_TRUE(unmounted != 0 || slot.inserted == &slot.first);
      ASSERT_EQ(slot.written, 0U);
      ASSERT_EQ(std::memcmp(slot.second.sectors, other.device.sectors, std::size_t{512} * other.device.sector_count),
                0);
    }
}

TEST_P(ChangedCard, is_found_when_the_switch_of_the_slot_is_heard) {
  Options of_second = GetParam().options;
  of_second.volume_seed = 99;
  World world(GetParam().options, 1), other(of_second, 1);
  for (int i = 0; i < 30; ++i) ASSERT_EQ(world.step(), 0);
  ASSERT_EQ(other.unmount(), 0);
  Slot slot(world);
  std::memcpy(slot.second.sectors, other.device.sectors, std::size_t{512} * other.device.sector_count);
  ASSERT_EQ(lunar_revalidate(&world.db), 0);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(world.step(), 0);
  slot.inserted = &slot.second;  // with no request in between
  EXPECT_EQ(lunar_revalidate(&world.db), LUNAR_E_OTHER_VOLUME);
  ASSERT_EQ(lunar_revalidate(&world.db), LUNAR_E_FAILED);
  for (int i = 0; i < 10; ++i) EXPECT_NE(world.step(), 0);
  EXPECT_NE(world.unmount(), 0);
  EXPECT_EQ(slot.written, 0U);
  ASSERT_EQ(world.mount(), 0);  // now the second card is used
}

TEST_P(ChangedCard, that_was_the_same_one_goes_on) {
  World world(GetParam().options, 1);
  for (int i = 0; i < 30; ++i) ASSERT_EQ(world.step(), 0);
  Slot slot(world);
  slot.changes = false;
  slot.out_at = 1, slot.outs = 4;
  for (const int expected : {int{LUNAR_E_IO}, int{LUNAR_E_IO}, 0})  // each reads both copies
    ASSERT_EQ(lunar_revalidate(&world.db), expected);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(world.step(), 0);
  const auto state = world.read();
  ASSERT_TRUE(state && *state == world.now);
}

// The changes since the last checkpoint may fill the buffer. Then no sector of it is free for the read.
TEST_P(ChangedCard, that_was_the_same_one_keeps_all_rows_at_each_buffer) {
  for (const std::size_t more : {0, 64, 552, 1104, 2208, 6144}) {
    SCOPED_TRACE("least buffer and " + std::to_string(more) + " bytes");
    Options options = GetParam().options;
    options.buffer_bytes = LUNAR_BUFFER_BYTES_MIN(512) + more;
    World world(options, test_seed());
    for (int i = 0; i < 200; ++i) {
      ASSERT_EQ(world.step(), 0) << world.did;
      const int error = lunar_revalidate(&world.db);
      if (error == LUNAR_E_IO && options.mode == LUNAR_MODE_NONE) break;  // nothing can be repeated
      ASSERT_EQ(error, 0) << "after step " << i << ", " << world.did;
      const auto state = world.read();
      ASSERT_TRUE(state && *state == world.now) << "after step " << i << ", " << world.did;
    }
    if (world.unmount() != 0) continue;
    ASSERT_EQ(world.mount(), 0);
    const auto state = world.read();
    ASSERT_TRUE(state && *state == world.now);
  }
}

// Two tables, rows that nothing reads in between: the buffer is full of changes after a few rows.
TEST(SameCard, is_revalidated_after_each_row) {
  emubd device{};
  ASSERT_EQ(emubd_open(&device, 512, 4096), 0);
  lunar_config config{};
  emubd_config(&device, &config);
  std::vector<std::uint64_t> buffer(1024);
  config.buffer = buffer.data();
  int repeated = 0;
  for (const lunar_mode mode : {LUNAR_MODE_NONE, LUNAR_MODE_METADATA, LUNAR_MODE_DATA, LUNAR_MODE_FULL})
    for (const std::uint32_t more : {0, 552, 1104, 2208}) {
      SCOPED_TRACE("mode " + std::to_string(mode) + ", least buffer and " + std::to_string(more) + " bytes");
      config.mode = mode, config.buffer_bytes = LUNAR_BUFFER_BYTES_MIN(512) + more;
      ASSERT_EQ(lunar_format(&config), 0);
      lunar db{};
      ASSERT_EQ(lunar_mount(&db, &config), 0);
      lunar_schema schema{};
      schema.column_count = 2, schema.index = LUNAR_INDEX_TREE;
      schema.columns[0] = {"id", LUNAR_INT64, 0}, schema.columns[1] = {"v", LUNAR_INT64, 0};
      lunar_table tables[2] = {};
      for (int i = 0; i < 2; ++i) {
        const char* name = i == 0 ? "even" : "odd";
        ASSERT_EQ(lunar_table_create(&db, name, &schema), 0);
        ASSERT_EQ(lunar_table_open(&db, name, &tables[i]), 0);
      }
      lunar_cursor cursor{};
      std::int64_t last = -1;
      for (std::int64_t key = 0; key < 300; ++key) {
        const lunar_value row[] = {integer(key), integer(-key)};
        ASSERT_EQ(lunar_insert(&tables[key % 2], row), 0);
        const auto reads = device.reads;
        ASSERT_EQ(lunar_revalidate(&db), 0) << "after row " << key;
        repeated += device.reads > reads + 1 ? 1 : 0;
        if (key == 200) {
          ASSERT_EQ(lunar_cursor_open(&cursor, &tables[0], nullptr, nullptr, 0), 0);
        }
        if (key < 200) continue;
        lunar_value read[2];
        char content[64];
        ASSERT_EQ(lunar_cursor_next(&cursor, content, sizeof content, read), 0);
        ASSERT_EQ(read[0].as.integer, last < 0 ? 0 : last + 2);
        last = read[0].as.integer;
      }
      for (int again = 0; again < 2; ++again) {
        std::uint64_t rows = 0;
        for (auto& table : tables) {
          ASSERT_EQ(lunar_count(&table, &rows), 0);
          ASSERT_EQ(rows, 150U);
        }
        ASSERT_EQ(lunar_unmount(&db), 0);
        ASSERT_EQ(lunar_mount(&db, &config), 0);
        ASSERT_EQ(lunar_table_open(&db, "even", &tables[0]), 0);
        ASSERT_EQ(lunar_table_open(&db, "odd", &tables[1]), 0);
      }
      ASSERT_EQ(lunar_unmount(&db), 0);
    }
  EXPECT_GT(repeated, 0);  // operations were repeated from the log, because no sector was free
  emubd_close(&device);
}

// The changes of a transaction may fill the buffer: the transaction is lost then, and the handle stays usable.
TEST(SameCard, is_revalidated_in_a_transaction_that_fills_the_buffer) {
  emubd device{};
  ASSERT_EQ(emubd_open(&device, 512, 4000), 0);
  lunar_config config{};
  emubd_config(&device, &config);
  std::vector<std::uint64_t> buffer(1024);
  config.buffer = buffer.data(), config.buffer_bytes = 8 * buffer.size();
  config.mode = LUNAR_MODE_FULL, config.log_bytes = 512 * 400;
  ASSERT_EQ(lunar_format(&config), 0);
  lunar db{};
  ASSERT_EQ(lunar_mount(&db, &config), 0);
  lunar_schema schema{};
  schema.column_count = 3, schema.index = LUNAR_INDEX_TREE;
  schema.columns[0] = {"id", LUNAR_INT64, 0}, schema.columns[1] = {"v", LUNAR_INT64, 0};
  schema.columns[2] = {"t", LUNAR_TEXT, 0};
  ASSERT_EQ(lunar_table_create(&db, "t", &schema), 0);
  ASSERT_EQ(lunar_index_create(&db, "t", "v", 1, LUNAR_INDEX_TREE), 0);
  lunar_table table{};
  ASSERT_EQ(lunar_table_open(&db, "t", &table), 0);
  const std::string content(200, 'x');
  std::uint64_t committed = 0, rows = 0;
  int lost = 0;
  for (std::int64_t key = 0; key < 3000;) {
    ASSERT_EQ(lunar_begin(&db), 0);
    int error = 0;
    for (int i = 0; i < 20 && error == 0; ++i, ++key) {
      const lunar_value row[] = {integer(key * 7919 % 10007), integer(key * 31 % 1009), text(content)};
      ASSERT_EQ(lunar_insert(&table, row), 0);
      error = lunar_revalidate(&db);
    }
    lost += error != 0 ? 1 : 0;
    ASSERT_TRUE(error == 0 || error == LUNAR_E_TXN) << error;
    ASSERT_EQ(error == 0 ? lunar_commit(&db) : lunar_rollback(&db), 0);
    committed += error == 0 ? 20 : 0;
    ASSERT_EQ(lunar_count(&table, &rows), 0);
    ASSERT_EQ(rows, committed);
  }
  EXPECT_GT(lost, 0);
  EXPECT_GT(committed, 0U);
  emubd_close(&device);
}

INSTANTIATE_TEST_SUITE_P(Modes, ChangedCard, testing::ValuesIn(settings),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace lunar_test
