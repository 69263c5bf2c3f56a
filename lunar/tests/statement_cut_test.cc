// The power fails at a flush of an SQL statement that changes many rows: afterwards its effect is complete or absent.
// All unflushed sectors but one reach the device; each is the missing one in turn.
#include <gtest/gtest.h>

#include <ostream>

#include "sql_database.h"

namespace lunar_test {
namespace {

constexpr int row_count = 1000;
constexpr std::uint32_t sector_count = 16384;
constexpr std::size_t buffer_bytes = 16384;

struct Statement {
  const char* name;
  const char* index;  // secondary index; empty: none
  const char* sql;
  const char* count;        // SQL that counts the unchanged rows
  std::uint32_t log_bytes;  // 0: lunar_format's default
};
void PrintTo(const Statement& statement, std::ostream* out) { *out << statement.name; }

std::string one_value(lunar& db, const std::string& sql) {
  std::vector<std::uint64_t> memory(512);
  lunar_statement* statement = nullptr;
  int error = lunar_prepare(&db, sql.data(), sql.size(), memory.data(), memory.size() * 8, &statement, nullptr);
  if (error == 0) error = lunar_step(statement);
  std::string value = error == LUNAR_ROW ? shown(*lunar_column_value(statement, 0)) : lunar_error_text(error);
  if (statement != nullptr) lunar_finalize(statement);
  return value;
}

// Cuts a copy of a database's device at every flush; the database itself continues.
class FlushCuts {
 public:
  FlushCuts(Database& database, const char* count)
      : database_(database), count_(count), config_(database.config), buffer_(buffer_bytes / 8) {
    EXPECT_EQ(emubd_open(&device_, 512, sector_count), 0);
    EXPECT_EQ(emubd_copy(&device_, &database.device), 0);
    emubd_config(&device_, &config_);
    config_.buffer = buffer_.data();
    database.device.before_change_context = this;
    database.device.before_change = [](void* context) { static_cast<FlushCuts*>(context)->before_change(); };
  }
  ~FlushCuts() {
    database_.device.before_change = nullptr;
    emubd_close(&device_);
  }
  FlushCuts(const FlushCuts&) = delete;
  FlushCuts& operator=(const FlushCuts&) = delete;

  int cuts = 0, not_mounted = 0, half_applied = 0, not_sound = 0;
  std::string found;  // unchanged rows after a statement that was applied in part

 private:
  void before_change() {
    if (database_.device.syncing == 0) return;
    std::vector<std::uint8_t> stays(database_.device.unsynced_count, 1);
    for (auto& missing : stays) {
      missing = 0;
      EXPECT_EQ(emubd_update_copy(&device_, &database_.device), 0);
      emubd_cut_to(&device_, stays.data());
      missing = 1;
      inspect();
    }
  }

  void inspect() {
    ++cuts;
    lunar db;
    if (lunar_mount(&db, &config_) != 0) {
      ++not_mounted;
      return;
    }
    const std::string unchanged = one_value(db, count_);
    if (unchanged != "0" && unchanged != std::to_string(row_count)) ++half_applied, found = unchanged;
    lunar_findings findings{};
    if (lunar_check(&db, &findings) != 0) ++not_sound;
  }

  Database& database_;
  const char* count_;
  emubd device_{};
  lunar_config config_;
  std::vector<std::uint64_t> buffer_;
};

class StatementPowerCuts : public testing::TestWithParam<Statement> {};

TEST_P(StatementPowerCuts, leave_all_of_a_statement_or_nothing) {
  const Statement& statement = GetParam();
  Database database(LUNAR_MODE_FULL, sector_count, buffer_bytes, statement.log_bytes);
  ASSERT_EQ(database.all("CREATE TABLE t (k INTEGER PRIMARY KEY, name TEXT, n INTEGER)"), 0);
  ASSERT_EQ(database.all(statement.index), 0);
  for (int key = 0; key < row_count; ++key) {
    const std::string name = std::to_string(key * 7919 % row_count) + std::string(60, ' ');
    ASSERT_EQ(database.run("INSERT INTO t VALUES (?, ?, 0)", {integer(key), text(name)}).error, 0);
  }
  ASSERT_EQ(lunar_checkpoint(&database.db), 0);
  database.device.careless = 0;

  FlushCuts cuts(database, statement.count);
  const auto spills = database.db.spills;
  const auto ran = database.run(statement.sql);
  std::printf("%s, %u spills, %d cuts: %d not mounted, %d half applied, %d not sound\n", lunar_error_text(ran.error),
              static_cast<unsigned>(database.db.spills - spills), cuts.cuts, cuts.not_mounted, cuts.half_applied,
              cuts.not_sound);
  EXPECT_GE(database.db.spills - spills, 2U);
  EXPECT_EQ(cuts.not_mounted, 0);
  EXPECT_EQ(cuts.half_applied, 0) << "the last one has " << cuts.found << " rows as they were";
  EXPECT_EQ(cuts.not_sound, 0);
}

constexpr auto update = "UPDATE t SET n = n + 1";
constexpr auto count_not_updated = "SELECT COUNT(*) FROM t WHERE n = 0";
constexpr auto by_name = "CREATE INDEX by_name ON t (name)";
INSTANTIATE_TEST_SUITE_P(Of, StatementPowerCuts,
                         testing::Values(Statement{"UPDATE", "", update, count_not_updated, 0},
                                         Statement{"UPDATE_with_2_MB_of_log", "", update, count_not_updated, 2 << 20},
                                         Statement{"DELETE_with_a_text_index", by_name, "DELETE FROM t WHERE k >= 0",
                                                   "SELECT COUNT(*) FROM t", 0},
                                         Statement{"DELETE_with_a_text_index_and_2_MB_of_log", by_name,
                                                   "DELETE FROM t WHERE k >= 0", "SELECT COUNT(*) FROM t", 2 << 20}),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace lunar_test
