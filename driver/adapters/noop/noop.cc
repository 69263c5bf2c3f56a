// A database that stores nothing. The cost of a run on it is the cost of the driver.
#include <deque>
#include <string>

#include "adapters/registry.h"
#include "fold.h"
#include "system/cache_lines.h"

namespace edgejoule::driver {
namespace {

enum class Operation : std::uint8_t { read, scan, update, insert, remove };

// A sum over operations, so that it does not depend on the order of the threads. On a separate cache line.
struct alignas(cache_line_bytes) Checksum {
  std::uint64_t sum = 0;
};

class NoopSession final : public Session {
 public:
  explicit NoopSession(Checksum& checksum) : checksum_(checksum) {}

  Status read(std::string_view key, FieldNames names, Row& row) override {
    row.fields.clear();
    return fold(Operation::read, key, names);
  }

  Status scan(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) override {
    rows.clear();
    checksum_.sum += count;
    return fold(Operation::scan, start, names);
  }

  Status update(std::string_view key, Fields fields) override { return fold(Operation::update, key, fields); }

  Status insert(std::string_view key, Fields fields) override { return fold(Operation::insert, key, fields); }

  Status upsert(std::string_view key, Fields fields) override { return fold(Operation::insert, key, fields); }

  Status remove(std::string_view key) override { return fold(Operation::remove, key, FieldNames{}); }

  [[nodiscard]] std::string error() const override { return {}; }

 private:
  static void add(Fold& fold, std::string_view name) { fold.add(name); }
  static void add(Fold& fold, const Field& field) {
    fold.add(field.name);
    fold.add(field.value);
  }

  template <typename Parts>
  Status fold(Operation operation, std::string_view key, Parts parts) {
    Fold fold;
    fold.add(key);
    for (const auto& part : parts) add(fold, part);
    checksum_.sum += fold.value() + static_cast<std::uint64_t>(operation);
    return Status::ok;
  }

  Checksum& checksum_;
};

class NoopDatabase final : public Database {
 public:
  void open(const Properties&, Durability, bool, EventSink) override {}
  [[nodiscard]] std::string close() override { return {}; }
  [[nodiscard]] std::unique_ptr<Session> session() override {
    return std::make_unique<NoopSession>(checksums_.emplace_back());
  }
  Status flush() override { return Status::ok; }
  Settled settle(std::uint64_t) override { return {true, "stores nothing, so there is nothing to sync"}; }
  [[nodiscard]] std::string version() const override { return "1"; }
  [[nodiscard]] std::map<std::string, std::string> options() const override { return {}; }
  [[nodiscard]] std::string durability_how() const override { return "stores nothing in any class"; }
  [[nodiscard]] std::map<std::string, std::string> stats() const override;
  [[nodiscard]] std::string path() const override { return {}; }

 private:
  std::deque<Checksum> checksums_;  // one per session; a deque does not move its elements
};

std::map<std::string, std::string> NoopDatabase::stats() const {
  std::uint64_t sum = 0;
  for (const auto& checksum : checksums_) sum += checksum.sum;
  std::string hex(16, '0');
  for (auto digit = hex.rbegin(); digit != hex.rend(); ++digit, sum >>= 4U) *digit = "0123456789abcdef"[sum & 0xFU];
  return {{"checksum", hex}};
}

}  // namespace

AdapterInfo noop_adapter() {
  return {"noop", "stores nothing; folds every key and value byte into a checksum", {}, [] {
            return std::make_unique<NoopDatabase>();
          }};
}

}  // namespace edgejoule::driver
