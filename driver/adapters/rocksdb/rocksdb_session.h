// A client thread's session on an open RocksDB.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <string>

#include "adapters/key_value/key_value_session.h"

namespace edgejoule::driver {

class RocksDbSession final : public KeyValueSession {
 public:
  RocksDbSession(rocksdb::DB& db, rocksdb::ColumnFamilyHandle& rows, KeyLocks& locks, const rocksdb::ReadOptions& read,
                 const rocksdb::WriteOptions& write)
      : KeyValueSession(locks), db_(db), rows_(rows), read_(read), write_(write) {}

 private:
  Status fetch(std::string_view key, std::string_view& value) override;
  Status put(std::string_view key, std::string_view value) override;
  Status erase(std::string_view key) override;
  Status collect(std::string_view start, std::uint64_t count, ScanBuffer& entries) override;
  void clear_batch() override { batch_.Clear(); }
  void add_to_batch(std::string_view key, std::string_view value) override;
  Status write_batch(std::string_view first_key) override;

  Status outcome(const rocksdb::Status& status, std::string_view operation, std::string_view key);

  rocksdb::DB& db_;
  rocksdb::ColumnFamilyHandle& rows_;
  const rocksdb::ReadOptions read_;
  const rocksdb::WriteOptions write_;
  rocksdb::WriteBatch batch_;
  rocksdb::Status batch_status_;
  rocksdb::PinnableSlice value_;
};

}  // namespace edgejoule::driver
