// The clients of YCSB's core workload: operations on random keys, with values that are random or derived from the key.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "acknowledged_counter.h"
#include "core_workload.h"
#include "key_chooser.h"
#include "key_name.h"
#include "length_chooser.h"
#include "run/client.h"
#include "system/cache_lines.h"
#include "system/random.h"
#include "workload/values.h"

namespace edgejoule::driver {

class CoreWork final : public Work {
 public:
  CoreWork(const CoreWorkload& workload, std::uint64_t seed, unsigned threads, bool verify);

  [[nodiscard]] std::unique_ptr<Client> client(Session& session, unsigned number) override;

  const CoreWorkload& workload;
  const bool verify;
  AcknowledgedCounter inserted;

  // Keys whose insert the database refused (busy) in a verified run. A read may miss them.
  void refused(std::string_view key);
  [[nodiscard]] bool was_refused(std::string_view key) const;

 private:
  mutable std::mutex refusing_;
  std::set<std::string, std::less<>> refused_;
};

class CoreClient final : public Client {
 public:
  CoreClient(CoreWork& shared, Session& session, unsigned number);

 private:
  std::uint64_t step(std::uint64_t most) override;
  [[nodiscard]] Transaction draw_transaction();
  std::uint64_t transact();
  std::uint64_t load_batch(std::uint64_t most);
  Status insert_records(std::size_t count);
  [[nodiscard]] bool pause_before_retry();

  void read(std::string_view key);
  void update(std::string_view key);
  Status write(std::string_view key, Fields values);  // the write of an update
  void insert(std::uint64_t number);
  void scan(std::string_view key);
  void read_modify_write(std::string_view key);

  FieldNames fields_to_read();
  Fields one_value(std::string_view key);
  Fields all_values(std::string_view key, std::size_t record);
  std::string_view deterministic(std::string_view key, std::size_t field, std::size_t slot);
  void verify_row(std::string_view key, FieldNames asked, Status read_status);
  [[nodiscard]] bool row_is_right(std::string_view key, FieldNames asked, Status read_status);

  CoreWork& shared_;
  const CoreWorkload& workload_;
  Random random_;
  RandomBytes random_bytes_;
  KeyChooser keys_;
  KeyName key_;
  LengthChooser field_bytes_;
  LengthChooser scan_records_;
  std::array<std::uint64_t, transaction_kinds> chooser_;  // cumulative shares of 2^64

  std::uint64_t next_load_;  // number of the next key to load

  std::vector<std::string_view> field_names_;
  std::vector<std::uint64_t> lengths_;      // by field
  CacheLineVector<ValueBuffer> buffers_;    // by record of a batch
  std::vector<std::string> deterministic_;  // by field and record of a batch
  CacheLineVector<Field> values_;           // by field and record of a batch
  CacheLineVector<KeyName> batch_keys_;
  CacheLineVector<Record> batch_;
  std::string expected_;
  std::string mismatch_;
  Row row_;
  std::vector<Row> rows_;
};

}  // namespace edgejoule::driver
