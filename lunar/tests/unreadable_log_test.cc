// Each sector of the log in turn cannot be read after a power cut. A mount with skip_unreadable goes back to before it,
// and after the repairs that it asks for the volume is sound. The lives have several tables, so that one table's repair
// can take what another one has.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "emubd.h"
#include "lunar.h"
#include "values.h"

namespace lunar_test {
namespace {

class Life {
 public:
  Life(std::uint64_t seed, bool brief) : random_(seed) {
    const std::uint32_t sector_bytes = below(3) != 0 ? 512 : 4096;
    EXPECT_EQ(emubd_open(&device, sector_bytes, sector_bytes == 512 ? 2048 : 768), 0);
    emubd_config(&device, &config);
    const std::size_t least = LUNAR_BUFFER_BYTES_MIN(sector_bytes), more = below(2) * below(40) * (sector_bytes + 40);
    buffer_.resize((least + more) / sizeof buffer_[0] + 1);
    config.buffer = buffer_.data(), config.buffer_bytes = buffer_.size() * sizeof buffer_[0];
    config.mode = static_cast<lunar_mode>(LUNAR_MODE_DISORDER + below(4));
    config.tables_max = 8, config.log_bytes = (1 + below(3)) * 64 * sector_bytes, config.skip_unreadable = 1;
    EXPECT_EQ(lunar_format(&config), 0);
    EXPECT_EQ(lunar_mount(&db, &config), 0);
    tables.resize(1 + below(3));
    for (std::size_t i = 0; i < tables.size(); ++i) EXPECT_EQ(create(i), 0);
    for (std::size_t i = 0; i < tables.size(); ++i) EXPECT_EQ(open(i), 0);
    const std::uint32_t operations = brief ? below(6) : 100 + below(600);
    text_bytes_max_ = sector_bytes == 512 ? 700 : 2500, keys_ = 20 + below(200);
    for (std::uint32_t i = 0; i < operations; ++i) step();
    if (brief && !in_transaction_ && below(2) != 0) {
      EXPECT_EQ(lunar_sync(&db), 0);
    }
    std::uint64_t cut = random_();
    emubd_cut(&device, &cut, below(257), 0);
  }
  ~Life() { emubd_close(&device); }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  int open(std::size_t i) { return lunar_table_open(&db, name_of(i).c_str(), &tables[i]); }

  int create(std::size_t i) {
    lunar_schema schema{};
    schema.column_count = 2;
    schema.columns[0] = {"k", LUNAR_INT64, 0}, schema.columns[1] = {"t", LUNAR_TEXT, 0};
    schema.index = below(2) != 0 ? LUNAR_INDEX_TREE : LUNAR_INDEX_HASH;
    schema.checksum = static_cast<std::uint8_t>(below(2));
    if (below(4) == 0) schema.ring = LUNAR_RING_ROWS, schema.ring_limit = 20 + below(60);
    const int error = lunar_table_create(&db, name_of(i).c_str(), &schema);
    if (error != 0 || below(4) != 0) return error;
    const int indexed =
        lunar_index_create(&db, name_of(i).c_str(), ("i" + std::to_string(i)).c_str(), 1, LUNAR_INDEX_HASH);
    EXPECT_TRUE(indexed == 0 || indexed == LUNAR_E_TXN_FULL) << indexed;
    return 0;
  }

  std::vector<std::uint8_t> content() const {
    return {device.sectors, device.sectors + std::size_t{device.sector_bytes} * device.sector_count};
  }

  emubd device{};
  lunar_config config{};
  lunar db{};
  std::vector<lunar_table> tables;

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  static std::string name_of(std::size_t i) { return "t" + std::to_string(i); }

  int changed(lunar_table* table) {
    static const std::string content(2500, 'x');
    const std::array<lunar_value, 2> row = {integer(below(keys_)),
                                            bytes_of(LUNAR_TEXT, content.data(), below(text_bytes_max_))};
    switch (below(9)) {
      case 0:
      case 1:
        return lunar_remove(table, row.data());
      case 2:
      case 3:
      case 4:
        return lunar_update(table, row.data(), 1, &row[1]);
      default:
        return lunar_insert(table, row.data());
    }
  }

  int other(lunar_table* table) {
    if (below(40) == 0) return lunar_truncate(table);
    if (in_transaction_) {
      in_transaction_ = false;
      return below(3) != 0 ? lunar_commit(&db) : lunar_rollback(&db);
    }
    if (below(3) == 0) {
      const int error = lunar_begin(&db);
      in_transaction_ = error == 0;
      return error;
    }
    return below(2) != 0 ? lunar_sync(&db) : lunar_checkpoint(&db);
  }

  void step() {
    lunar_table* table = &tables[below(static_cast<std::uint32_t>(tables.size()))];
    const int error = below(10) != 0 ? changed(table) : other(table);
    if (in_transaction_ && (error == LUNAR_E_TXN_FULL || error == LUNAR_E_FULL)) {
      EXPECT_EQ(lunar_rollback(&db), 0);
      in_transaction_ = false;
      return;
    }
    EXPECT_TRUE(error == 0 || error == LUNAR_E_NOT_FOUND || error == LUNAR_E_EXISTS || error == LUNAR_E_FULL ||
                error == LUNAR_E_TXN || error == LUNAR_E_TXN_FULL)
        << error;
  }

  std::mt19937_64 random_;
  std::vector<std::uint64_t> buffer_;
  std::uint32_t text_bytes_max_ = 0, keys_ = 0;
  bool in_transaction_ = false;
};

struct Count {
  std::uint64_t mounts = 0, repairs = 0;
};

// Opens every table, and repairs it where it is damaged. An error is that of a request that failed.
int open_all(Life& life, Count& count) {
  for (std::size_t i = 0; i < life.tables.size(); ++i) {
    int error = life.open(i);
    if (error == LUNAR_E_NO_TABLE) {  // the log ends before its creation
      error = life.create(i);
      if (error == 0) error = life.open(i);
    }
    std::uint64_t rows = 0;
    if (error == 0) error = lunar_count(&life.tables[i], &rows);
    if (error == LUNAR_E_CORRUPT) {
      lunar_losses losses{};
      error = lunar_repair(&life.tables[i], &losses);
      count.repairs++;
    }
    if (error != 0) return error;
  }
  return 0;
}

// heals: it can be read again when the mount has returned.
void with_each_sector_unreadable(std::uint64_t seed, bool heals, Count& count, bool brief = false) {
  Life life(seed, brief);
  const std::vector<std::uint8_t> content = life.content();
  const lunar_geometry geometry = life.db.geometry;
  for (std::uint32_t i = 0; i < geometry.log_sectors; ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", sector " + std::to_string(i) + " of the log");
    std::copy(content.begin(), content.end(), life.device.sectors);
    life.device.mounted = nullptr;
    emubd_set_bad(&life.device, geometry.log_at + i, EMUBD_BAD_READ | EMUBD_HEALS);
    ASSERT_EQ(lunar_mount(&life.db, &life.config), 0);
    count.mounts++;
    if (heals) emubd_set_bad(&life.device, geometry.log_at + i, 0);
    ASSERT_EQ(open_all(life, count), 0);
    lunar_findings findings{};
    ASSERT_EQ(lunar_check(&life.db, &findings), 0) << findings.text << ", sector " << findings.sector;
    emubd_set_bad(&life.device, geometry.log_at + i, 0);
  }
}

// One to three power cuts end a mount or the repairs after it; then the volume is sound. unreadable: the sector of the
// log that cannot be read, in half of the cases until it is written; -1: none.
void with_cuts(Life& life, const std::vector<std::uint8_t>& content, std::int64_t unreadable, std::uint64_t seed,
               Count& count) {
  std::mt19937_64 random(seed);
  std::uint64_t cut = random() | 1;
  emubd_cut(&life.device, &cut, 256, 0);  // nothing is left to lose of what came before
  std::copy(content.begin(), content.end(), life.device.sectors);
  const bool heals = random() % 2 != 0;
  if (unreadable >= 0)
    emubd_set_bad(&life.device, static_cast<std::uint32_t>(unreadable), EMUBD_BAD_READ | (heals ? EMUBD_HEALS : 0));
  for (std::uint64_t cuts = 1 + random() % 3; cuts-- > 0;) {
    life.device.cut_at = 1 + random() % (random() % 2 != 0 ? 40 : 400);
    int error = lunar_mount(&life.db, &life.config);
    count.mounts++;
    if (error == 0) error = open_all(life, count);
    const bool is_cut = life.device.changes >= life.device.cut_at;
    ASSERT_TRUE(is_cut || error == 0) << error;
    emubd_cut(&life.device, &cut, static_cast<unsigned>(random() % 257), 0);
  }
  ASSERT_EQ(lunar_mount(&life.db, &life.config), 0);
  count.mounts++;
  ASSERT_EQ(open_all(life, count), 0);
  if (unreadable >= 0) emubd_set_bad(&life.device, static_cast<std::uint32_t>(unreadable), 0);
  lunar_findings findings{};
  ASSERT_EQ(lunar_check(&life.db, &findings), 0) << findings.text << ", sector " << findings.sector;
}

// Lives in which a mutant fails. Each mutant takes one in some hundred lives.
TEST(UnreadableLog, leaves_a_volume_that_a_repair_mends_in_lives_that_are_hard) {
  Count count;
  for (const std::uint64_t seed : {85U, 158U, 990U, 1066U, 4701U})
    for (const bool heals : {false, true}) ASSERT_NO_FATAL_FAILURE(with_each_sector_unreadable(seed, heals, count));
  EXPECT_GT(count.repairs, 0U);
}

// A recovery that is cut off has destroyed evidence: of damage, and of before images that have been put back.
TEST(UnreadableLog, leaves_a_volume_that_a_repair_mends_after_cuts_in_recoveries) {
  const std::uint64_t seed = test_seed();
  Count count;
  for (std::uint64_t i = 0; i < 600 / one_in(20); ++i) {
    Life life(seed + i, false);
    const std::vector<std::uint8_t> content = life.content();
    const lunar_geometry geometry = life.db.geometry;
    for (std::uint32_t at = 0; at < geometry.log_sectors; ++at) {
      SCOPED_TRACE("seed " + std::to_string(seed + i) + ", sector " + std::to_string(at) + " of the log");
      ASSERT_NO_FATAL_FAILURE(with_cuts(life, content, geometry.log_at + at, (seed + i) * 4096 + at, count));
    }
  }
  EXPECT_GT(count.repairs, 0U);
}

// Without damage, skip_unreadable changes nothing, however often a recovery is cut off.
TEST(UnreadableLog, skips_nothing_where_no_sector_is_damaged) {
  Count count;
  const std::uint64_t seed = test_seed();
  const auto lives = [&](std::uint64_t first, std::uint64_t lives_count) {
    for (std::uint64_t i = first; i < first + lives_count; ++i) {
      Life life(i, false);
      const std::vector<std::uint8_t> content = life.content();
      for (std::uint64_t k = 0; k < 190; ++k) {
        SCOPED_TRACE("seed " + std::to_string(i) + ", cuts " + std::to_string(k));
        ASSERT_NO_FATAL_FAILURE(with_cuts(life, content, -1, i * 4096 + k, count));
      }
    }
  };
  ASSERT_NO_FATAL_FAILURE(lives(320081, 1));  // hard: before images of a page that was spilled twice
  ASSERT_NO_FATAL_FAILURE(lives(seed, 400 / one_in(20)));
  EXPECT_EQ(count.repairs, 0U);
}

// The log has the creation of tables and indexes, of which some pages are in place.
TEST(UnreadableLog, leaves_no_table_that_can_be_neither_opened_nor_created) {
  const std::uint64_t seed = test_seed();
  Count count;
  for (std::uint64_t i = 0; i < 400 / one_in(20); ++i)
    ASSERT_NO_FATAL_FAILURE(with_each_sector_unreadable(seed + i, i % 2 != 0, count, true));
  EXPECT_GT(count.repairs, 0U);
}

// LUNAR_LIVES lives from LUNAR_SEED on.
TEST(UnreadableLog, leaves_a_volume_that_a_repair_mends) {
  const char* lives_text = std::getenv("LUNAR_LIVES");
  const std::uint64_t lives = lives_text != nullptr ? std::strtoull(lives_text, nullptr, 10) : 400 / one_in(20);
  const std::uint64_t seed = test_seed();
  Count count;
  for (std::uint64_t i = 0; i < lives; ++i)
    ASSERT_NO_FATAL_FAILURE(with_each_sector_unreadable(seed + i, i % 2 != 0, count));
  std::printf("%llu mounts, %llu repairs\n", static_cast<unsigned long long>(count.mounts),
              static_cast<unsigned long long>(count.repairs));
  EXPECT_GT(count.repairs, 0U);
}

}  // namespace
}  // namespace lunar_test
