// Prints the operations of one client of a workload, one per line, so that a test can compare them with another
// benchmark's:
//
//   driver-trace SEED THREADS NUMBER OPERATIONS load|run KEY=VALUE...
//
// NUMBER is the client's, of THREADS clients. Lines: get KEY, seek KEY RECORDS, put KEY BYTES, and commit after the
// puts of a batch. Keys are hexadecimal.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "run/client.h"
#include "system/usage_error.h"
#include "workload/workload_kinds.h"

namespace edgejoule::driver {
namespace {

std::string hexadecimal(std::string_view key) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(key.data());
  return fmt::format("{:02x}", fmt::join(bytes, bytes + key.size(), ""));
}

std::size_t bytes_of(Fields fields) { return static_cast<std::size_t>(payload_of(fields)); }

class TracingSession final : public Session {
 public:
  Status read(std::string_view key, FieldNames, Row& row) override {
    row.fields.clear();
    fmt::print("get {}\n", hexadecimal(key));
    return Status::ok;
  }
  Status scan(std::string_view start, std::uint64_t count, FieldNames, std::vector<Row>& rows) override {
    rows.clear();
    fmt::print("seek {} {}\n", hexadecimal(start), count);
    return Status::ok;
  }
  Status update(std::string_view key, Fields fields) override { return upsert(key, fields); }
  Status insert(std::string_view key, Fields fields) override { return upsert(key, fields); }
  Status upsert(std::string_view key, Fields fields) override {
    fmt::print("put {} {}\n", hexadecimal(key), bytes_of(fields));
    return Status::ok;
  }
  Status insert_batch(std::span<const Record> records) override { return upsert_batch(records); }
  Status upsert_batch(std::span<const Record> records) override {
    for (const auto& record : records) static_cast<void>(upsert(record.key, record.fields));
    fmt::print("commit\n");
    return Status::ok;
  }
  Status remove(std::string_view) override { return Status::ok; }
  [[nodiscard]] std::string error() const override { return {}; }
};

void trace(const std::vector<std::string>& arguments) {
  Properties properties;
  for (std::size_t i = 5; i < arguments.size(); ++i) {
    const auto equals = arguments[i].find('=');
    properties.set(arguments[i].substr(0, equals), arguments[i].substr(equals + 1));
  }
  const auto command = arguments[4] == "load" ? Command::load : Command::run;
  const auto workload = workload_kind(properties).make(properties, command);
  const auto work = workload->begin(std::stoull(arguments[0]), static_cast<unsigned>(std::stoul(arguments[1])), false);
  work->unpaced = true;
  TracingSession session;
  work->client(session, static_cast<unsigned>(std::stoul(arguments[2])))->work(std::stoull(arguments[3]), {});
}

}  // namespace
}  // namespace edgejoule::driver

int main(int argc, char** argv) {
  using namespace edgejoule::driver;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 5) {
    fmt::print(stderr, "driver-trace: expected SEED THREADS NUMBER OPERATIONS load|run KEY=VALUE...\n");
    return 2;
  }
  try {
    trace(arguments);
  } catch (const UsageError& error) {
    fmt::print(stderr, "driver-trace: {}\n", error.what());
    return 2;
  }
  return 0;
}
