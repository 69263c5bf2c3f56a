// A connection to a PostgreSQL server. Every wait has a time limit: libpq is used in non-blocking mode.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/server/lost_server.h"
#include "settings.h"

namespace edgejoule::driver {

struct PostgresResultFree {
  void operator()(PGresult* result) const { PQclear(result); }
};
using PostgresResult = std::unique_ptr<PGresult, PostgresResultFree>;

[[nodiscard]] inline std::string_view text_at(const PGresult* result, int row, int column) {
  return {PQgetvalue(result, row, column), static_cast<std::size_t>(PQgetlength(result, row, column))};
}

// The parameters of a statement. Views must be valid until it has run.
class PostgresParameters {
 public:
  void clear();
  void add_bytes(std::string_view bytes);  // for text and bytea columns
  void add_text(const std::string& text);  // for other types, in PostgreSQL's text form; copied

  [[nodiscard]] int count() const { return static_cast<int>(lengths_.size()); }
  [[nodiscard]] const char* const* values() const { return values_.data(); }
  [[nodiscard]] const int* lengths() const { return lengths_.data(); }
  [[nodiscard]] const int* formats() const { return formats_.data(); }

 private:
  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
  std::vector<std::unique_ptr<std::string>> texts_;
};

class PostgresConnection {
 public:
  explicit PostgresConnection(const PostgresSettings& settings) : settings_(settings) {}

  // Connects or reconnects. Prepared statements are lost. Throws DatabaseError.
  void connect(std::uint64_t time_limit_ms = ~std::uint64_t{0});

  // Runs one statement without parameters; results are text. These functions throw LostServer. An error of the
  // statement is in the result.
  [[nodiscard]] PostgresResult ask(const std::string& sql);
  [[nodiscard]] PostgresResult prepare(const std::string& name, const std::string& sql);
  // Runs a prepared statement; results are binary.
  [[nodiscard]] PostgresResult run(const std::string& name, const PostgresParameters& parameters);
  // Runs COPY ... FROM STDIN with these bytes.
  [[nodiscard]] PostgresResult copy_in(const std::string& sql, std::string_view bytes);

  [[nodiscard]] int backend_pid() const { return PQbackendPID(connection_.get()); }
  [[nodiscard]] int server_version() const { return PQserverVersion(connection_.get()); }
  [[nodiscard]] std::string server_version_name() const;

 private:
  using Deadline = std::chrono::steady_clock::time_point;
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };

  void sent(int accepted);
  [[nodiscard]] Deadline operation_deadline() const;
  [[nodiscard]] bool wait(short events, Deadline deadline) const;
  void flush(Deadline deadline);
  [[nodiscard]] PostgresResult next(Deadline deadline);
  [[nodiscard]] PostgresResult last(Deadline deadline);
  [[noreturn]] void lose(bool timed_out);

  const PostgresSettings& settings_;
  std::unique_ptr<PGconn, Finish> connection_;
};

[[nodiscard]] bool is_ok(const PGresult* result);

// The server's message in one line.
[[nodiscard]] std::string message_of(const PGresult* result);

}  // namespace edgejoule::driver
