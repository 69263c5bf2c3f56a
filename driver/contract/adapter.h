// The interface between the driver and a database: what an adapter implements.
//
// A Database is opened once. Each client thread has its own Session, whether the database needs a connection per thread
// (SQLite) or shares one handle (LevelDB, RocksDB). One thread at a time uses a session. Database::stats, components,
// flush and settle are called while no operation is under way.
//
// Errors: every operation returns a Status, which the caller must check. Session::error() returns the message of the
// session's last error. A database that cannot be opened throws DatabaseError, whose message names the problem, the
// place and the remedy.
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
    busy,              // the database asks for a retry (as SQLITE_BUSY); counted as a failure
    error,             // the database failed; the run ends
    unexpected_state,  // the database answered, but with wrong data; the run ends
};

// The failure that an acknowledged operation survives.
enum class Durability : std::uint8_t {
  none,     // no failure
  process,  // the end of the process (kill -9), but not a power cut; no write waits for a sync
  power,    // a power cut
};
inline constexpr std::array<std::string_view, 3> durability_names{"none", "process", "power"};

[[nodiscard]] constexpr std::string_view name_of(Durability durability) {
  return durability_names[static_cast<std::size_t>(durability)];
}

// One column of a row. The views are valid during the call to which they are passed.
struct Field {
  std::string_view name;
  std::string_view value;
};

using FieldNames = std::span<const std::string_view>;  // empty: all fields
using Fields = std::span<const Field>;

// A row that was read. The views point into the session's memory and are valid until its next call.
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

// Used by one thread at a time. Each session has its own cache lines.
class alignas(cache_line_bytes) Session {
 public:
  virtual ~Session() = default;
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Reads the named fields of one record into `row`, whose vector is reused. No names: all fields.
  virtual Status read(std::string_view key, FieldNames names, Row& row) = 0;

  // Reads up to `count` records in key order, from the first key >= start. `rows` is resized to the records read; its
  // elements are reused. Databases without key order return Status::error with that message.
  virtual Status scan(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) = 0;

  // Replaces the given fields of an existing record. The other fields stay.
  virtual Status update(std::string_view key, Fields fields) = 0;

  // As update, with all fields of the record. A key-value store writes the record without reading it, and so also
  // creates an absent one.
  virtual Status replace(std::string_view key, Fields fields) { return update(key, fields); }

  // Adds a record.
  virtual Status insert(std::string_view key, Fields fields) = 0;

  // Adds a record, or replaces the existing one entirely (Put of LSM stores, REPLACE of SQL).
  virtual Status upsert(std::string_view key, Fields fields) = 0;

  // Adds records in one batch (one transaction, one WriteBatch). The default inserts one record at a time.
  virtual Status insert_batch(std::span<const Record> records);

  // Upserts records in one batch. If a key occurs twice in the batch, its last record stays.
  virtual Status upsert_batch(std::span<const Record> records);

  virtual Status remove(std::string_view key) = 0;

  // The database's own message for the last error of this session, with the key or file if known.
  [[nodiscard]] virtual std::string error() const = 0;

  // Number of reads made inside update() because the database has no partial update.
  [[nodiscard]] std::uint64_t reads_before_write() const noexcept { return reads_before_write_; }

 protected:
  std::uint64_t reads_before_write_ = 0;
};

// Background work of the database. lab shows it as an event on the power trace.
struct DatabaseEvent {
  enum class Kind : std::uint8_t { flush, compaction, checkpoint, snapshot, stall };
  Kind kind;
  std::uint64_t begin_monotonic_ns;
  std::int64_t duration_ns;  // -1: not reported by the engine
  std::int64_t read_bytes;   // -1: not reported by the engine
  std::int64_t write_bytes;  // -1: not reported by the engine
  std::string detail;
};

// Any thread of the database may call it. It must be cheap and must not call the database.
using EventSink = std::function<void(const DatabaseEvent&)>;

// Totals of one part of the database since it was opened. A value that the engine does not report is absent, never 0.
struct Component {
  std::string name;  // flush, compaction, wal, journal (a rollback journal), checkpoint
  std::optional<std::uint64_t> count;
  std::optional<std::uint64_t> duration_ns;
  std::optional<std::uint64_t> read_bytes;
  std::optional<std::uint64_t> write_bytes;
  std::optional<std::uint64_t> syncs;
};

// The database's requests to storage since it was opened, counted at the adapter's lowest layer: lunar's device,
// SQLite's VFS. Layers below may merge requests or add some, such as a file system's journal.
struct IoCounts {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t flushes = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t write_bytes = 0;
};

struct [[nodiscard]] Settled {
  bool complete;    // false: the time limit passed first. A failure throws instead.
  std::string how;  // the request to the database and its answer that it is idle
};

class Database {
 public:
  virtual ~Database() = default;
  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Opens the database. Creates it if the path is empty or absent and `create` is set. Throws DatabaseError.
  virtual void open(const Properties& properties, Durability durability, bool create, EventSink sink) = 0;

  // Sessions must end before close(). Returns an error message, empty on success.
  [[nodiscard]] virtual std::string close() = 0;

  // Throws DatabaseError.
  [[nodiscard]] virtual std::unique_ptr<Session> session() = 0;

  // Makes every acknowledged write durable. If it fails, flush_error() has the message.
  virtual Status flush() = 0;

  // The database's own message for the last error of flush(), empty if there was none.
  [[nodiscard]] virtual std::string flush_error() const { return {}; }

  // Completes all work that the run has left behind, in at most timeout_ns. Afterwards, as the database itself reports,
  // every acknowledged write is in its final place on stable storage (tables, main file), no log is left to replay, and
  // no background work is running or pending. All adapters give it this meaning. Throws DatabaseError, with the
  // database's own message, if the work cannot be completed and waiting longer would not help.
  virtual Settled settle(std::uint64_t timeout_ns) = 0;

  [[nodiscard]] virtual std::string version() const = 0;  // as the library reports at run time

  // Effective settings, read back from the database if it reports them. Names are spelled as the database spells them.
  [[nodiscard]] virtual std::map<std::string, std::string> options() const = 0;

  // Exact number of records, counted in at most timeout_ns. nullopt: no exact count at a bounded cost. Throws
  // DatabaseError.
  [[nodiscard]] virtual std::optional<std::uint64_t> record_count(std::uint64_t /*timeout_ns*/) const {
    return std::nullopt;
  }

  // True if insert() of an existing key replaces the record. False if it is an error.
  [[nodiscard]] virtual bool insert_replaces() const { return false; }

  // True if update() reads the record, changes it and writes the whole. False if the database changes the fields.
  [[nodiscard]] virtual bool update_merges() const { return false; }

  // Messages about events on the server since it was opened that no counter shows, such as a restart or evicted
  // records. Throws DatabaseError.
  [[nodiscard]] virtual std::vector<std::string> incidents() const { return {}; }

  // The database's settings behind the durability class in force, as text.
  [[nodiscard]] virtual std::string durability_how() const = 0;

  // The totals that the engine reports for its parts. Each name occurs once, and the names stay the same from open to
  // close.
  [[nodiscard]] virtual std::vector<Component> components() const { return {}; }

  // nullopt: the adapter has no layer at which to count (LMDB writes by system calls and reads through a map).
  [[nodiscard]] virtual std::optional<IoCounts> io_counts() const { return std::nullopt; }

  // The database's own counters, named as the database names them. May be empty.
  [[nodiscard]] virtual std::map<std::string, std::string> stats() const = 0;

  // CPU time of the server's processes since they started. nullopt: the database has no server, or the time is unknown.
  // The difference of two values is the CPU time used between them.
  [[nodiscard]] virtual std::optional<std::uint64_t> server_cpu_ns() const { return std::nullopt; }

  // Directory or file that holds the data. Empty if there is none (noop) or if it is on another machine.
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
