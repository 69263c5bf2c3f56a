#include "mobibench_workload.h"

#include <fmt/format.h>

#include "mobibench_client.h"
#include "workload/property_reader.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t value_bytes_max = 1U << 30U;
constexpr double compression_ratio = 0.5;

}  // namespace

MobibenchWorkload::MobibenchWorkload(const Properties& properties, Command the_command) : command(the_command) {
  PropertyReader reader(properties, in_force);
  in_force["workload"] = "mobibench";
  deed = reader.choice<Deed>("mobibench.operation", "insert",
                             {{"insert", Deed::insert}, {"update", Deed::update}, {"delete", Deed::remove}});
  random_inserts = reader.choice<bool>("mobibench.order", "sequential", {{"sequential", false}, {"random", true}});
  value_bytes = reader.number("mobibench.value_bytes", 4096, 1, value_bytes_max);
  update_replaces = reader.update_replaces(true);  // a row has one field
  has_updates = command == Command::run && deed == Deed::update;
  rows = reader.number("recordcount", 10'000, 1, std::uint64_t{1} << 62U);
  load_batch_records = reader.number("batchsize", 1000, 1, 1'000'000);
  seconds_max = reader.number("maxexecutiontime", 0, 0, 1'000'000'000);
  // Truncate is Mobibench's journal mode.
  defaults = {{"durability", "power"}, {"sqlite.journal_mode", "truncate"}};
  if (command == Command::load) {
    operations = rows;
    each_key_once = true;
  } else {
    read_operations(properties);
  }
}

void MobibenchWorkload::read_operations(const Properties& properties) {
  operations = PropertyReader(properties, in_force).number("operationcount", rows);
  if (operations == 0 && seconds_max == 0) {
    refuse(properties, "operationcount", "the run would never end: expected a number above 0, or maxexecutiontime");
  }
  if (deed == Deed::insert && random_inserts && operations == 0) {
    refuse(properties, "mobibench.order", "random needs an operationcount above 0: each key is inserted once");
  }
  if (deed != Deed::remove) return;
  if (operations > rows) {
    refuse(properties, "operationcount",
           fmt::format("each row is deleted once; expected at most recordcount={}", rows));
  }
  if (operations == 0) operations = rows;
}

std::unique_ptr<Work> MobibenchWorkload::begin(std::uint64_t seed, unsigned threads, bool /*verify*/) const {
  return std::make_unique<MobibenchWork>(*this, seed, threads);
}

MobibenchWork::MobibenchWork(const MobibenchWorkload& the_workload, std::uint64_t the_seed, unsigned the_threads)
    : Work(the_seed, the_threads), workload(the_workload), values(compression_ratio, the_workload.value_bytes) {}

RowWriting MobibenchWork::loading() const {
  return {.complete = true,
          .count = workload.rows,
          .value_bytes = workload.value_bytes,
          .batch_records = workload.load_batch_records};
}

RowWriting MobibenchWork::inserting() const {
  return {.order = workload.random_inserts ? RowWriting::Order::each_once : RowWriting::Order::sequential,
          .first = workload.rows,
          .count = workload.random_inserts ? workload.operations : 0,
          .value_bytes = workload.value_bytes};
}

std::unique_ptr<Client> MobibenchWork::client(Session& session, unsigned number) {
  if (workload.command == Command::load) return std::make_unique<RowWriter>(*this, session, number, loading(), values);
  switch (workload.deed) {
    case MobibenchWorkload::Deed::update:
      return std::make_unique<RowUpdater>(*this, session, number);
    case MobibenchWorkload::Deed::remove:
      return std::make_unique<RowRemover>(*this, session, number);
    case MobibenchWorkload::Deed::insert:
      break;
  }
  return std::make_unique<RowWriter>(*this, session, number, inserting(), values);
}

WorkloadKind mobibench() {
  using enum PropertyType;
  return {
      "mobibench",
      "Mobibench: one synchronous transaction for each insert, update or delete of a row (default durability: power)",
      {{"mobibench.operation",
        text,
        "operation of the run: insert, update or delete",
        "insert",
        {"insert", "update", "delete"}},
       {"mobibench.order",
        text,
        "order of the inserted keys: sequential, or random (each key once)",
        "sequential",
        {"sequential", "random"}},
       {"mobibench.value_bytes", count, "bytes of a row's text", "4096"},
       update_property(),
       {"batchsize", count, "load: rows in a transaction", "1000"}},
      {{"keytype", "integer"}, {"fieldcount", "1"}},
      [](const Properties& properties, Command command) {
        return std::make_unique<MobibenchWorkload>(properties, command);
      }};
}

}  // namespace edgejoule::driver
