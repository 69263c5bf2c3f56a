#include "lmdb_session.h"

#include <fmt/format.h>

#include "failure.h"

namespace edgejoule::driver {
namespace {

// LMDB uses one non-const pointer type for reading and writing.
MDB_val val(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }
std::string_view view(const MDB_val& value) { return {static_cast<const char*>(value.mv_data), value.mv_size}; }

// The snapshot of one read: renewed in the constructor, released in the destructor.
class Snapshot {
 public:
  explicit Snapshot(MDB_txn* transaction) : transaction_(transaction), code_(mdb_txn_renew(transaction)) {}
  ~Snapshot() {
    if (code_ == MDB_SUCCESS) mdb_txn_reset(transaction_);
  }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  [[nodiscard]] int code() const { return code_; }

 private:
  MDB_txn* const transaction_;
  const int code_;
};

}  // namespace

LmdbSession::LmdbSession(MDB_env& environment, MDB_dbi table, KeyLocks& locks)
    : KeyValueSession(locks), environment_(environment), table_(table) {
  MDB_txn* transaction = nullptr;
  int code = mdb_txn_begin(&environment, nullptr, MDB_RDONLY, &transaction);
  reader_.reset(transaction);
  MDB_cursor* cursor = nullptr;
  if (code == MDB_SUCCESS) code = mdb_cursor_open(transaction, table, &cursor);
  cursor_.reset(cursor);
  if (code != MDB_SUCCESS) {
    throw DatabaseError(fmt::format("LMDB: no further session: {}", lmdb_failure(&environment, code)));
  }
  mdb_txn_reset(transaction);
}

Status LmdbSession::outcome(int code, std::string_view operation, std::string_view key) {
  if (code == MDB_SUCCESS) return Status::ok;
  if (code == MDB_NOTFOUND) return Status::not_found;
  set_error(fmt::format("LMDB: {} of key {}: {}", operation, key, lmdb_failure(&environment_, code)));
  return Status::error;
}

Status LmdbSession::fetch(std::string_view key, std::string_view& value) {
  const Snapshot snapshot(reader_.get());
  MDB_val name = val(key);
  MDB_val found{};
  const int code = snapshot.code() == MDB_SUCCESS ? mdb_get(reader_.get(), table_, &name, &found) : snapshot.code();
  if (code == MDB_SUCCESS) value_ = view(found);
  value = value_;
  return outcome(code, "read", key);
}

int LmdbSession::copy_from(std::string_view start, std::uint64_t count, ScanBuffer& entries) {
  int code = mdb_cursor_renew(reader_.get(), cursor_.get());
  MDB_val key = val(start);
  MDB_val value{};
  MDB_cursor_op step = MDB_SET_RANGE;
  for (std::uint64_t found = 0; code == MDB_SUCCESS && found < count; ++found, step = MDB_NEXT) {
    code = mdb_cursor_get(cursor_.get(), &key, &value, step);
    if (code != MDB_SUCCESS) break;
    entries.append(view(key));
    entries.append(view(value));
  }
  return code == MDB_NOTFOUND ? MDB_SUCCESS : code;  // the end of the table
}

Status LmdbSession::collect(std::string_view start, std::uint64_t count, ScanBuffer& entries) {
  const Snapshot snapshot(reader_.get());
  const int code = snapshot.code() == MDB_SUCCESS ? copy_from(start, count, entries) : snapshot.code();
  return outcome(code, "scan", start);
}

// Runs `changes`, which returns LMDB's code, in a write transaction. Rolls back entirely on failure.
template <typename Changes>
Status LmdbSession::change(std::string_view operation, std::string_view key, Changes changes) {
  MDB_txn* begun = nullptr;
  int code = mdb_txn_begin(&environment_, nullptr, 0, &begun);
  LmdbTransaction transaction(begun);
  if (code == MDB_SUCCESS) code = changes(begun);
  if (code == MDB_SUCCESS) code = mdb_txn_commit(transaction.release());
  return outcome(code, operation, key);
}

Status LmdbSession::put(std::string_view key, std::string_view value) {
  return change("write", key, [this, key, value](MDB_txn* transaction) {
    MDB_val name = val(key);
    MDB_val bytes = val(value);
    return mdb_put(transaction, table_, &name, &bytes, 0);
  });
}

Status LmdbSession::erase(std::string_view key) {
  return change("remove", key, [this, key](MDB_txn* transaction) {
    MDB_val name = val(key);
    return mdb_del(transaction, table_, &name, nullptr);
  });
}

void LmdbSession::add_to_batch(std::string_view key, std::string_view value) {
  batch_.append(key);
  batch_.append(value);
}

Status LmdbSession::write_batch(std::string_view first_key) {
  return change("batch write from", first_key, [this](MDB_txn* transaction) {
    int code = MDB_SUCCESS;
    for (std::size_t part = 0; code == MDB_SUCCESS && part < batch_.size(); part += 2) {
      MDB_val name = val(batch_[part]);
      MDB_val bytes = val(batch_[part + 1]);
      code = mdb_put(transaction, table_, &name, &bytes, 0);
    }
    return code;
  });
}

}  // namespace edgejoule::driver
