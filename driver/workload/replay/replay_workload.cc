#include "replay_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "load_client.h"
#include "replay_client.h"
#include "system/usage_error.h"
#include "trace_reader.h"
#include "workload/property_reader.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t value_bytes_max = 1U << 30U;

bool is_positive(const std::string& text, double& number) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc{} && end == text.data() + text.size() && number > 0 && number <= 1e9;
}

}  // namespace

ReplayWorkload::ReplayWorkload(const Properties& properties, Command the_command) : command(the_command) {
  PropertyReader reader(properties, in_force);
  in_force["workload"] = "replay";
  trace = reader.text("trace", "");
  if (trace.empty()) throw UsageError("property trace is missing: expected -p trace=FILE.csv");
  read_speed(properties);
  const auto field_count = reader.number("fieldcount", 1, 1, 100'000);
  for (std::uint64_t i = 0; i < field_count; ++i) fields.push_back(fmt::format("field{}", i));
  write_all_fields = reader.flag("writeallfields", false);
  update_replaces = reader.update_replaces(write_all_fields || field_count == 1);
  value_bytes = reader.number("replay.value_bytes", 1000, 0, value_bytes_max);
  load_batch_records = reader.number("batchsize", 1000, 1, 1'000'000);
  seconds_max = reader.number("maxexecutiontime", 0, 0, 1'000'000'000);
  reader.text("keytype", "text");
  defaults = {{"fieldcount", "1"}};
  scan_trace(reader.number("operationcount", 0));
  clients_end = true;
  if (command == Command::run) operations = lines;
}

void ReplayWorkload::read_speed(const Properties& properties) {
  const auto text = PropertyReader(properties, in_force).text("replay.speed", "1");
  speed = 0;
  if (text == "max") return;
  if (!is_positive(text, speed)) refuse(properties, "replay.speed", "expected max, or a number above 0 and up to 1e9");
  if (command == Command::load) return;
  const auto* rate = properties.has("rate") ? "rate" : "target";
  if (properties.get(rate, "0") != "0") {
    refuse(properties, rate, "the trace defines its own times; expected replay.speed=max as well, or no rate");
  }
}

void ReplayWorkload::scan_trace(std::uint64_t lines_max) {
  TraceReader reader(trace);
  first_time_ns = 0;
  size_max = value_bytes;
  lines = 0;
  while (lines_max == 0 || lines < lines_max) {
    const auto* line = reader.next();
    if (line == nullptr) break;
    if (++lines == 1) first_time_ns = line->time_ns;
    has_updates = has_updates || line->operation == TraceOperation::update ||
                  line->operation == TraceOperation::read_modify_write;
    if (line->operation != TraceOperation::scan) size_max = std::max(size_max, line->size.value_or(0));
  }
  if (lines == 0) throw UsageError(fmt::format("trace {}: has no operations; expected lines {}", trace, trace_header));
}

std::unique_ptr<Work> ReplayWorkload::begin(std::uint64_t seed, unsigned threads, bool /*verify*/) const {
  return std::make_unique<ReplayWork>(*this, seed, threads);
}

ReplayWork::ReplayWork(const ReplayWorkload& the_workload, std::uint64_t the_seed, unsigned the_threads)
    : Work(the_seed, the_threads), workload(the_workload) {}

std::unique_ptr<Client> ReplayWork::client(Session& session, unsigned number) {
  if (workload.command == Command::load) return std::make_unique<ReplayLoadClient>(*this, session, number);
  return std::make_unique<ReplayClient>(*this, session, number);
}

WorkloadKind replay() {
  using enum PropertyType;
  return {"replay",
          "the operations of a recorded trace (CSV time_s,op,key,size; --record writes one)",
          {{"trace", text, "trace file, plain or compressed with gzip; required", ""},
           {"replay.speed", text, "1: the times of the trace; 2: twice as fast; max: as fast as the database can", "1"},
           {"replay.value_bytes", count, "load: bytes of a row whose size is not in the trace", "1000"},
           {"fieldcount", count, "fields of a row; they share its bytes evenly", "1"},
           {"writeallfields", flag, "true: an update writes all fields; false: one random field", "false"},
           update_property(),
           {"keytype", text, "key type of the table: text, integer or blob", "text", {"text", "integer", "blob"}},
           {"batchsize", count, "load: rows in a batch", "1000"}},
          {},
          [](const Properties& properties, Command command) {
            return std::make_unique<ReplayWorkload>(properties, command);
          }};
}

}  // namespace edgejoule::driver
