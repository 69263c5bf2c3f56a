#include <sqlite3.h>

#include <memory>
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
    run("PRAGMA auto_vacuum=" + options.auto_vacuum);
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
    std::string columns = shape.integer ? ", number INTEGER" : "";
    for (int i = 1; i <= shape.columns; ++i) columns += ", c" + std::to_string(i) + " TEXT";
    run("CREATE TABLE rows(key INTEGER PRIMARY KEY" + columns + ")");
    reopen(shape);
  }

  void reopen(const Shape& shape) override {
    shape_ = shape;
    std::string marks;
    for (int i = 1; i < shape.number(shape.columns); ++i) marks += ", ?";
    insert_ = prepare("INSERT INTO rows VALUES(?" + marks + ")");
    read_ = prepare("SELECT * FROM rows WHERE key = ?");
    remove_ = prepare("DELETE FROM rows WHERE key = ?");
    for (int i = 1; i <= shape.columns; ++i)
      updates_.push_back(prepare("UPDATE rows SET c" + std::to_string(i) + " = ? WHERE key = ?"));
  }

  void load(std::int64_t from, std::int64_t to, const std::function<const char*()>& row) override {
    for (auto key = from; key < to;) {
      run("BEGIN");
      for (const auto end = std::min(to, key + 1000); key < end; ++key) insert(key * shape_.key_step, row());
      run("COMMIT");
    }
    sqlite3_wal_checkpoint_v2(db_, nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  }

  void insert(std::int64_t key, const char* row) override {
    sqlite3_bind_int64(insert_, 1, key);
    if (shape_.integer) sqlite3_bind_int64(insert_, 2, integer_of(row));
    for (int i = 0; i < shape_.columns; ++i)
      sqlite3_bind_text(insert_, shape_.number(i) + 1, row + shape_.begin(i), shape_.column_bytes, SQLITE_STATIC);
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
    take_row(read_);
    sqlite3_reset(read_);
  }

  void remove(std::int64_t key) override {
    sqlite3_bind_int64(remove_, 1, key);
    finish(remove_, SQLITE_DONE);
  }

  void remove_from(std::int64_t key) override { run("DELETE FROM rows WHERE key >= " + std::to_string(key)); }

  std::int64_t scan() override {
    std::int64_t rows = 0;
    const Statement all(prepare("SELECT * FROM rows"), sqlite3_finalize);
    int code = 0;
    for (; (code = sqlite3_step(all.get())) == SQLITE_ROW; ++rows) take_row(all.get());
    if (code != SQLITE_DONE) fail();
    return rows;
  }

  void check() override {
    if (text_of("PRAGMA integrity_check") != "ok") throw BenchError("sqlite: the database is damaged");
  }

  void create_index() override { run("CREATE INDEX by_number ON rows(number)"); }
  void drop_index() override { run("DROP INDEX by_number"); }
  void resize(int column_bytes) override { shape_.column_bytes = column_bytes; }
  Room room() override {
    return {std::stoull(text_of("PRAGMA page_count")) * std::stoull(text_of("PRAGMA page_size"))};
  }

  void cut() override {
    must(sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr));
    close();
  }

  void close() override {
    finalize();
    must(sqlite3_close(db_));
    db_ = nullptr;
  }

 private:
  using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

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
  std::string text_of(const std::string& sql) {
    const Statement statement(prepare(sql), sqlite3_finalize);
    if (sqlite3_step(statement.get()) != SQLITE_ROW) fail();
    return reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), 0));
  }
  void take_row(sqlite3_stmt* statement) {
    for (int i = 0; i < shape_.columns; ++i) {
      const int column = shape_.number(i);
      if (sqlite3_column_text(statement, column) == nullptr ||
          sqlite3_column_bytes(statement, column) != shape_.column_bytes)
        fail();
    }
  }
  void finish(sqlite3_stmt* statement, int expected) {
    if (sqlite3_step(statement) != expected) fail();
    sqlite3_reset(statement);
  }
  void finalize() {
    sqlite3_finalize(insert_), sqlite3_finalize(read_), sqlite3_finalize(remove_);
    for (auto* statement : updates_) sqlite3_finalize(statement);
    insert_ = read_ = remove_ = nullptr, updates_.clear();
  }

  sqlite3* db_ = nullptr;
  Shape shape_;
  sqlite3_stmt *insert_ = nullptr, *read_ = nullptr, *remove_ = nullptr;
  std::vector<sqlite3_stmt*> updates_;
};

}  // namespace

std::unique_ptr<Engine> open_sqlite(const EngineOptions& options) { return std::make_unique<Sqlite>(options); }

}  // namespace lunar_bench
