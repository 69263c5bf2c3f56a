#include <lmdb.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <vector>

#include "engine.h"

namespace lunar_bench {
namespace {

void must(int error, const char* what) {
  if (error != 0) throw BenchError(std::string("lmdb: ") + what + ": " + mdb_strerror(error));
}

class Lmdb : public Engine {
 public:
  explicit Lmdb(const EngineOptions& options) {
    const std::string path = options.path + "/lmdb";
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) throw BenchError(path + ": " + std::strerror(errno));
    must(mdb_env_create(&environment_), "create");
    must(mdb_env_set_mapsize(environment_, std::size_t{64} << 30), "map size");
    must(mdb_env_set_maxdbs(environment_, 2), "databases");
    must(mdb_env_open(environment_, path.c_str(), 0, 0600), "open");
  }
  ~Lmdb() override {
    if (environment_ != nullptr) mdb_env_close(environment_);
  }
  Lmdb(const Lmdb&) = delete;
  Lmdb& operator=(const Lmdb&) = delete;

  void create(const Shape& shape) override {
    shape_ = shape;
    row_.resize(shape.row_bytes());
    rows_ = open(shape.integer ? "rows" : nullptr, MDB_CREATE | MDB_INTEGERKEY);
  }
  void reopen(const Shape& shape) override {
    create(shape);
    last_ = std::numeric_limits<std::int64_t>::max();
  }

  void load(std::int64_t from, std::int64_t to, const std::function<const char*()>& row) override {
    for (auto key = from; key < to;) {
      MDB_txn* transaction = begin(0);
      for (const auto end = std::min(to, key + 1000); key < end; ++key)
        put(transaction, key * shape_.key_step, row(), MDB_APPEND);
      must(mdb_txn_commit(transaction), "commit");
    }
  }

  void insert(std::int64_t key, const char* row) override {
    MDB_txn* transaction = begin(0);
    put(transaction, key, row, key > last_ ? MDB_APPEND : 0);
    must(mdb_txn_commit(transaction), "commit");
  }

  void remove(std::int64_t key) override {
    MDB_txn* transaction = begin(0);
    MDB_val k{sizeof key, &key};
    must(mdb_del(transaction, rows_, &k, nullptr), "del");
    must(mdb_txn_commit(transaction), "commit");
  }

  void remove_from(std::int64_t key) override {
    MDB_txn* transaction = begin(0);
    MDB_cursor* cursor = nullptr;
    must(mdb_cursor_open(transaction, rows_, &cursor), "cursor");
    MDB_val k{sizeof key, &key}, v{};
    for (int error = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE); error != MDB_NOTFOUND;
         error = mdb_cursor_get(cursor, &k, &v, MDB_NEXT)) {
      must(error, "get");
      must(mdb_cursor_del(cursor, 0), "del");
    }
    mdb_cursor_close(cursor);
    must(mdb_txn_commit(transaction), "commit");
  }

  std::int64_t scan() override {
    std::int64_t rows = 0;
    MDB_txn* transaction = begin(MDB_RDONLY);
    each_row(transaction, [&](MDB_val, MDB_val v) {
      std::memcpy(row_.data(), v.mv_data, std::min(row_.size(), v.mv_size));
      ++rows;
    });
    mdb_txn_abort(transaction);
    return rows;
  }

  bool has_check() const override { return false; }
  void create_index() override {
    index_ = open("by integer", MDB_CREATE | MDB_DUPSORT | MDB_INTEGERKEY | MDB_DUPFIXED | MDB_INTEGERDUP);
    MDB_txn* transaction = begin(0);
    each_row(transaction, [&](MDB_val key, MDB_val row) {
      MDB_val integer{sizeof(std::int64_t), row.mv_data};
      must(mdb_put(transaction, index_, &integer, &key, 0), "put");
    });
    must(mdb_txn_commit(transaction), "commit");
  }

  void drop_index() override {
    MDB_txn* transaction = begin(0);
    must(mdb_drop(transaction, index_, 1), "drop");
    must(mdb_txn_commit(transaction), "commit");
  }

  void update(std::int64_t key, int column, const char* bytes) override {
    MDB_txn* transaction = begin(0);
    get(transaction, key);
    std::memcpy(row_.data() + shape_.begin(column), bytes, static_cast<std::size_t>(shape_.column_bytes));
    put(transaction, key, row_.data(), 0);
    must(mdb_txn_commit(transaction), "commit");
  }

  void read(std::int64_t key) override {
    MDB_txn* transaction = begin(MDB_RDONLY);
    get(transaction, key);
    mdb_txn_abort(transaction);
  }

  void resize(int column_bytes) override {
    shape_.column_bytes = column_bytes;
    row_.resize(shape_.row_bytes());
  }

  Room room() override {
    MDB_envinfo info{};
    MDB_stat stat{};
    must(mdb_env_info(environment_, &info), "info");
    must(mdb_env_stat(environment_, &stat), "stat");
    return {(info.me_last_pgno + 1) * stat.ms_psize};
  }

  void cut() override { close(); }  // it has no log: at rest after every commit
  void close() override {
    mdb_env_close(environment_);
    environment_ = nullptr;
  }

 private:
  MDB_dbi open(const char* name, unsigned flags) {
    MDB_txn* transaction = begin(0);
    MDB_dbi database = 0;
    must(mdb_dbi_open(transaction, name, flags, &database), "open database");
    must(mdb_txn_commit(transaction), "commit");
    return database;
  }
  template <class Row>
  void each_row(MDB_txn* transaction, Row row) {
    MDB_cursor* cursor = nullptr;
    must(mdb_cursor_open(transaction, rows_, &cursor), "cursor");
    MDB_val k{}, v{};
    int error = 0;
    while ((error = mdb_cursor_get(cursor, &k, &v, MDB_NEXT)) == 0) row(k, v);
    if (error != MDB_NOTFOUND) must(error, "get");
    mdb_cursor_close(cursor);
  }
  MDB_txn* begin(unsigned flags) {
    MDB_txn* transaction = nullptr;
    must(mdb_txn_begin(environment_, nullptr, flags, &transaction), "begin");
    return transaction;
  }
  void put(MDB_txn* transaction, std::int64_t key, const char* row, unsigned flags) {
    MDB_val k{sizeof key, &key}, v{shape_.row_bytes(), const_cast<char*>(row)};
    must(mdb_put(transaction, rows_, &k, &v, flags), "put");
    last_ = std::max(last_, key);
  }
  void get(MDB_txn* transaction, std::int64_t key) {
    MDB_val k{sizeof key, &key}, v{};
    must(mdb_get(transaction, rows_, &k, &v), "get");
    std::memcpy(row_.data(), v.mv_data, std::min(row_.size(), v.mv_size));
  }

  MDB_env* environment_ = nullptr;
  MDB_dbi rows_ = 0, index_ = 0;
  std::int64_t last_ = std::numeric_limits<std::int64_t>::min();  // greatest key that was put
  Shape shape_;
  std::vector<char> row_;
};

}  // namespace

std::unique_ptr<Engine> open_lmdb(const EngineOptions& options) { return std::make_unique<Lmdb>(options); }

}  // namespace lunar_bench
