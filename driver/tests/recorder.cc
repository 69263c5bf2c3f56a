// Prints the driver's operations on a database, so that a test can compare them with Java YCSB's:
//
//   driver-recorder tally DIMENSIONS SEED RUNS THREADS load|run KEY=VALUE...
//     counts of RUNS runs, seeds SEED, SEED+1 ..
//   driver-recorder values SEED THREADS load|run KEY=VALUE...
//     the bytes of all values written, in order
//   driver-recorder golden NUMBER...
//     hashes, key names and values, as edgejoule.ycsb.Golden prints them
#include <fmt/format.h>

#include <cstdio>
#include <deque>
#include <span>
#include <sstream>

#include "operation_tally.h"
#include "run/crew.h"
#include "system/usage_error.h"
#include "workload/core/core_workload.h"
#include "workload/core/hash.h"
#include "workload/core/key_name.h"
#include "workload/values.h"

namespace edgejoule::driver {
namespace {

class RecordingSession final : public Session {
 public:
  explicit RecordingSession(OperationTally& tally) : tally_(tally) {}

  Status read(std::string_view key, FieldNames names, Row& row) override {
    row.fields.clear();
    tally_.read(key, names);
    return Status::ok;
  }
  Status scan(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) override {
    rows.clear();
    tally_.scan(start, count, names);
    return Status::ok;
  }
  Status update(std::string_view key, Fields fields) override {
    tally_.update(key, fields);
    return Status::ok;
  }
  Status insert(std::string_view key, Fields fields) override {
    tally_.insert(key, fields);
    return Status::ok;
  }
  Status upsert(std::string_view key, Fields fields) override { return insert(key, fields); }
  Status remove(std::string_view) override { return Status::ok; }
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  OperationTally& tally_;
};

class RecordingDatabase final : public Database {
 public:
  explicit RecordingDatabase(OperationTally empty) : empty_(std::move(empty)) {}

  void open(const Properties&, Durability, bool, EventSink) override {}
  [[nodiscard]] std::string close() override { return {}; }
  [[nodiscard]] std::unique_ptr<Session> session() override {
    return std::make_unique<RecordingSession>(tallies_.emplace_back(empty_));
  }
  Status flush() override { return Status::ok; }
  Settled settle(std::uint64_t) override { return {true, ""}; }
  [[nodiscard]] std::string version() const override { return "1"; }
  [[nodiscard]] std::map<std::string, std::string> options() const override { return {}; }
  [[nodiscard]] std::string durability_how() const override { return {}; }
  [[nodiscard]] std::map<std::string, std::string> stats() const override { return {}; }
  [[nodiscard]] std::string path() const override { return {}; }

  void add_to(OperationTally& all) const {
    for (const auto& tally : tallies_) all.add(tally);
  }

 private:
  OperationTally empty_;
  std::deque<OperationTally> tallies_;  // one per session; a deque does not move its elements
};

// Stores the values written by one session.
class ValueSession final : public Session {
 public:
  explicit ValueSession(std::string& values) : values_(values) {}

  Status read(std::string_view, FieldNames, Row& row) override {
    row.fields.clear();
    return Status::ok;
  }
  Status scan(std::string_view, std::uint64_t, FieldNames, std::vector<Row>& rows) override {
    rows.clear();
    return Status::ok;
  }
  Status update(std::string_view, Fields fields) override {
    for (const auto& field : fields) values_ += field.value;
    return Status::ok;
  }
  Status insert(std::string_view key, Fields fields) override { return update(key, fields); }
  Status upsert(std::string_view key, Fields fields) override { return update(key, fields); }
  Status remove(std::string_view) override { return Status::ok; }
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  std::string& values_;
};

std::set<std::string, std::less<>> items_of(const std::string& text) {
  std::set<std::string, std::less<>> items;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');) items.insert(item);
  return items;
}

// KEY=VALUE...
Properties properties_of(std::span<const std::string> assignments) {
  Properties properties;
  for (const auto& assignment : assignments) {
    const auto equals = assignment.find('=');
    properties.set(assignment.substr(0, equals), assignment.substr(equals + 1));
  }
  return properties;
}

Command command_of(const std::string& item) { return item == "load" ? Command::load : Command::run; }

void values(const std::vector<std::string>& arguments) {
  const CoreWorkload workload(properties_of(std::span(arguments).subspan(3)), command_of(arguments[2]));
  const auto threads = static_cast<unsigned>(std::stoul(arguments[1]));
  const auto work = workload.begin(std::stoull(arguments[0]), threads, false);
  for (unsigned number = 0; number < threads; ++number) {
    std::string bytes;
    ValueSession session(bytes);
    work->client(session, number)->work(workload.operations / threads, {});
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  }
}

void tally(const std::vector<std::string>& arguments) {
  const CoreWorkload workload(properties_of(std::span(arguments).subspan(5)), command_of(arguments[4]));
  const OperationTally empty(items_of(arguments[0]), workload.records);
  auto all = empty;
  const auto seed = std::stoull(arguments[1]);
  for (auto run = std::stoull(arguments[2]); run > 0; --run) {
    RecordingDatabase database(empty);
    const auto work = workload.begin(seed + run - 1, static_cast<unsigned>(std::stoul(arguments[3])), false);
    Crew crew(*work, database);
    crew.prepare(workload.operations, nullptr);
    static_cast<void>(crew.start());
    static_cast<void>(crew.join());
    database.add_to(all);
  }
  std::fputs(all.lines().c_str(), stdout);
}

void golden(const std::vector<std::string>& numbers) {
  for (const auto& number : numbers) fmt::print("hash {} {}\n", number, fnv_hash(std::stoull(number)));
  for (const bool hashed : {true, false}) {
    for (const unsigned padding : {0U, 1U, 12U, 24U}) {
      KeyName name(hashed, padding);
      for (const auto& number : numbers) {
        fmt::print("key {} {} {} {}\n", hashed ? "hashed" : "ordered", padding, number, name.of(std::stoull(number)));
      }
    }
  }
  KeyName name(true, 1);
  const std::string key(name.of(0));
  for (const unsigned bytes : {1U, 5U, 16U, 40U, 100U, 1000U}) {
    for (const auto* field : {"field0", "field1"}) {
      std::string value;
      deterministic_value(key, field, bytes, value);
      fmt::print("value {} {} {} {}\n", bytes, key, field, value);
    }
  }
}

}  // namespace
}  // namespace edgejoule::driver

int main(int argc, char** argv) {
  using namespace edgejoule::driver;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string_view command = arguments.empty() ? "" : std::string_view(arguments[0]);
  const std::vector<std::string> rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  try {
    if (command == "tally" && rest.size() >= 5) {
      tally(rest);
    } else if (command == "values" && rest.size() >= 4) {
      values(rest);
    } else if (command == "golden") {
      golden(rest);
    } else {
      fmt::print(stderr, "driver-recorder: expected tally, values or golden with their arguments\n");
      return 2;
    }
  } catch (const UsageError& error) {
    fmt::print(stderr, "driver-recorder: {}\n", error.what());
    return 2;
  }
  return 0;
}
