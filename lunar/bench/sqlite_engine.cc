#include <sqlite3.h>

#include <string>
#include <vector>

#include "engine.h"
#include "sqlite_direct_vfs.h"

namespace lunar_bench {
namespace {

class Sqlite : public Engine {
 public:
  explicit Sqlite(const EngineOptions& options) {
    const std::string path = options.path + "/rows.db";
    must(sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                         options.direct ? sqlite_direct_vfs() : nullptr));
    run("PRAGMA page_size=4096");
    run("PRAGMA cache_size=-" + std::to_string(options.buffer_bytes / 1024));
    run("PRAGMA journal_mode=" + options.journal);
    run("PRAGMA synchronous=" + options.synchronous);
  }

  ~Sqlite() override {
    finalize();
    sqlite3_close(db_);
  }
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;

  void create(const Shape& shape) override {
    std::string columns;
    for (int i = 1; i <= shape.columns; ++i) columns += ", c" + std::to_string(i) + " TEXT";
    run("CREATE TABLE rows(key INTEGER PRIMARY KEY" + columns + ")");
    reopen(shape);
  }

  void reopen(const Shape& shape) override {
    shape_ = shape;
    std::string marks;
    for (int i = 1; i <= shape.columns; ++i) marks += ", ?";
    insert_ = prepare("INSERT INTO rows VALUES(?" + marks + ")");
    read_ = prepare("SELECT * FROM rows WHERE key = ?");
    for (int i = 1; i <= shape.columns; ++i)
      updates_.push_back(prepare("UPDATE rows SET c" + std::to_string(i) + " = ? WHERE key = ?"));
  }

  void load(std::int64_t from, std::int64_t to, const std::function<const char*()>& row) override {
    for (auto key = from; key < to;) {
      run("BEGIN");
      for (const auto end = std::min(to, key + 1000); key < end; ++key) insert(key, row());
      run("COMMIT");
    }
    sqlite3_wal_checkpoint_v2(db_, nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  }

  void insert(std::int64_t key, const char* row) override {
    sqlite3_bind_int64(insert_, 1, key);
    for (int i = 0; i < shape_.columns; ++i)
      sqlite3_bind_text(insert_, i + 2, row + static_cast<std::ptrdiff_t>(i) * shape_.column_bytes, shape_.column_bytes,
                        SQLITE_STATIC);
    finish(insert_, SQLITE_DONE);
  }

  void update(std::int64_t key, int column, const char* bytes) override {
    sqlite3_stmt* statement = updates_.at(static_cast<std::size_t>(column));
    sqlite3_bind_text(statement, 1, bytes, shape_.column_bytes, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, key);
    finish(statement, SQLITE_DONE);
  }

  void read(std::int64_t key) override {
    sqlite3_bind_int64(read_, 1, key);
    if (sqlite3_step(read_) != SQLITE_ROW) fail();
    for (int i = 1; i <= shape_.columns; ++i) {
      if (sqlite3_column_text(read_, i) == nullptr || sqlite3_column_bytes(read_, i) != shape_.column_bytes) fail();
    }
    sqlite3_reset(read_);
  }

  void close() override {
    finalize();
    must(sqlite3_close(db_));
    db_ = nullptr;
  }

 private:
  [[noreturn]] void fail() { throw BenchError(std::string("sqlite: ") + sqlite3_errmsg(db_)); }
  void must(int code) {
    if (code != SQLITE_OK) fail();
  }
  void run(const std::string& sql) { must(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr)); }
  sqlite3_stmt* prepare(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    must(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr));
    return statement;
  }
  void finish(sqlite3_stmt* statement, int expected) {
    if (sqlite3_step(statement) != expected) fail();
    sqlite3_reset(statement);
  }
  void finalize() {
    sqlite3_finalize(insert_), sqlite3_finalize(read_);
    for (auto* statement : updates_) sqlite3_finalize(statement);
    insert_ = read_ = nullptr, updates_.clear();
  }

  sqlite3* db_ = nullptr;
  Shape shape_;
  sqlite3_stmt *insert_ = nullptr, *read_ = nullptr;
  std::vector<sqlite3_stmt*> updates_;
};

}  // namespace

std::unique_ptr<Engine> open_sqlite(const EngineOptions& options) { return std::make_unique<Sqlite>(options); }

}  // namespace lunar_bench
