// A client thread's connection with its prepared statements.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "adapters/scan_buffer.h"
#include "checkpoints.h"
#include "connection.h"

namespace edgejoule::driver {

// Counters of closed connections, so that stats() covers the whole run.
struct SqliteConnectionCounters {
  std::atomic<std::uint64_t> cache_hits = 0;
  std::atomic<std::uint64_t> cache_misses = 0;
  std::atomic<std::uint64_t> cache_writes = 0;
  std::atomic<std::uint64_t> cache_spills = 0;
  std::atomic<std::uint64_t> total_changes = 0;  // rows inserted, updated, deleted

  void add(sqlite3* connection);
};

class SqliteSession final : public Session {
 public:
  // Throws DatabaseError. Checkpoints and counters must outlive the session.
  SqliteSession(const SqliteSettings& settings, std::shared_ptr<SqliteConnection> connection,
                SqliteCheckpoints& checkpoints, SqliteConnectionCounters& counters);
  ~SqliteSession() override { counters_.add(connection_->handle()); }

  Status read(std::string_view key, FieldNames names, Row& row) override;
  Status scan(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) override;
  Status update(std::string_view key, Fields fields) override;
  Status insert(std::string_view key, Fields fields) override;
  Status upsert(std::string_view key, Fields fields) override;
  Status insert_batch(std::span<const Record> records) override { return write_batch(records, &SqliteSession::insert); }
  Status upsert_batch(std::span<const Record> records) override { return write_batch(records, &SqliteSession::upsert); }
  Status remove(std::string_view key) override;
  [[nodiscard]] std::string error() const override { return error_; }

 private:
  // A statement and its fields, in its order.
  struct Prepared {
    std::vector<std::string> names;
    Statement statement;
  };
  // One per set of fields in the workload. A deque, so that references stay valid.
  using Cache = std::deque<Prepared>;

  [[nodiscard]] sqlite3_stmt* read_statement(FieldNames names);
  [[nodiscard]] sqlite3_stmt* scan_statement(FieldNames names);
  [[nodiscard]] sqlite3_stmt* update_statement(Fields fields);
  [[nodiscard]] sqlite3_stmt* insert_statement(Cache& cache, std::string_view verb, Fields fields);
  [[nodiscard]] std::string columns(FieldNames names) const;
  [[nodiscard]] std::string_view name_of(FieldNames names, std::size_t index) const;
  [[nodiscard]] std::size_t count_of(FieldNames names) const;

  [[nodiscard]] bool bind_key(sqlite3_stmt* statement, int index, std::string_view key);
  [[nodiscard]] bool bind_row(sqlite3_stmt* statement, Fields fields, std::string_view key);
  [[nodiscard]] bool bound(int code, std::string_view key);
  bool copy_key(sqlite3_stmt* statement);
  bool copy_columns(sqlite3_stmt* statement, int first, int last);
  Status write_batch(std::span<const Record> records, Status (SqliteSession::*one)(std::string_view, Fields));
  Status write(sqlite3_stmt* statement, std::string_view operation, std::string_view key, Status when_unchanged);
  Status control(sqlite3_stmt* statement, std::string_view operation);
  Status failed(int code, std::string_view operation, std::string_view key);
  Status missing_field(std::string_view key);

  const SqliteSettings& settings_;
  SqliteConnectionCounters& counters_;
  std::shared_ptr<SqliteConnection> connection_;
  Cache reads_;
  Cache scans_;
  Cache updates_;
  Cache inserts_;
  Cache upserts_;
  Statement remove_;
  Statement begin_;
  Statement commit_;
  Statement rollback_;
  ScanBuffer values_;
  std::string error_;
};

}  // namespace edgejoule::driver
