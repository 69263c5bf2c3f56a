#include <lmdb.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
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
    if (mkdir(path.c_str(), 0700) != 0) throw BenchError(path + ": " + std::strerror(errno));
    must(mdb_env_create(&environment_), "create");
    must(mdb_env_set_mapsize(environment_, std::size_t{2} << 30), "map size");
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
    MDB_txn* transaction = begin(0);
    must(mdb_dbi_open(transaction, nullptr, MDB_INTEGERKEY, &rows_), "open database");
    must(mdb_txn_commit(transaction), "commit");
  }

  void load(std::int64_t from, std::int64_t to, const std::function<const char*()>& row) override {
    for (auto key = from; key < to;) {
      MDB_txn* transaction = begin(0);
      for (const auto end = std::min(to, key + 1000); key < end; ++key) put(transaction, key, row(), MDB_APPEND);
      must(mdb_txn_commit(transaction), "commit");
    }
  }

  void insert(std::int64_t key, const char* row) override {
    MDB_txn* transaction = begin(0);
    put(transaction, key, row, MDB_APPEND);
    must(mdb_txn_commit(transaction), "commit");
  }

  void update(std::int64_t key, int column, const char* bytes) override {
    MDB_txn* transaction = begin(0);
    get(transaction, key);
    std::memcpy(row_.data() + static_cast<std::ptrdiff_t>(column) * shape_.column_bytes, bytes,
                static_cast<std::size_t>(shape_.column_bytes));
    put(transaction, key, row_.data(), 0);
    must(mdb_txn_commit(transaction), "commit");
  }

  void read(std::int64_t key) override {
    MDB_txn* transaction = begin(MDB_RDONLY);
    get(transaction, key);
    mdb_txn_abort(transaction);
  }

  void close() override {
    mdb_env_close(environment_);
    environment_ = nullptr;
  }

 private:
  MDB_txn* begin(unsigned flags) {
    MDB_txn* transaction = nullptr;
    must(mdb_txn_begin(environment_, nullptr, flags, &transaction), "begin");
    return transaction;
  }
  void put(MDB_txn* transaction, std::int64_t key, const char* row, unsigned flags) {
    MDB_val k{sizeof key, &key}, v{shape_.row_bytes(), const_cast<char*>(row)};
    must(mdb_put(transaction, rows_, &k, &v, flags), "put");
  }
  void get(MDB_txn* transaction, std::int64_t key) {
    MDB_val k{sizeof key, &key}, v{};
    must(mdb_get(transaction, rows_, &k, &v), "get");
    std::memcpy(row_.data(), v.mv_data, std::min(row_.size(), v.mv_size));
  }

  MDB_env* environment_ = nullptr;
  MDB_dbi rows_ = 0;
  Shape shape_;
  std::vector<char> row_;
};

}  // namespace

std::unique_ptr<Engine> open_lmdb(const EngineOptions& options) { return std::make_unique<Lmdb>(options); }

}  // namespace lunar_bench
