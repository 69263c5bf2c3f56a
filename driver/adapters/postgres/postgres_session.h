// A client thread's connection to PostgreSQL with its prepared statements.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "adapters/server/server_session.h"
#include "connection.h"

namespace edgejoule::driver {

class PostgresSession final : public ServerSession {
 public:
  // Throws DatabaseError. Settings and counters must outlive the session, which calls `ended` when it ends.
  PostgresSession(const PostgresSettings& settings, ServerCounters& counters,
                  std::function<void(PostgresSession*)> ended);
  ~PostgresSession() override;

  Status read(std::string_view key, FieldNames names, Row& row) override;
  Status scan(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) override;
  Status update(std::string_view key, Fields fields) override;
  Status insert(std::string_view key, Fields fields) override;
  Status upsert(std::string_view key, Fields fields) override;
  Status insert_batch(std::span<const Record> records) override;
  Status upsert_batch(std::span<const Record> records) override;
  Status remove(std::string_view key) override;

  // Makes the server add this session's work to its statistics now instead of seconds later (PostgreSQL 15). Leaves an
  // error to the next operation.
  void tell_statistics();

 private:
  // Statements by kind and columns. A new connection has to prepare its own.
  struct Prepared {
    char kind;
    std::vector<std::string> names;
    std::string statement;
  };

  void connect(std::uint64_t time_limit_ms) override;
  template <typename Named, typename Sql>
  const std::string* statement(char kind, std::span<const Named> named, std::string_view key, Sql sql);

  void bind_key(std::string_view key);
  [[nodiscard]] std::string columns(FieldNames names) const;
  [[nodiscard]] std::string_view name_of(FieldNames names, std::size_t index) const;
  [[nodiscard]] std::size_t count_of(FieldNames names) const;
  [[nodiscard]] std::string insert_sql(Fields fields, bool replaces) const;
  Status take_fields(const PGresult* result, int row, int first, std::string_view key, FieldNames names,
                     std::vector<Field>& fields);
  Status write(char kind, std::string_view operation, std::string_view key, Fields fields);
  Status copy(std::span<const Record> records);
  Status transact(char kind, std::span<const Record> records);
  Status control(const char* sql);
  Status failed(std::string_view operation, std::string_view key, const PGresult* result);

  const PostgresSettings& settings_;
  std::function<void(PostgresSession*)> ended_;
  PostgresConnection connection_;
  std::vector<Prepared> prepared_;
  PostgresParameters parameters_;
  PostgresResult result_;  // the last rows point into it
  std::string copied_;
};

}  // namespace edgejoule::driver
