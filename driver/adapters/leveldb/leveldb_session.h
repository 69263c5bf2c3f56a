// A client thread's session on an open LevelDB.
#pragma once

#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <string>

#include "adapters/key_value/key_value_session.h"

namespace edgejoule::driver {

class LevelDbSession final : public KeyValueSession {
 public:
  LevelDbSession(leveldb::DB& db, KeyLocks& locks, const leveldb::ReadOptions& read, const leveldb::WriteOptions& write)
      : KeyValueSession(locks), db_(db), read_(read), write_(write) {}

 private:
  Status fetch(std::string_view key, std::string_view& value) override;
  Status put(std::string_view key, std::string_view value) override;
  Status erase(std::string_view key) override;
  Status collect(std::string_view start, std::uint64_t count, ScanBuffer& entries) override;
  void clear_batch() override { batch_.Clear(); }
  void add_to_batch(std::string_view key, std::string_view value) override;
  Status write_batch(std::string_view first_key) override;

  Status outcome(const leveldb::Status& status, std::string_view operation, std::string_view key);

  leveldb::DB& db_;
  const leveldb::ReadOptions read_;
  const leveldb::WriteOptions write_;
  leveldb::WriteBatch batch_;
  std::string value_;
};

}  // namespace edgejoule::driver
