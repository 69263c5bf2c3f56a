// Full devices and damaged tables: tables are repaired, emptied and dropped, and a ring goes on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "emubd.h"
#include "lunar.h"
#include "values.h"

namespace lunar_test {
namespace {

struct Table {
  lunar_index index;
  int secondary;  // indexes on v
  bool checksum;
  std::size_t bytes;  // of v, at most
};

// Tables a, b, ... with an integer key k and a text v.
struct FullVolume {
  explicit FullVolume(std::uint32_t sectors, std::uint64_t seed) : random(seed), saved(std::size_t{512} * sectors) {
    EXPECT_EQ(emubd_open(&device, 512, sectors), 0);
    emubd_config(&device, &config);
    config.mounted = &device.mounted, config.mode = LUNAR_MODE_FULL;
    config.buffer = buffer.data(), config.buffer_bytes = 16 * 1024;
    EXPECT_EQ(lunar_format(&config), 0);
    EXPECT_EQ(mount(), 0);
  }
  ~FullVolume() { emubd_close(&device); }
  FullVolume(const FullVolume&) = delete;
  FullVolume& operator=(const FullVolume&) = delete;

  int mount() {
    device.mounted = nullptr;
    return lunar_mount(&db, &config);
  }
  static std::string name(std::size_t number) { return {static_cast<char>('a' + number)}; }
  int open(std::size_t number) { return lunar_table_open(&db, name(number).c_str(), &tables[number]); }
  void create(std::size_t number, const Table& table, lunar_ring ring = LUNAR_RING_NONE, std::uint64_t limit = 0) {
    lunar_schema schema{};
    schema.column_count = 2, schema.index = static_cast<std::uint8_t>(table.index), schema.checksum = table.checksum;
    schema.columns[0] = {"k", LUNAR_INT64, 0}, schema.columns[1] = {"v", LUNAR_TEXT, 0};
    schema.ring = static_cast<std::uint8_t>(ring), schema.ring_limit = limit;
    ASSERT_EQ(lunar_table_create(&db, name(number).c_str(), &schema), 0);
    ASSERT_EQ(open(number), 0);
    for (int i = 0; i < table.secondary; ++i) {
      const std::string index = name(number) + std::to_string(i);
      ASSERT_EQ(lunar_index_create(&db, name(number).c_str(), index.c_str(), 1, LUNAR_INDEX_TREE), 0);
    }
  }
  int insert(std::size_t number, std::int64_t key, std::size_t bytes) {
    std::string content = std::to_string(random() % 100000);
    content.resize(std::max(bytes, content.size()), 'v');
    const lunar_value row[2] = {integer(key), text(content)};
    return lunar_insert(&tables[number], row);
  }
  // Random keys until nothing fits.
  int fill(std::size_t number, std::size_t bytes_max) {
    int error = 0;
    while (error == 0 || error == LUNAR_E_EXISTS)
      error = insert(number, static_cast<std::int64_t>(random() % 1000000007), 1 + random() % bytes_max);
    return error;
  }
  std::uint64_t rows(std::size_t number) {
    std::uint64_t count = 0;
    EXPECT_EQ(lunar_count(&tables[number], &count), 0);
    return count;
  }
  int readable_rows(std::size_t number, std::uint64_t* count) {
    lunar_cursor cursor;
    lunar_value values[2];
    std::uint8_t row[4096];
    int error = lunar_cursor_open(&cursor, &tables[number], nullptr, nullptr, 0);
    for (*count = 0; error == 0; ++*count) error = lunar_cursor_next(&cursor, row, sizeof row, values);
    --*count;
    lunar_cursor_close(&cursor);
    return error;
  }
  std::uint64_t block_bytes() {
    lunar_statistics statistics{};
    EXPECT_EQ(lunar_stat(&db, &statistics), 0);
    return statistics.live_bytes + statistics.dead_bytes;
  }
  // The keys of the table, in order. Checks that each row can be read.
  std::vector<std::int64_t> keys(std::size_t number) {
    std::vector<std::int64_t> found;
    lunar_cursor cursor;
    lunar_value values[2];
    std::uint8_t row[4096];
    int error = lunar_cursor_open(&cursor, &tables[number], nullptr, nullptr, 0);
    while (error == 0 && (error = lunar_cursor_next(&cursor, row, sizeof row, values)) == 0)
      found.push_back(values[0].as.integer);
    EXPECT_EQ(error, LUNAR_E_NOT_FOUND);
    lunar_cursor_close(&cursor);
    std::sort(found.begin(), found.end());
    return found;
  }
  void cut(std::uint64_t cut_seed) {
    emubd_cut(&device, &cut_seed, 128, 0);
    emubd_reset(&device);
  }
  void save() { std::copy_n(device.sectors, saved.size(), saved.data()); }
  void restore() {
    emubd_reset(&device);
    std::copy_n(saved.data(), saved.size(), device.sectors);
    std::fill_n(device.bad, device.sector_count, std::uint8_t{0});
  }
  // A sector whose loss table 0 or its indexes notice. The volume is as it was saved.
  std::uint32_t harmful_sector() {
    for (;;) {
      const std::uint32_t data_at = db.geometry.data_at,
                          sector = data_at + static_cast<std::uint32_t>(random() % (device.sector_count - data_at));
      restore();
      emubd_set_bad(&device, sector, EMUBD_BAD_READ);
      EXPECT_EQ(mount(), 0);
      EXPECT_EQ(open(0), 0);
      std::uint64_t count = 0;
      lunar_findings found{};
      const bool harms =
          readable_rows(0, &count) != LUNAR_E_NOT_FOUND || (lunar_check(&db, &found) != 0 && found.table[0] == 'a');
      EXPECT_EQ(lunar_unmount(&db), 0);
      restore();
      if (harms) return sector;
    }
  }
  std::string check() {
    lunar_findings found{};
    const int error = lunar_check(&db, &found);
    return error == 0 ? ""
                      : std::string(found.text) + " in " + found.table + ", sector " + std::to_string(found.sector);
  }

  std::mt19937_64 random;
  emubd device{};
  lunar_config config{};
  lunar db{};
  lunar_table tables[2]{};
  std::vector<std::uint64_t> buffer = std::vector<std::uint64_t>(4096);
  std::vector<std::uint8_t> saved;
};

constexpr std::uint8_t tree_page = 7;  // in the fifth byte of a page

const Table kinds[] = {
    {LUNAR_INDEX_HASH, 0, false, 180}, {LUNAR_INDEX_HASH, 1, true, 130},  {LUNAR_INDEX_TREE, 2, false, 60},
    {LUNAR_INDEX_HASH, 2, true, 230},  {LUNAR_INDEX_TREE, 1, true, 1800}, {LUNAR_INDEX_HASH, 2, false, 2000},
};

// No other table can make room.
TEST(FullDevice, that_a_table_fills_alone_is_repaired) {
  const auto seed = test_seed();
  const std::uint64_t step = one_in(3);
  for (std::uint64_t life = 0; life < 36; life += step)
    for (const bool heals : {true, false}) {
      SCOPED_TRACE("life " + std::to_string(life) + ", heals " + std::to_string(heals));
      const Table& kind = kinds[life % std::size(kinds)];
      FullVolume volume(1000 + static_cast<std::uint32_t>(life * 977 % 4000), seed + life);
      volume.create(0, kind);
      ASSERT_EQ(volume.fill(0, kind.bytes), LUNAR_E_FULL);
      const std::uint64_t before = volume.rows(0);
      ASSERT_EQ(lunar_unmount(&volume.db), 0);
      volume.save();
      const std::uint32_t sector = volume.harmful_sector();
      emubd_set_bad(&volume.device, sector, static_cast<std::uint8_t>(EMUBD_BAD_READ | (heals ? EMUBD_HEALS : 0)));
      ASSERT_EQ(volume.mount(), 0);
      ASSERT_EQ(volume.open(0), 0);
      lunar_losses losses{};
      ASSERT_EQ(lunar_repair(&volume.tables[0], &losses), 0) << "sector " << sector;
      EXPECT_EQ(volume.rows(0) + losses.rows, before);
      EXPECT_LE(losses.rows, 512U / 16 + 1);
      EXPECT_EQ(volume.check(), "");
      ASSERT_EQ(lunar_truncate(&volume.tables[0]), 0);
      ASSERT_EQ(volume.insert(0, 1, 10), 0);
      EXPECT_EQ(volume.check(), "");
    }
}

// A repair ends with the power. What its tables and indexes lead to may belong to others by then.
TEST(DamagedTable, is_emptied_and_dropped_and_others_keep_their_rows) {
  const auto seed = test_seed();
  const std::uint64_t step = one_in(3);
  int cut_off = 0, waiting = 0;
  for (std::uint64_t life = 0; life < 24; life += step)
    for (const bool drops : {false, true}) {
      SCOPED_TRACE("life " + std::to_string(life) + ", drops " + std::to_string(drops));
      const Table& kind = kinds[life % std::size(kinds)];
      FullVolume volume(3000, seed + life);
      volume.create(0, kind);
      volume.create(1, kinds[(life + 1) % std::size(kinds)]);
      for (std::int64_t key = 0; key < 600; ++key) {
        ASSERT_EQ(volume.insert(0, key * 7919 % 600, 1 + volume.random() % kind.bytes), 0);
        ASSERT_EQ(volume.insert(1, key * 7919 % 600, 1 + volume.random() % 100), 0);
      }
      ASSERT_EQ(lunar_unmount(&volume.db), 0);
      volume.save();
      const std::uint32_t sector = volume.harmful_sector();
      emubd_set_bad(&volume.device, sector, EMUBD_BAD_READ);
      ASSERT_EQ(volume.mount(), 0);
      ASSERT_EQ(volume.open(0), 0);
      lunar_losses losses{};
      emubd_reset(&volume.device);
      volume.device.cut_at = 3 + volume.random() % 40;
      if (lunar_repair(&volume.tables[0], &losses) != 0) ++cut_off;
      std::uint64_t cut_seed = seed + life;
      emubd_cut(&volume.device, &cut_seed, 128, 0);
      emubd_reset(&volume.device);
      ASSERT_EQ(volume.mount(), 0);
      ASSERT_EQ(volume.open(1), 0);
      for (std::int64_t key = 600; key < 700; ++key) ASSERT_EQ(volume.insert(1, key, 50), 0);
      ASSERT_EQ(volume.open(0), 0);
      std::uint64_t count = 0;
      if (lunar_count(&volume.tables[0], &count) == LUNAR_E_CORRUPT) {
        ++waiting;
        const int drop = kind.secondary > 0 ? lunar_index_drop(&volume.db, "a0") : LUNAR_E_CORRUPT;
        ASSERT_EQ(drop, LUNAR_E_CORRUPT);
        ASSERT_EQ(lunar_begin(&volume.db), 0);
        ASSERT_EQ(lunar_truncate(&volume.tables[0]), LUNAR_E_TXN);
        ASSERT_EQ(lunar_commit(&volume.db), 0);
      }
      if (drops) {
        ASSERT_EQ(lunar_table_drop(&volume.db, "a"), 0);
        volume.create(0, kind);
      } else {
        ASSERT_EQ(lunar_truncate(&volume.tables[0]), 0);
      }
      EXPECT_EQ(volume.rows(0), 0U);
      EXPECT_EQ(volume.check(), "") << "sector " << sector;
      ASSERT_EQ(volume.insert(0, 1, 10), 0);
      std::uint64_t others = 0;
      EXPECT_EQ(volume.readable_rows(1, &others), LUNAR_E_NOT_FOUND);
      EXPECT_EQ(others, 700U);
    }
  EXPECT_GT(cut_off, 4);
  EXPECT_GT(waiting, 4);
}

// A page of a tree takes a whole block here, and four of them cannot be used any more.
TEST(FullRing, gives_up_its_oldest_rows_for_the_repair_of_its_index) {
  const auto seed = test_seed();
  int gave_up = 0;
  for (std::uint64_t life = 0; life < 8; ++life) {
    SCOPED_TRACE("life " + std::to_string(life));
    FullVolume volume(5000, seed + life);
    ASSERT_EQ(lunar_unmount(&volume.db), 0);
    volume.config.class_growth = 1, volume.config.class_bytes_max = 64 * 512;
    ASSERT_EQ(lunar_format(&volume.config), 0);
    ASSERT_EQ(volume.mount(), 0);
    volume.create(0, {LUNAR_INDEX_TREE, 1, true, 100}, LUNAR_RING_ROWS, 100000);
    std::uint64_t before = 0;
    for (std::int64_t key = 0; volume.rows(0) >= before; ++key) {
      volume.save();
      before = volume.rows(0);
      ASSERT_EQ(volume.insert(0, key * 7919 % 1000003, 1 + volume.random() % 100), 0);
    }
    volume.restore();  // as before the first insertion that made the oldest rows go
    ASSERT_EQ(volume.mount(), 0);
    ASSERT_EQ(volume.open(0), 0);
    ASSERT_EQ(volume.rows(0), before);
    ASSERT_EQ(lunar_unmount(&volume.db), 0);
    volume.save();
    int bad = 0;
    for (std::uint32_t sector = volume.db.geometry.data_at; sector < 5000 && bad < 4; ++sector)
      if (volume.device.sectors[std::size_t{512} * sector + 4] == tree_page && volume.random() % 8 == 0)
        emubd_set_bad(&volume.device, sector, EMUBD_BAD_READ), ++bad;
    ASSERT_EQ(volume.mount(), 0);
    ASSERT_EQ(volume.open(0), 0);
    lunar_losses losses{};
    ASSERT_EQ(lunar_repair(&volume.tables[0], &losses), 0);
    EXPECT_EQ(volume.rows(0) + losses.rows, before);
    EXPECT_LT(losses.rows, before / 2);
    gave_up += losses.rows > 0 ? 1 : 0;
    EXPECT_EQ(volume.check(), "");
    std::uint64_t count = 0;
    EXPECT_EQ(volume.readable_rows(0, &count), LUNAR_E_NOT_FOUND);
    EXPECT_EQ(count, volume.rows(0));
  }
  EXPECT_GT(gave_up, 0);
}

// Two reads that fail are no damage of the card, which is sound afterwards.
TEST(Ring, keeps_its_rows_when_reads_fail_for_a_while) {
  const auto seed = test_seed();
  FullVolume volume(4096, seed);
  ASSERT_EQ(lunar_unmount(&volume.db), 0);
  volume.config.buffer_bytes = 2664;
  ASSERT_EQ(volume.mount(), 0);
  volume.create(0, {LUNAR_INDEX_TREE, 1, false, 1000}, LUNAR_RING_BYTES, 40000);
  for (std::int64_t key = 1; key <= 300; ++key) ASSERT_EQ(volume.insert(0, key * 7 % 1000, 1000), 0);
  ASSERT_EQ(lunar_unmount(&volume.db), 0);
  volume.save();
  ASSERT_EQ(volume.mount(), 0);
  ASSERT_EQ(volume.open(0), 0);
  const std::uint64_t before = volume.rows(0);
  for (std::uint64_t call = 1; call < 60; ++call) {
    volume.restore();
    ASSERT_EQ(volume.mount(), 0);
    ASSERT_EQ(volume.open(0), 0);
    emubd_reset(&volume.device);
    volume.device.fail_at = call, volume.device.fail_until = call + 1;
    const int error = volume.insert(0, 300 * 7 % 1000, 1000);
    emubd_reset(&volume.device);
    ASSERT_TRUE(error == LUNAR_E_EXISTS || error == LUNAR_E_IO) << error;
    if (error == LUNAR_E_IO) {
      ASSERT_EQ(volume.mount(), 0);
      ASSERT_EQ(volume.open(0), 0);
    }
    EXPECT_EQ(volume.rows(0), before) << "call " << call;
  }
}

// A group of the log is no larger than a unit: 4 KiB here.
TEST(Update, of_equal_length_may_be_larger_than_a_unit_of_the_log) {
  for (const lunar_mode mode : {LUNAR_MODE_NONE, LUNAR_MODE_DISORDER, LUNAR_MODE_METADATA, LUNAR_MODE_FULL}) {
    SCOPED_TRACE("mode " + std::to_string(mode));
    FullVolume volume(8000, 1);
    ASSERT_EQ(lunar_unmount(&volume.db), 0);
    volume.config.mode = mode;
    ASSERT_EQ(volume.mount(), 0);
    volume.create(0, {LUNAR_INDEX_TREE, 1, true, 0});
    std::uint8_t row[17000];
    lunar_value values[2];
    for (std::size_t bytes = 3900; bytes < 16000; bytes += bytes < 4300 ? 4 : 1500) {
      const auto key = integer(static_cast<std::int64_t>(bytes));
      const std::string before(bytes, 'a'), after(bytes, 'b'), last(bytes, 'c');
      const lunar_value first[2] = {key, text(before)}, second = text(after), third = text(last);
      ASSERT_EQ(lunar_insert(&volume.tables[0], first), 0);
      ASSERT_EQ(lunar_update(&volume.tables[0], &key, 1, &second), 0) << bytes;
      if (mode != LUNAR_MODE_NONE) {
        ASSERT_EQ(lunar_begin(&volume.db), 0);
        ASSERT_EQ(lunar_update(&volume.tables[0], &key, 1, &third), 0) << bytes;
        ASSERT_EQ(lunar_rollback(&volume.db), 0);
      }
      ASSERT_EQ(lunar_get(&volume.tables[0], &key, row, sizeof row, values), 0);
      ASSERT_EQ(bytes_of(values[1]), after);
    }
    EXPECT_EQ(volume.check(), "");
    ASSERT_EQ(lunar_unmount(&volume.db), 0);
  }
}

// A ring at its limit, then another table takes the rest of the device.
TEST(Ring, goes_on_beside_a_table_that_fills_the_device) {
  const auto seed = test_seed();
  const std::uint64_t step = one_in(3);
  int smaller = 0, cut_off = 0, too_large = 0;
  for (std::uint64_t life = 0; life < 60; life += step) {
    SCOPED_TRACE("life " + std::to_string(life));
    FullVolume volume(1000 + static_cast<std::uint32_t>(life * 977 % 5000), seed + life);
    auto& random = volume.random;
    const bool is_small = life % 2 == 0;
    const std::size_t bytes = is_small ? 20 + random() % 40 : random() % 2 == 0 ? 400 + random() % 800 : 100;
    const bool varies = random() % 2 == 0, in_blocks = random() % 2 == 0;
    const auto ring = static_cast<lunar_ring>(1 + random() % 3);
    const std::uint64_t limit = ring == LUNAR_RING_BYTES ? 20000 + random() % 100000
                                : is_small               ? 60 + random() % 100
                                                         : 300;
    const auto index = static_cast<lunar_index>(random() % 2);
    volume.create(0, {index, static_cast<int>(random() % 2), true, 0}, ring, limit);
    volume.create(1, {LUNAR_INDEX_TREE, 0, true, 0});
    std::int64_t last = 0;
    const auto row_bytes = [&] { return varies ? random() % (2 * bytes) : bytes; };
    while (last < 1000) ASSERT_EQ(volume.insert(0, ++last, row_bytes()), 0);
    const std::uint64_t before = volume.rows(0);
    ASSERT_EQ(volume.fill(1, in_blocks ? 3000 : 2 * bytes), LUNAR_E_FULL);
    const std::uint64_t others = volume.rows(1);
    std::uint64_t least = before;
    for (int i = 0; i < 400; ++i) {
      emubd_reset(&volume.device);
      if (i % 20 == 19) volume.device.cut_at = 1 + random() % 12;
      const int error = volume.insert(0, ++last, row_bytes());
      least = std::min(least, volume.device.cut_at ? least : volume.rows(0));
      if (!volume.device.cut_at) {
        ASSERT_EQ(error, 0) << "insertion " << i;
        continue;
      }
      volume.cut(seed + life + static_cast<std::uint64_t>(i));
      ASSERT_EQ(volume.mount(), 0);
      ASSERT_EQ(volume.open(0), 0);
      ASSERT_EQ(volume.open(1), 0);
      const auto keys = volume.keys(0);
      const std::int64_t newest = keys.empty() ? 0 : keys.back();
      ASSERT_TRUE(newest == last || (error != 0 && (keys.empty() || newest == last - 1))) << newest << " of " << last;
      for (std::size_t k = 0; k < keys.size(); ++k)
        ASSERT_EQ(keys[k], newest - static_cast<std::int64_t>(keys.size() - 1 - k));
      if (newest != last) --last;
      ++cut_off;
    }
    smaller += least < before ? 1 : 0;
    for (int i = 0; i < 8; ++i) {  // a small last block has no room for these rows
      const int error = volume.insert(0, ++last, 2000 + random() % 20000);
      ASSERT_TRUE(error == 0 || error == LUNAR_E_FULL || error == LUNAR_E_TOO_LARGE) << error;
      EXPECT_GT(volume.rows(0), 0U);
      too_large += error == LUNAR_E_FULL ? 1 : 0;
    }
    EXPECT_EQ(volume.rows(1), others);
    EXPECT_EQ(volume.check(), "");
  }
  EXPECT_GT(smaller, 3);
  EXPECT_TRUE(step > 1 || too_large > 0);
  EXPECT_GT(cut_off, 100);
}

// Rows of the other table would move to the blocks that the ring gives up, and these may be larger than its next one.
TEST(Ring, goes_on_while_rows_of_the_other_table_go_and_come) {
  const auto seed = test_seed();
  const std::uint64_t step = one_in(4);
  for (std::uint64_t life = 0; life < 24; life += step) {
    SCOPED_TRACE("life " + std::to_string(life));
    FullVolume volume(2000 + static_cast<std::uint32_t>(life * 977 % 3000), seed + life);
    auto& random = volume.random;
    volume.create(0, {LUNAR_INDEX_TREE, static_cast<int>(random() % 2), false, 0}, LUNAR_RING_ROWS,
                  20 + random() % 500);
    volume.create(1, {LUNAR_INDEX_TREE, 0, false, 0});
    const std::size_t bytes = 10 + random() % 80, of_others = life % 2 == 0 ? 60 : 3000;
    std::int64_t last = 0;
    while (last < 600) ASSERT_EQ(volume.insert(0, ++last, random() % bytes), 0);
    ASSERT_EQ(volume.fill(1, of_others), LUNAR_E_FULL);
    const int each = 5 + static_cast<int>(random() % 80);
    for (int i = 1; i <= 500; ++i) {
      ASSERT_EQ(volume.insert(0, ++last, random() % bytes), 0) << "insertion " << i;
      if (i % each != 0) continue;
      for (const std::int64_t key : volume.keys(1)) {
        const auto value = integer(key);
        if (random() % 64 == 0) {
          ASSERT_EQ(lunar_remove(&volume.tables[1], &value), 0);
        }
      }
      ASSERT_EQ(volume.fill(1, of_others), LUNAR_E_FULL);
    }
    const auto keys = volume.keys(0);
    for (std::size_t k = 0; k < keys.size(); ++k)
      ASSERT_EQ(keys[k], last - static_cast<std::int64_t>(keys.size() - 1 - k));
    EXPECT_EQ(volume.check(), "");
  }
}

// All blocks have one size here, and each chunk has one of them. The ring's only block is full again and again.
// The ring is larger than the device. Its oldest blocks are small ones of the time when it was small itself: many of
// them have to go before a chunk is free for a page of the index.
TEST(Ring, larger_than_its_device_takes_each_row) {
  const auto seed = test_seed();
  for (std::uint64_t life = 0; life < 24; life += one_in(4)) {
    FullVolume volume(1500 + static_cast<std::uint32_t>(life * 100), seed + life);
    SCOPED_TRACE("life " + std::to_string(life) + ", " + std::to_string(volume.device.sector_count) + " sectors");
    const lunar_index index = life % 8 == 0 ? LUNAR_INDEX_TREE : LUNAR_INDEX_HASH;
    volume.create(0, {index, static_cast<int>(life % 3 == 2), false, 0}, LUNAR_RING_ROWS, 1'000'000'000);
    std::uint64_t most = 0;
    for (std::int64_t key = 0; key < 40'000; ++key) {
      ASSERT_EQ(volume.insert(0, key, 1 + volume.random() % 37), 0) << "row " << key;
      if (key % 1000 == 0) most = std::max(most, volume.rows(0));
    }
    EXPECT_GT(most, 5000U);
    EXPECT_LT(most, 36'000U);  // the device was full
    EXPECT_EQ(volume.check(), "");
  }
}

TEST(Ring, of_one_block_empties_it_on_a_full_device) {
  const auto seed = test_seed();
  for (std::uint64_t life = 0; life < 8; ++life) {
    SCOPED_TRACE("life " + std::to_string(life));
    FullVolume volume(2000 + static_cast<std::uint32_t>(life * 500), seed + life);
    ASSERT_EQ(lunar_unmount(&volume.db), 0);
    volume.config.class_growth = 1, volume.config.class_bytes_max = 64 * 512;
    ASSERT_EQ(lunar_format(&volume.config), 0);
    ASSERT_EQ(volume.mount(), 0);
    volume.create(0, {LUNAR_INDEX_TREE, 0, true, 0}, LUNAR_RING_ROWS, life % 2 == 0 ? 10 : 40 + life * 10);
    volume.create(1, {LUNAR_INDEX_TREE, 0, true, 0});
    std::int64_t last = 0;
    while (last < 100) ASSERT_EQ(volume.insert(0, ++last, volume.random() % 200), 0);
    ASSERT_EQ(volume.fill(1, 80), LUNAR_E_FULL);
    const std::uint64_t others = volume.rows(1);
    int emptied = 0;
    for (int i = 0; i < 2000; ++i) {
      ASSERT_EQ(volume.insert(0, ++last, volume.random() % 200), 0) << "insertion " << i;
      emptied += volume.rows(0) == 1 ? 1 : 0;
    }
    EXPECT_GT(emptied, 2);
    const auto keys = volume.keys(0);
    for (std::size_t k = 0; k < keys.size(); ++k)
      ASSERT_EQ(keys[k], last - static_cast<std::int64_t>(keys.size() - 1 - k));
    EXPECT_EQ(volume.rows(1), others);
    EXPECT_EQ(volume.check(), "");
  }
}

// The repair that an insertion makes takes blocks, and the record of the insertion names those of the insertion alone.
TEST(Ring, is_mounted_again_after_an_insertion_has_repaired_it) {
  const auto seed = test_seed();
  const std::uint64_t step = one_in(4);
  int repaired = 0;
  for (std::uint64_t rows = 1; rows <= 60; rows += step) {
    FullVolume volume(4096, seed + rows);
    ASSERT_EQ(lunar_unmount(&volume.db), 0);
    volume.config.buffer_bytes = 2664;
    ASSERT_EQ(volume.mount(), 0);
    volume.create(0, {LUNAR_INDEX_TREE, static_cast<int>(rows % 2), false, 0}, LUNAR_RING_ROWS, 100);
    const std::size_t bytes = rows % 2 ? 900 : 30;
    for (std::uint64_t key = 1; key <= rows; ++key)
      ASSERT_EQ(volume.insert(0, static_cast<std::int64_t>(key), bytes), 0);
    ASSERT_EQ(lunar_unmount(&volume.db), 0);
    volume.save();
    for (std::uint64_t call = 1; call < 24; ++call) {
      SCOPED_TRACE("rows " + std::to_string(rows) + ", call " + std::to_string(call));
      volume.restore();
      ASSERT_EQ(volume.mount(), 0);
      ASSERT_EQ(volume.open(0), 0);
      emubd_reset(&volume.device);
      volume.device.fail_at = call, volume.device.fail_until = call + 1;
      const int error = volume.insert(0, 1000, bytes);
      repaired += error == 0 && volume.db.repairs > 0 ? 1 : 0;
      ASSERT_TRUE(error == 0 || error == LUNAR_E_IO) << error;
      volume.cut(seed + call);
      ASSERT_EQ(volume.mount(), 0);
      ASSERT_EQ(volume.open(0), 0);
      ASSERT_EQ(volume.insert(0, 1001, bytes), 0);
      std::uint8_t row[4096];
      lunar_value values[2];
      const auto key = integer(1000);
      EXPECT_EQ(lunar_get(&volume.tables[0], &key, row, sizeof row, values) == 0 || error != 0, true);
      EXPECT_EQ(volume.check(), "");
    }
  }
  EXPECT_GT(repaired, 10);
}

// The insertion repairs the ring then, and needs a block on a full device.
TEST(Ring, makes_room_also_after_reads_that_failed_for_a_while) {
  FullVolume volume(1500, test_seed());
  ASSERT_EQ(lunar_unmount(&volume.db), 0);
  volume.config.buffer_bytes = 2664, volume.config.class_bytes_max = 16384;
  ASSERT_EQ(lunar_format(&volume.config), 0);
  ASSERT_EQ(volume.mount(), 0);
  volume.create(0, {LUNAR_INDEX_TREE, 0, false, 0}, LUNAR_RING_ROWS, 6000);
  volume.create(1, {LUNAR_INDEX_TREE, 0, false, 0});
  for (std::int64_t key = 1; key <= 300; ++key) ASSERT_EQ(volume.insert(0, key, key % 10 ? 30 : 1500), 0);
  for (std::size_t bytes = 5000; bytes > 0; bytes /= 4) ASSERT_EQ(volume.fill(1, bytes), LUNAR_E_FULL);
  ASSERT_EQ(lunar_unmount(&volume.db), 0);
  volume.save();
  int repaired = 0;
  for (std::uint64_t call = 1; call < 60; ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    volume.restore();
    ASSERT_EQ(volume.mount(), 0);
    ASSERT_EQ(volume.open(0), 0);
    emubd_reset(&volume.device);
    volume.device.fail_at = call, volume.device.fail_until = call + 1;
    const int error = volume.insert(0, 1000, 12000);
    repaired += error == 0 && volume.db.repairs > 0 ? 1 : 0;
    ASSERT_TRUE(error == 0 || error == LUNAR_E_IO) << error;
  }
  EXPECT_GT(repaired, 0);
}

// Requests fail for a while in an insertion, and the power is cut before it ends.
TEST(Ring, has_its_rows_after_an_insertion_that_failed_twice) {
  const std::uint64_t step = one_in(2);
  int places = 0;
  for (const lunar_index index : {LUNAR_INDEX_HASH, LUNAR_INDEX_TREE}) {
    FullVolume volume(2000, test_seed());
    ASSERT_EQ(lunar_unmount(&volume.db), 0);
    volume.config.buffer_bytes = 2664;
    ASSERT_EQ(volume.mount(), 0);
    volume.create(0, {index, 0, false, 0}, LUNAR_RING_ROWS, 60);
    for (std::int64_t key = 0; key < 60; ++key) ASSERT_EQ(volume.insert(0, key, 200), 0);
    ASSERT_EQ(lunar_unmount(&volume.db), 0);
    volume.save();
    for (std::uint64_t call = 1; call < 40; ++call)
      for (std::uint64_t cut = 1; cut < 20; cut += step) {
        SCOPED_TRACE("call " + std::to_string(call) + ", cut " + std::to_string(cut));
        volume.restore();
        ASSERT_EQ(volume.mount(), 0);
        ASSERT_EQ(volume.open(0), 0);
        emubd_reset(&volume.device);
        volume.device.fail_at = call, volume.device.fail_until = call + 3, volume.device.cut_at = cut;
        places += volume.insert(0, 60, 200) != 0 ? 1 : 0;
        volume.cut(call * 100 + cut);
        ASSERT_EQ(volume.mount(), 0);
        ASSERT_EQ(volume.open(0), 0);
        const auto keys = volume.keys(0);
        ASSERT_EQ(keys.size(), 60U);
        EXPECT_TRUE(keys[0] == 0 || keys[0] == 1);
        ASSERT_EQ(volume.check(), "");
      }
  }
  EXPECT_GT(places, 100);
}

// A read that fails once is no damage.
TEST(Table, is_emptied_or_has_all_rows_after_a_truncation_that_failed_twice) {
  const std::uint64_t step = one_in(2);
  int places = 0;
  for (const lunar_index index : {LUNAR_INDEX_HASH, LUNAR_INDEX_TREE})
    for (const bool drops : {false, true}) {
      FullVolume volume(2000, test_seed());
      ASSERT_EQ(lunar_unmount(&volume.db), 0);
      volume.config.buffer_bytes = 2664;
      ASSERT_EQ(volume.mount(), 0);
      volume.create(0, {index, 0, false, 0});
      for (std::int64_t key = 0; key < 60; ++key) ASSERT_EQ(volume.insert(0, key, 200), 0);
      ASSERT_EQ(lunar_unmount(&volume.db), 0);
      volume.save();
      for (std::uint64_t call = 1; call < 40; ++call)
        for (std::uint64_t cut = 1; cut < 20; cut += step) {
          SCOPED_TRACE("call " + std::to_string(call) + ", cut " + std::to_string(cut));
          volume.restore();
          ASSERT_EQ(volume.mount(), 0);
          ASSERT_EQ(volume.open(0), 0);
          emubd_reset(&volume.device);
          volume.device.fail_at = volume.device.fail_until = call, volume.device.cut_at = cut;
          const int error = drops ? lunar_table_drop(&volume.db, "a") : lunar_truncate(&volume.tables[0]);
          places += error != 0 ? 1 : 0;
          volume.cut(call * 100 + cut);
          ASSERT_EQ(volume.mount(), 0);
          const int opened = volume.open(0);
          ASSERT_TRUE(opened == 0 || (drops && opened == LUNAR_E_NO_TABLE)) << opened;
          ASSERT_EQ(volume.check(), "");
          if (opened != 0) continue;
          const auto rows = volume.keys(0).size();
          EXPECT_TRUE(rows == 0 || rows == 60) << rows;
        }
    }
  EXPECT_GT(places, 100);
}

// Some sectors of the last block stay unreadable for ever, though they take writes.
TEST(DamagedTable, gets_no_row_in_front_of_or_in_an_unreadable_sector_after_its_repair) {
  const auto seed = test_seed();
  for (std::uint64_t life = 0; life < 30; ++life) {
    SCOPED_TRACE("life " + std::to_string(life));
    FullVolume volume(4000, seed + life);
    const bool is_ring = life % 2 == 0;
    volume.create(0, {LUNAR_INDEX_TREE, 0, true, 0}, is_ring ? LUNAR_RING_ROWS : LUNAR_RING_NONE, is_ring ? 350 : 0);
    std::int64_t last = 0;
    const std::size_t bytes = 50 + volume.random() % 250;
    while (last < 400) ASSERT_EQ(volume.insert(0, ++last, 1 + volume.random() % bytes), 0);
    std::uint64_t before = volume.block_bytes();
    for (int i = 0; i < 2000 && volume.block_bytes() <= before; ++i) {
      before = volume.block_bytes();
      ASSERT_EQ(volume.insert(0, ++last, 1 + volume.random() % bytes), 0);
    }
    ASSERT_GT(volume.block_bytes(), before) << "the next block has begun";
    for (int i = 0; i < 5; ++i) ASSERT_EQ(volume.insert(0, ++last, 1 + volume.random() % bytes), 0);
    ASSERT_EQ(lunar_unmount(&volume.db), 0);
    // The last sector that has rows, and one or two of the next six, which are free.
    std::uint32_t sector = 0;
    for (std::uint32_t at = volume.db.geometry.data_at; at < 4000; ++at)
      if (const auto* begin = volume.device.sectors + std::size_t{512} * at; std::count(begin, begin + 512, 'v') > 50)
        sector = at;
    for (const std::uint32_t at : {sector, sector + 1 + static_cast<std::uint32_t>(volume.random() % 6),
                                   sector + 1 + static_cast<std::uint32_t>(volume.random() % 6)})
      emubd_set_bad(&volume.device, at, EMUBD_BAD_READ);
    ASSERT_EQ(volume.mount(), 0);
    ASSERT_EQ(volume.open(0), 0);
    lunar_losses losses{};
    ASSERT_EQ(lunar_repair(&volume.tables[0], &losses), 0);
    for (int i = 0; i < 200; ++i) ASSERT_EQ(volume.insert(0, ++last, 1 + volume.random() % bytes), 0);
    ASSERT_EQ(lunar_unmount(&volume.db), 0);
    ASSERT_EQ(volume.mount(), 0);
    ASSERT_EQ(volume.open(0), 0);
    const auto keys = volume.keys(0);
    ASSERT_GE(keys.size(), is_ring ? 100U : 200U);
    for (std::size_t k = 1; k <= (is_ring ? 100U : 200U); ++k)
      EXPECT_EQ(keys[keys.size() - k], last + 1 - static_cast<std::int64_t>(k));
    EXPECT_EQ(volume.check(), "");
  }
}

// No repair came before.
TEST(DamagedTable, is_emptied_and_dropped_at_once) {
  const auto seed = test_seed();
  const std::uint64_t step = one_in(3);
  for (std::uint64_t life = 0; life < 36; life += step)
    for (const bool drops : {false, true}) {
      SCOPED_TRACE("life " + std::to_string(life) + ", drops " + std::to_string(drops));
      const Table& kind = kinds[life % std::size(kinds)];
      FullVolume volume(3000, seed + life);
      volume.create(0, kind);
      volume.create(1, kinds[(life + 1) % std::size(kinds)]);
      for (std::int64_t key = 0; key < 300; ++key) {
        ASSERT_EQ(volume.insert(0, key * 7919 % 300, 1 + volume.random() % kind.bytes), 0);
        ASSERT_EQ(volume.insert(1, key, 1 + volume.random() % 100), 0);
      }
      ASSERT_EQ(lunar_unmount(&volume.db), 0);
      volume.save();
      const std::uint32_t sector = volume.harmful_sector();
      if (life % 2 == 0)
        emubd_set_bad(&volume.device, sector, EMUBD_BAD_READ);
      else
        std::fill_n(volume.device.sectors + std::size_t{512} * sector, 512, std::uint8_t{0xa5});
      ASSERT_EQ(volume.mount(), 0);
      ASSERT_EQ(volume.open(0), 0);
      ASSERT_EQ(volume.open(1), 0);
      if (drops) {
        ASSERT_EQ(lunar_table_drop(&volume.db, "a"), 0);
        volume.create(0, kind);
      } else {
        ASSERT_EQ(lunar_truncate(&volume.tables[0]), 0);
      }
      EXPECT_EQ(volume.rows(0), 0U);
      EXPECT_EQ(volume.check(), "") << "sector " << sector;
      ASSERT_EQ(volume.insert(0, 1, 10), 0);
      EXPECT_EQ(volume.keys(1).size(), 300U);
    }
}

// Reads fail for a while, and then again none: no sector is damaged.
TEST(Mount, after_reads_that_failed_for_a_while_returns_an_error_or_has_every_row) {
  const auto seed = test_seed();
  const std::uint64_t step = one_in(4);
  int errors = 0, calls = 0;
  for (std::uint64_t life = 0; life < 12; life += step) {
    FullVolume volume(2000, seed + life);
    if (life % 2 == 0) {
      ASSERT_EQ(lunar_unmount(&volume.db), 0);
      volume.config.buffer_bytes = 2664;
      ASSERT_EQ(volume.mount(), 0);
    }
    volume.config.skip_unreadable = 1;
    volume.create(0, {static_cast<lunar_index>(life / 2 % 2), 1, true, 0});
    constexpr std::uint64_t failing[] = {2, 3, 4, 5, 10, 20};
    const std::int64_t rows = 40 + static_cast<std::int64_t>(volume.random() % 80);
    const std::size_t bytes = life % 3 == 0 ? 1000 : 200;
    for (std::int64_t key = 0; key < rows; ++key) ASSERT_EQ(volume.insert(0, key, bytes), 0);
    volume.cut(seed + life);
    volume.save();
    bool fails = true;
    for (std::uint64_t call = 1; fails && call < 2000; ++call) {
      SCOPED_TRACE("life " + std::to_string(life) + ", call " + std::to_string(call));
      volume.restore();
      volume.device.fail_at = call, volume.device.fail_until = call + failing[life / 2] - 1;
      const int error = volume.mount();
      fails = volume.device.calls >= call;
      ++calls;
      emubd_reset(&volume.device);
      if (error != 0) {
        ++errors;
        ASSERT_TRUE(error == LUNAR_E_IO) << error;
        ASSERT_EQ(volume.mount(), 0);
      }
      ASSERT_EQ(volume.open(0), 0);
      std::uint64_t count = 0;
      ASSERT_EQ(volume.readable_rows(0, &count), LUNAR_E_NOT_FOUND);
      ASSERT_EQ(count, static_cast<std::uint64_t>(rows));
      EXPECT_EQ(lunar_unmount(&volume.db), 0);
    }
  }
  EXPECT_GT(calls, 200);
  EXPECT_GT(errors, 20);
}

}  // namespace
}  // namespace lunar_test
