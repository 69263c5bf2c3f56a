#include "db_bench_workload.h"

#include <utility>

#include "fill_client.h"

namespace edgejoule::driver::db_bench {
namespace {

constexpr std::uint64_t keys_default = 1'000'000;
constexpr std::uint64_t keys_max = std::uint64_t{1} << 53U;  // doubles hold every integer up to here
constexpr std::uint64_t bytes_max = 1U << 30U;

// Reads a count with two names, db_bench's and YCSB's. It is recorded under YCSB's, as in every workload.
std::uint64_t count(const Properties& properties, std::map<std::string, std::string>& in_force,
                    const std::string& db_bench_name, const std::string& ycsb_name, std::uint64_t default_value,
                    std::uint64_t least, std::uint64_t most) {
  if (properties.has(db_bench_name) && properties.has(ycsb_name)) {
    refuse(properties, db_bench_name, fmt::format("expected this or {}, not both: they mean the same", ycsb_name));
  }
  PropertyReader reader(properties, in_force);
  const auto& name = properties.has(db_bench_name) ? db_bench_name : ycsb_name;
  const auto value = reader.number(name, default_value, least, most);
  in_force[ycsb_name] = in_force[name];
  return value;
}

}  // namespace

DbBenchWorkload::DbBenchWorkload(const Properties& properties, Command the_command, const std::string& operations_name)
    : command(the_command) {
  defaults["rocksdb.column_family"] = "default";  // where db_bench stores its records
  PropertyReader reader(properties, in_force);
  keys = count(properties, in_force, "num", "recordcount", keys_default, 1, keys_max);
  key_bytes = reader.number("key_size", 16, 1, 1U << 16U);
  value_bytes = reader.number("value_size", 100, 0, bytes_max);
  compression_ratio = reader.real("compression_ratio", 0.5, 0, 1);
  batch_records = reader.number("batch_size", 1, 1, 1'000'000);
  seconds_max = reader.number("maxexecutiontime", 0, 0, 1'000'000'000);
  const auto asked =
      count(properties, in_force, operations_name, "operationcount", keys, 0, std::numeric_limits<std::int64_t>::max());
  operations = command == Command::load ? keys : asked;
  // Shorter keys hold only a part of the number.
  each_key_once = command == Command::load && key_bytes >= sizeof(std::uint64_t);
  if (operations == 0 && seconds_max == 0) {
    refuse(properties, properties.has(operations_name) ? operations_name : "operationcount",
           "the run would never end: expected a number greater than 0, or maxexecutiontime=SECONDS");
  }
}

std::unique_ptr<Work> DbBenchWorkload::begin(std::uint64_t seed, unsigned threads, bool) const {
  return std::make_unique<DbBenchWork>(*this, seed, threads + (command == Command::run ? companions() : 0));
}

DbBenchWork::DbBenchWork(const DbBenchWorkload& the_workload, std::uint64_t the_seed, unsigned the_threads)
    : Work(the_seed, the_threads),
      workload(the_workload),
      values(the_workload.compression_ratio, the_workload.value_bytes) {}

std::unique_ptr<Client> DbBenchWork::client(Session& session, unsigned number) {
  if (workload.command == Command::load) return std::make_unique<SequentialFill>(*this, session, number);
  return workload.client(*this, session, number);
}

WorkloadKind db_bench_kind(const std::string& name, const std::string& summary,
                           const std::vector<PropertyHelp>& own_properties,
                           std::function<std::unique_ptr<const Workload>(const Properties&, Command)> make) {
  using enum PropertyType;
  std::vector<PropertyHelp> properties{
      {"num", count, "number of keys, 0 to num - 1; also set by recordcount", "1000000"},
      {"key_size", count, "bytes of a key: the number, big-endian, then '0'", "16"},
      {"value_size", count, "bytes of a value (mixgraph: of a loaded value)", "100"},
      {"compression_ratio", share, "size of a value after compression, as a share", "0.5"},
      {"batch_size", count, "records in one batch (load, fillrandom)", "1"},
  };
  properties.insert(properties.end(), own_properties.begin(), own_properties.end());
  const std::map<std::string, std::string> row{{"rowformat", "raw"}, {"keytype", "blob"}, {"fieldtype", "blob"}};
  return {name, summary, std::move(properties), row, std::move(make)};
}

}  // namespace edgejoule::driver::db_bench
