// A client thread's session on an open LMDB environment.
//
// A session has one read transaction, which occupies a slot in the reader table until the session ends. Each read takes
// a new snapshot and copies the values, because a snapshot that stays open prevents the reuse of all pages freed
// meanwhile.
#pragma once

#include <lmdb.h>

#include <memory>
#include <string>

#include "adapters/key_value/key_value_session.h"

namespace edgejoule::driver {

struct EndTransaction {
  void operator()(MDB_txn* transaction) const { mdb_txn_abort(transaction); }
};
using LmdbTransaction = std::unique_ptr<MDB_txn, EndTransaction>;

class LmdbSession final : public KeyValueSession {
 public:
  // Throws DatabaseError, for example if the reader table is full. The environment must be open with MDB_NOTLS.
  LmdbSession(MDB_env& environment, MDB_dbi table, KeyLocks& locks);

 private:
  struct CloseCursor {
    void operator()(MDB_cursor* cursor) const { mdb_cursor_close(cursor); }
  };

  Status fetch(std::string_view key, std::string_view& value) override;
  Status put(std::string_view key, std::string_view value) override;
  Status erase(std::string_view key) override;
  Status collect(std::string_view start, std::uint64_t count, ScanBuffer& entries) override;
  void clear_batch() override { batch_.clear(); }
  void add_to_batch(std::string_view key, std::string_view value) override;
  Status write_batch(std::string_view first_key) override;

  int copy_from(std::string_view start, std::uint64_t count, ScanBuffer& entries);
  template <typename Changes>
  Status change(std::string_view operation, std::string_view key, Changes changes);
  Status outcome(int code, std::string_view operation, std::string_view key);

  MDB_env& environment_;
  const MDB_dbi table_;
  LmdbTransaction reader_;  // reset between reads
  std::unique_ptr<MDB_cursor, CloseCursor> cursor_;
  std::string value_;
  ScanBuffer batch_;  // key, value, key, value, ...
};

}  // namespace edgejoule::driver
