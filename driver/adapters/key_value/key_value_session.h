// A session on a store that has only keys and values. It stores rows with the row codec.
//
// An adapter implements the seven private functions. update() reads the row first, changes it and writes it, and does
// not create a missing record. replace() writes the row without a read, and creates a missing record.
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
  // All sessions of a database share the locks, which must outlive them.
  explicit KeyValueSession(KeyLocks& locks) : locks_(locks) {}

  Status read(std::string_view key, FieldNames names, Row& row) final;
  Status scan(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) final;
  Status update(std::string_view key, Fields fields) final;
  Status replace(std::string_view key, Fields fields) final { return insert(key, fields); }
  Status insert(std::string_view key, Fields fields) final;
  Status upsert(std::string_view key, Fields fields) final { return insert(key, fields); }
  // Takes no lock: no other session may update keys of a batch at the same time.
  Status insert_batch(std::span<const Record> records) final;
  Status upsert_batch(std::span<const Record> records) final { return insert_batch(records); }
  Status remove(std::string_view key) final;
  [[nodiscard]] std::string error() const final { return error_; }

 protected:
  void set_error(std::string error) { error_ = std::move(error); }

  // Appends at most `count` records from the cursor's position. LevelDB's and RocksDB's iterators have the same
  // interface.
  template <typename Cursor>
  static void copy(Cursor& cursor, std::uint64_t count, ScanBuffer& entries) {
    for (std::uint64_t copied = 0; copied < count && cursor.Valid(); ++copied, cursor.Next()) {
      for (const auto& part : {cursor.key(), cursor.value()}) entries.append({part.data(), part.size()});
    }
  }

 private:
  // Each of these sets the error if it returns neither ok nor not_found.

  // The view is valid until the session's next call.
  virtual Status fetch(std::string_view key, std::string_view& value) = 0;
  virtual Status put(std::string_view key, std::string_view value) = 0;
  virtual Status erase(std::string_view key) = 0;
  // Appends key, value, key, value, ... of at most `count` records from the first key >= start.
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
