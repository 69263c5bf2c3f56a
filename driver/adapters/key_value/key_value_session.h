// A session on a store that knows only keys and values: rows by the row codec, updates by read-modify-write.
//
// An adapter of such a store implements the seven private calls. Every update reads the row first, also when all fields
// are written: an update must not create a record that does not exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "adapters/scan_buffer.h"
#include "contract/adapter.h"
#include "key_locks.h"

namespace edgejoule::driver {

class KeyValueSession : public Session {
 public:
  // The locks are shared by all sessions of a database and outlive them.
  explicit KeyValueSession(KeyLocks& locks) : locks_(locks) {}

  Status read(std::string_view key, FieldNames names, Row& row) final;
  Status scan(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) final;
  Status update(std::string_view key, Fields fields) final;
  Status insert(std::string_view key, Fields fields) final;
  Status upsert(std::string_view key, Fields fields) final { return insert(key, fields); }
  // Takes no lock: a batch must not hold keys that other sessions update at the same time.
  Status insert_batch(std::span<const Record> records) final;
  Status upsert_batch(std::span<const Record> records) final { return insert_batch(records); }
  Status remove(std::string_view key) final;
  [[nodiscard]] std::string error() const final { return error_; }

 protected:
  void set_error(std::string error) { error_ = std::move(error); }

  // Appends at most count records from where the cursor stands: an iterator of LevelDB or RocksDB, which are alike.
  template <typename Cursor>
  static void copy(Cursor& cursor, std::uint64_t count, ScanBuffer& entries) {
    for (std::uint64_t copied = 0; copied < count && cursor.Valid(); ++copied, cursor.Next()) {
      for (const auto& part : {cursor.key(), cursor.value()}) entries.append({part.data(), part.size()});
    }
  }

 private:
  // All of these set the error when they return neither ok nor not_found.

  // The view lives until the next call of the session.
  virtual Status fetch(std::string_view key, std::string_view& value) = 0;
  virtual Status put(std::string_view key, std::string_view value) = 0;
  virtual Status erase(std::string_view key) = 0;
  // Appends key, value, key, value, ... of at most count records from the first key >= start.
  virtual Status collect(std::string_view start, std::uint64_t count, ScanBuffer& entries) = 0;
  virtual void clear_batch() = 0;
  virtual void add_to_batch(std::string_view key, std::string_view value) = 0;
  virtual Status write_batch(std::string_view first_key) = 0;

  Status decode(std::string_view key, std::string_view value, FieldNames names, std::vector<Field>& fields);

  KeyLocks& locks_;
  std::string error_;
  std::string encoded_;
  std::vector<Field> old_fields_;
  ScanBuffer entries_;
};

}  // namespace edgejoule::driver
