// A connection to an SQLite file, and its prepared statements. Used by one thread at a time.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>
#include <string_view>

#include "contract/adapter.h"
#include "settings.h"

namespace edgejoule::driver {

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

struct CloseConnection {
  void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
};

class SqliteConnection {
 public:
  // Opens the file with all per-connection settings. Throws DatabaseError.
  SqliteConnection(const SqliteSettings& settings, bool create);

  [[nodiscard]] sqlite3* handle() const { return handle_.get(); }

  // Throws DatabaseError.
  [[nodiscard]] Statement prepare(const std::string& sql) const;
  void execute(const std::string& sql) const;

  // The first column of the first row as text, empty if there is none. Throws DatabaseError.
  [[nodiscard]] std::string value_of(const std::string& sql) const;

  // A message with the result code, the extended code, SQLite's message, the operating system's if it failed, and the
  // file.
  [[nodiscard]] std::string error(int code) const;

 private:
  std::string file_;
  std::unique_ptr<sqlite3, CloseConnection> handle_;
};

// Quotes a name for SQL.
[[nodiscard]] std::string sql_name(std::string_view name);

}  // namespace edgejoule::driver
