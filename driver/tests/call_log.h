// A session that only logs its calls.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "contract/adapter.h"

namespace edgejoule::driver {

struct Call {
  std::string name;
  std::string key;
  std::uint64_t bytes = 0;  // of the values; for a scan the records
  std::size_t fields = 0;
  std::size_t batch = 0;  // number of the batch, from 1; 0: a single call
};

struct Calls {
  [[nodiscard]] std::vector<std::string> keys(std::string_view name) const {
    std::vector<std::string> found;
    for (const auto& call : calls) {
      if (call.name == name) found.push_back(call.key);
    }
    return found;
  }

  std::vector<Call> calls;
  std::size_t batches = 0;
};

class CallLog : public Session, public Calls {
 public:
  Status read(std::string_view key, FieldNames, Row& row) override {
    row.fields.clear();
    return log("read", key);
  }
  Status scan(std::string_view start, std::uint64_t count, FieldNames, std::vector<Row>& rows) override {
    rows.clear();
    calls.push_back({"scan", std::string(start), count, 0, 0});
    return answer;
  }
  Status update(std::string_view key, Fields fields) override { return log("update", key, fields); }
  Status insert(std::string_view key, Fields fields) override { return log("insert", key, fields); }
  Status upsert(std::string_view key, Fields fields) override { return log("upsert", key, fields); }
  Status insert_batch(std::span<const Record> records) override {
    ++batches;
    for (const auto& record : records) static_cast<void>(log("insert", record.key, record.fields, batches));
    return answer;
  }
  Status upsert_batch(std::span<const Record> records) override {
    ++batches;
    for (const auto& record : records) static_cast<void>(log("upsert", record.key, record.fields, batches));
    return answer;
  }
  Status remove(std::string_view key) override { return log("remove", key); }
  [[nodiscard]] std::string error() const override { return "as scripted"; }

  Status answer = Status::ok;

 private:
  Status log(std::string name, std::string_view key, Fields fields = {}, std::size_t batch = 0) {
    std::uint64_t bytes = 0;
    for (const auto& field : fields) bytes += field.value.size();
    calls.push_back({std::move(name), std::string(key), bytes, fields.size(), batch});
    return answer;
  }
};

}  // namespace edgejoule::driver
