#include "connection.h"

#include <fmt/format.h>

#include <cstring>

namespace edgejoule::driver {
namespace {

int last_error_of(sqlite3_file* file) {
  int error = 0;
  if (file == nullptr || file->pMethods == nullptr) return error;
  const int code = file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error);
  return code == SQLITE_OK ? error : 0;
}

// sqlite3_system_errno alone misses failed writes; only the affected file stores their error.
int system_error_of(sqlite3* handle) {
  int error = sqlite3_system_errno(handle);
  for (const int which : {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER}) {
    sqlite3_file* file = nullptr;
    if (error == 0 && sqlite3_file_control(handle, "main", which, static_cast<void*>(&file)) == SQLITE_OK) {
      error = last_error_of(file);
    }
  }
  return error;
}

std::string_view way_out(int code) {
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      return "; set sqlite.path to an SQLite database or to a new file";
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
      return "; set sqlite.path to a file that can be written";
    default:
      return "";
  }
}

}  // namespace

SqliteConnection::SqliteConnection(const SqliteSettings& settings, bool create) : file_(settings.file) {
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(file_.c_str(), &handle, flags, settings.vfs.c_str());
  handle_.reset(handle);
  if (code != SQLITE_OK) throw DatabaseError(fmt::format("cannot open {}", error(code)));
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, settings.busy_timeout_ms);
  if (settings.page_size_bytes) execute(fmt::format("PRAGMA page_size={}", *settings.page_size_bytes));
  // Before the journal mode: with exclusive locking a WAL needs no shared memory.
  if (settings.exclusive) execute("PRAGMA locking_mode=EXCLUSIVE");
  // Reads the mode back, because SQLite stays in the old mode if it cannot change it.
  const std::string journal_mode = value_of(fmt::format("PRAGMA journal_mode={}", settings.journal_mode));
  if (journal_mode != settings.journal_mode) {
    throw DatabaseError(
        fmt::format("SQLite: {} stays in journal_mode={}; expected {}", file_, journal_mode, settings.journal_mode));
  }
  execute(fmt::format("PRAGMA synchronous={}", settings.synchronous));
  if (settings.cache_bytes) execute(fmt::format("PRAGMA cache_size=-{}", *settings.cache_bytes / 1024));
  if (settings.mmap_bytes) (void)value_of(fmt::format("PRAGMA mmap_size={}", *settings.mmap_bytes));
}

Statement SqliteConnection::prepare(const std::string& sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle(), sql.c_str(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                      &statement, nullptr);
  if (code != SQLITE_OK) throw DatabaseError(fmt::format("{}; statement: {}", error(code), sql));
  return Statement(statement);
}

void SqliteConnection::execute(const std::string& sql) const { (void)value_of(sql); }

std::string SqliteConnection::value_of(const std::string& sql) const {
  const Statement statement = prepare(sql);
  const int code = sqlite3_step(statement.get());
  if (code == SQLITE_DONE) return {};
  if (code != SQLITE_ROW) throw DatabaseError(fmt::format("{}; statement: {}", error(code), sql));
  const unsigned char* text = sqlite3_column_text(statement.get(), 0);
  return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

std::string SqliteConnection::error(int code) const {
  std::string text = fmt::format("SQLite: {}: {} (extended code {})", file_, sqlite3_errmsg(handle()), code);
  const bool system_failed = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
  const int system_error = system_failed ? system_error_of(handle()) : 0;
  if (system_error != 0) text += fmt::format(": {}", std::strerror(system_error));
  text += way_out(code);
  return text;
}

std::string sql_name(std::string_view name) {
  std::string text = "\"";
  for (const char letter : name) {
    if (letter == '"') text += '"';
    text += letter;
  }
  return text + '"';
}

}  // namespace edgejoule::driver
