// SQLite without the page cache, as in the bench.
#include "../bench/sqlite_direct_vfs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace {

constexpr int rows = 2000, row_bytes = 500;

class Database {
 public:
  Database(const std::string& path, const char* vfs) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &db_, flags, vfs), SQLITE_OK) << sqlite3_errmsg(db_);
  }
  ~Database() { EXPECT_EQ(sqlite3_close(db_), SQLITE_OK); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Returns the last value; a failed statement fails the test.
  std::string operator()(const std::string& sql) {
    std::string value;
    const auto keep = [](void* to, int, char** values, char**) {
      *static_cast<std::string*>(to) = values[0] != nullptr ? values[0] : "NULL";
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), keep, &value, nullptr), SQLITE_OK) << sql << ": " << sqlite3_errmsg(db_);
    return value;
  }

 private:
  sqlite3* db_ = nullptr;
};

class SqliteDirectVfs : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    const int descriptor = open((folder + "/probe").c_str(), O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
    if (descriptor < 0) GTEST_SKIP() << folder << ": no O_DIRECT here";
    close(descriptor);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void make(const char* vfs) const {
    Database db(path, vfs);
    db(std::string("PRAGMA journal_mode=") + GetParam());
    db("CREATE TABLE t(k INTEGER PRIMARY KEY, v BLOB)");
    db("WITH n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < " + std::to_string(rows) +
       ") INSERT INTO t SELECT k, randomblob(" + std::to_string(row_bytes) + ") FROM n");
    db("UPDATE t SET v = randomblob(length(v)) WHERE k % 3 = 0");
    db("DELETE FROM t WHERE k % 5 = 0");
    db("VACUUM");
  }
  static std::string content(Database& db) { return db("SELECT group_concat(k || hex(v)) FROM t"); }
  // Returns the number of the database's pages in the page cache.
  long pages_cached() const {
    const auto bytes = std::filesystem::file_size(path), page = static_cast<std::uintmax_t>(sysconf(_SC_PAGESIZE));
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    std::vector<unsigned char> there((bytes + page - 1) / page);
    EXPECT_EQ(mincore(mapped, bytes, there.data()), 0);
    munmap(mapped, bytes);
    close(descriptor);
    return std::count_if(there.begin(), there.end(), [](unsigned char flags) { return (flags & 1) != 0; });
  }
  void drop_from_page_cache() const {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(fsync(descriptor), 0);
    EXPECT_EQ(posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED), 0);
    close(descriptor);
  }

  const std::string folder = "sqlite-direct-" + std::to_string(getpid());  // below build, not on a tmpfs
  const std::string path = folder + "/rows.db";
};

TEST_P(SqliteDirectVfs, what_it_writes_the_default_one_reads_and_the_reverse) {
  const char* const both[] = {lunar_bench::sqlite_direct_vfs(), nullptr};
  for (const char* writer : both) {
    std::string first;
    make(writer);
    for (const char* reader : both) {
      Database db(path, reader);
      EXPECT_EQ(db("PRAGMA integrity_check"), "ok");
      const auto read = content(db);
      EXPECT_GT(read.size(), std::size_t{rows} * row_bytes);
      EXPECT_TRUE(first.empty() || read == first);
      first = read;
    }
    std::filesystem::remove(path);
  }
}

TEST_P(SqliteDirectVfs, a_database_that_is_read_is_in_the_page_cache_with_the_default_one_only) {
  make(nullptr);
  for (const bool direct : {true, false}) {
    drop_from_page_cache();
    if (pages_cached() != 0) GTEST_SKIP() << folder << ": the page cache keeps pages that it should drop";
    Database db(path, direct ? lunar_bench::sqlite_direct_vfs() : nullptr);
    (void)content(db);
    if (direct)
      EXPECT_EQ(pages_cached(), 0);
    else
      EXPECT_GT(pages_cached(), rows * row_bytes / 2 / sysconf(_SC_PAGESIZE));
  }
}

INSTANTIATE_TEST_SUITE_P(Journals, SqliteDirectVfs, testing::Values("wal", "truncate"),
                         [](const auto& journal) { return std::string(journal.param); });

}  // namespace
