// The adapter interface: what a database must offer to be driven.
//
// A Database is opened once; every client thread works through a Session of its own, so that a database which needs a
// connection per thread (SQLite) and one that shares a handle (LevelDB, RocksDB) look the same. Sessions are used by
// one thread at a time; Database::stats, components, flush and settle are called with no operation under way.
//
// Errors: every operation returns a Status that must be looked at. The text of the last error of a session is
// Session::error(); what cannot be opened throws DatabaseError with what, where and the way out.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "system/cache_lines.h"

namespace edgejoule::driver {

class Properties;

enum class [[nodiscard]] Status : std::uint8_t{
    ok,
    not_found,
    busy,              // the database asks to try again (SQLITE_BUSY and its kind); counted as a failure
    error,             // the database failed; the run ends
    unexpected_state,  // the database answered, but with wrong data; the run ends
};

// What must survive once an operation is acknowledged.
enum class Durability : std::uint8_t {
  none,     // nothing promised
  process,  // the death of the process (kill -9); of a power cut nothing is promised, and no write waits for a sync
  power,    // a power cut
};
inline constexpr std::array<std::string_view, 3> durability_names{"none", "process", "power"};

[[nodiscard]] constexpr std::string_view name_of(Durability durability) {
  return durability_names[static_cast<std::size_t>(durability)];
}

// One column of a row. The views live as long as the call they are passed to.
struct Field {
  std::string_view name;
  std::string_view value;
};

using FieldNames = std::span<const std::string_view>;  // empty: all fields
using Fields = std::span<const Field>;

// A row as read. The views point into memory of the session and live until its next call.
struct Row {
  std::string_view key;  // set by scan only
  std::vector<Field> fields;
};

struct Record {
  std::string_view key;
  Fields fields;
};

class DatabaseError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Used by one thread at a time, and on cache lines of its own.
class alignas(cache_line_bytes) Session {
 public:
  virtual ~Session() = default;
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Reads the named fields (all when empty) of one record into row, whose vector is reused.
  virtual Status read(std::string_view key, FieldNames names, Row& row) = 0;

  // Reads up to count records in key order from the first key >= start. `rows` is resized to what was found; its
  // elements are reused. Databases without order return Status::error and say so.
  virtual Status scan(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) = 0;

  // Replaces the given fields of an existing record and keeps the others.
  virtual Status update(std::string_view key, Fields fields) = 0;

  // Adds a record.
  virtual Status insert(std::string_view key, Fields fields) = 0;

  // Adds a record, or replaces the whole record that is there (Put of the LSMs, REPLACE of SQL).
  virtual Status upsert(std::string_view key, Fields fields) = 0;

  // Adds records in one batch (one transaction, one WriteBatch). The default inserts one by one.
  virtual Status insert_batch(std::span<const Record> records);

  // The same with upsert: a key may be there, and may come twice in the batch; its last record stays.
  virtual Status upsert_batch(std::span<const Record> records);

  virtual Status remove(std::string_view key) = 0;

  // The last error of this session, in the database's own words, with the key or file where known.
  [[nodiscard]] virtual std::string error() const = 0;

  // Reads made inside update because the database has no partial update.
  [[nodiscard]] std::uint64_t reads_before_write() const noexcept { return reads_before_write_; }

 protected:
  std::uint64_t reads_before_write_ = 0;
};

// Work the database did on its own account: an event on the power trace.
struct DatabaseEvent {
  enum class Kind : std::uint8_t { flush, compaction, checkpoint, snapshot, stall };
  Kind kind;
  std::uint64_t begin_monotonic_ns;
  std::int64_t duration_ns;  // -1: the engine does not say
  std::int64_t read_bytes;   // -1: the engine does not say
  std::int64_t write_bytes;  // -1: the engine does not say
  std::string detail;
};

// Called from any thread of the database; must be cheap and must not call back.
using EventSink = std::function<void(const DatabaseEvent&)>;

// What one part of a database has done since it was opened. What the engine does not report is absent, never 0.
struct Component {
  std::string name;  // flush, compaction, wal, journal (a rollback journal), checkpoint
  std::optional<std::uint64_t> count;
  std::optional<std::uint64_t> duration_ns;
  std::optional<std::uint64_t> read_bytes;
  std::optional<std::uint64_t> write_bytes;
  std::optional<std::uint64_t> syncs;
};

// What a database has asked of storage since it was opened, counted at the adapter's own seam: the calls of lunar's
// device, of SQLite's VFS. What is below the seam may merge requests and add some: a file system has a journal.
struct IoCounts {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t flushes = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t write_bytes = 0;
};

struct [[nodiscard]] Settled {
  bool complete;    // false: the time limit passed first; a failure is thrown instead
  std::string how;  // what was asked of the database and how it said it is idle
};

class Database {
 public:
  virtual ~Database() = default;
  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Opens, or creates when the path is empty or absent and `create` is set. Throws DatabaseError.
  virtual void open(const Properties& properties, Durability durability, bool create, EventSink sink) = 0;

  // Sessions end before close(). Returns what went wrong, empty when nothing did.
  [[nodiscard]] virtual std::string close() = 0;

  // Throws DatabaseError.
  [[nodiscard]] virtual std::unique_ptr<Session> session() = 0;

  // Everything acknowledged so far is on stable storage when this returns ok; what went wrong is in flush_error().
  virtual Status flush() = 0;

  // The last error of flush, in the database's own words; empty when there was none.
  [[nodiscard]] virtual std::string flush_error() const { return {}; }

  // Pays every debt of the run, at most timeout_ns long: all that was acknowledged is on stable storage where the
  // database keeps it for good (tables, main file), no log is left to replay, no background work is under way or
  // pending, as the database itself reports. The same meaning in every adapter. Throws DatabaseError, in the
  // database's own words, when a debt cannot be paid: waiting longer would not help, and the run has failed.
  virtual Settled settle(std::uint64_t timeout_ns) = 0;

  [[nodiscard]] virtual std::string version() const = 0;  // as the library says at run time

  // Effective settings, read back where the database can say them. Names as the database spells them.
  [[nodiscard]] virtual std::map<std::string, std::string> options() const = 0;

  // Records in the database, counted exactly, in at most timeout_ns; nullopt: it has no exact count at a bounded cost.
  // Throws DatabaseError.
  [[nodiscard]] virtual std::optional<std::uint64_t> record_count(std::uint64_t /*timeout_ns*/) const {
    return std::nullopt;
  }

  // An insert of a key that is there replaces its record; false: it is an error.
  [[nodiscard]] virtual bool insert_replaces() const { return false; }

  // What befell the server since it was opened and no figure shows: it was started anew, it evicted records. In words;
  // empty: nothing, or there is no server. Throws DatabaseError.
  [[nodiscard]] virtual std::vector<std::string> incidents() const { return {}; }

  // Adapter's own settings for the durability class in force, in words.
  [[nodiscard]] virtual std::string durability_how() const = 0;

  // Component accounting as the engine itself reports it; each name once, and the same names from open to close.
  [[nodiscard]] virtual std::vector<Component> components() const { return {}; }

  // nullopt: the adapter has no seam at which to count (LMDB writes through its own calls and reads through a map).
  [[nodiscard]] virtual std::optional<IoCounts> io_counts() const { return std::nullopt; }

  // The database's own counters, names as the database spells them; may be empty.
  [[nodiscard]] virtual std::map<std::string, std::string> stats() const = 0;

  // CPU time of the server's processes since they began; nullopt where the database has none of its own, or does not
  // tell. Two of these differ by what the server took between them.
  [[nodiscard]] virtual std::optional<std::uint64_t> server_cpu_ns() const { return std::nullopt; }

  // Directory or file that holds the data; empty when there is none (noop), or it is on another machine.
  [[nodiscard]] virtual std::string path() const = 0;
};

struct OptionHelp {
  std::string name;  // "sqlite.journal_mode"
  std::string meaning;
  std::string default_value;
};

// One line of `edgejoule-driver databases`.
struct AdapterInfo {
  std::string name;
  std::string summary;
  std::vector<OptionHelp> options;
  std::function<std::unique_ptr<Database>()> make;
};

}  // namespace edgejoule::driver
