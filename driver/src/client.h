// One client: a thread's loop over a session. No lock and no allocation between two operations.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../adapters/adapter.h"
#include "acknowledged_counter.h"
#include "cycle_clock.h"
#include "key_chooser.h"
#include "key_name.h"
#include "length_chooser.h"
#include "measurements.h"
#include "random.h"
#include "values.h"
#include "workload.h"

namespace edgejoule::driver {

// Why the clients stopped before the end. The first of several wins.
struct Failure {
  enum class Kind : std::uint8_t { database, wrong_data, system };
  Kind kind;
  std::string message;
};

// What all clients of a run share.
class SharedWork {
 public:
  SharedWork(const Workload& workload, Command command, std::uint64_t seed, unsigned threads, bool verify);

  const Workload& workload;
  const Command command;
  const std::uint64_t seed;
  const unsigned threads;
  const bool verify;
  const CycleClock& clock;
  const ValuePool values;
  AcknowledgedCounter inserted;
  std::atomic<bool> stop = false;

  void fail(Failure failure);  // keeps the first failure and stops all clients
  [[nodiscard]] std::optional<Failure> failure() const;

  // Keys of a verified run whose insert the database refused (busy): that they are missing is no loss.
  void refused(std::string_view key);
  [[nodiscard]] bool was_refused(std::string_view key) const;

 private:
  mutable std::mutex failing_;
  std::optional<Failure> failure_;
  mutable std::mutex refusing_;
  std::set<std::string, std::less<>> refused_;
};

// The machine's cycle clock, calibrated once.
[[nodiscard]] const CycleClock& cycle_clock();

// When the operations of a client are due.
struct Pace {
  std::uint64_t interval_ns;  // 0: as fast as the database answers
  std::uint64_t offset_ns;    // of the first operation
  bool measure_intended;
};

class Client {
 public:
  Client(SharedWork& shared, Session& session, unsigned number);

  // Works until `operations` are done (0: no limit) or the shared stop is set. Call again to go on.
  void work(std::uint64_t operations, const Pace& pace);

  // Forgets what was measured (the end of the warm-up), not where the client is.
  void forget_measurements();

  [[nodiscard]] const Measurements& measurements() const { return *measurements_; }
  [[nodiscard]] std::uint64_t done() const { return done_.load(std::memory_order_relaxed); }  // from any thread
  [[nodiscard]] const Session& session() const { return session_; }

 private:
  void wait_until(std::uint64_t due_ticks) const;
  void step();
  void load_batch();
  void transact();

  void read();
  void update();
  void insert();
  void scan();
  void read_modify_write();

  std::string_view next_key() { return key_.of(keys_.next(random_, shared_.inserted)); }
  FieldNames fields_to_read();
  Fields one_value(std::string_view key);
  Fields all_values(std::string_view key, std::size_t record);
  std::string_view value(std::string_view key, std::size_t field, std::size_t slot);
  void verify_row(std::string_view key, FieldNames asked, Status read_status);
  [[nodiscard]] bool row_is_right(std::string_view key, FieldNames asked, Status read_status);

  void measure(Operation operation, Status status, std::uint64_t begin, std::uint64_t end, std::uint64_t calls = 1);
  void stop_because(Operation operation, Status status, std::string_view key);

  SharedWork& shared_;
  Session& session_;
  const Workload& workload_;
  Random random_;
  KeyChooser keys_;
  KeyName key_;
  LengthChooser field_bytes_;
  LengthChooser scan_records_;
  std::array<std::uint64_t, transaction_kinds> chooser_;  // cumulative shares of 2^64
  std::unique_ptr<Measurements> measurements_;

  std::uint64_t next_load_;  // number of the next key to load
  std::uint64_t due_ticks_ = 0;
  bool measure_intended_ = false;
  std::uint64_t left_ = 0;

  std::vector<std::string_view> field_names_;
  std::vector<std::string> deterministic_;  // by field and record of a batch
  std::vector<Field> values_;               // by field and record of a batch
  std::vector<KeyName> batch_keys_;
  std::vector<Record> batch_;
  std::string expected_;
  std::string mismatch_;
  Row row_;
  std::vector<Row> rows_;

  alignas(64) std::atomic<std::uint64_t> done_ = 0;
};

}  // namespace edgejoule::driver
