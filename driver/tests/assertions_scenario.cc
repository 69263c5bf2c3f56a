// A load and a run of each key distribution, also of db_bench and sqlite-bench, with intervals, a rate and a trace. It
// compares nothing: linked with a mutant of the driver (mutants.cmake), it must end by an assertion.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "empty_database.h"
#include "run/crew.h"
#include "run/histogram_codec.h"
#include "run/trace_writer.h"
#include "run/workload.h"
#include "workload/workload_kinds.h"

namespace edgejoule::driver {
namespace {

class Answering final : public Session {
 public:
  Status read(std::string_view, FieldNames, Row& row) override {
    row.fields.clear();
    return Status::ok;
  }
  Status scan(std::string_view, std::uint64_t, FieldNames, std::vector<Row>& rows) override {
    rows.assign(1, {});
    return Status::ok;
  }
  Status update(std::string_view, Fields) override { return Status::ok; }
  Status insert(std::string_view, Fields) override { return Status::ok; }
  Status upsert(std::string_view, Fields) override { return Status::ok; }
  Status remove(std::string_view) override { return Status::ok; }
  [[nodiscard]] std::string error() const override { return {}; }
};

class AnsweringDatabase : public EmptyDatabase {
 public:
  [[nodiscard]] std::unique_ptr<Session> session() override { return std::make_unique<Answering>(); }
};

using Settings = std::vector<std::pair<std::string, std::string>>;

std::unique_ptr<const Workload> workload(Command command, const Settings& settings) {
  Properties properties;
  for (const auto& [key, value] : settings) properties.set(key, value);
  return workload_kind(properties).make(properties, command);
}

// operations 0: until two intervals have been taken.
void work(const Workload& what, std::uint64_t operations, const RateSchedule* schedule) {
  constexpr unsigned threads = 3;
  constexpr std::uint64_t interval_ns = 5'000'000;
  AnsweringDatabase database;
  const auto shared = what.begin(1, threads, false);
  TraceWriter trace("/dev/null");
  Crew crew(*shared, database, operations == 0 ? nullptr : &trace);
  crew.prepare(operations, schedule);
  trace.start();
  static_cast<void>(crew.start());
  for (int intervals = 0; !crew.wait(interval_ns) && (operations > 0 || intervals < 4); ++intervals) {
    static_cast<void>(crew.next_interval());
  }
  if (operations == 0) shared->stop = true;
  static_cast<void>(crew.join());
  static_cast<void>(crew.last_interval());
  trace.finish();
  for (const auto& measured : crew.measurements().operations) static_cast<void>(encode(measured.service));
}

void load_and_run() {
  const std::string records = "1000";
  work(*workload(Command::load, {{"recordcount", records}, {"batchsize", "7"}}), 1000, nullptr);
  for (const auto* law : {"uniform", "zipfian", "latest", "hotspot", "exponential", "sequential"})
    for (const auto* ranks : {"records", "ycsb"}) {
      const Settings settings{{"recordcount", records},    {"insertstart", "100"},
                              {"operationcount", "1000"},  {"requestdistribution", law},
                              {"insertproportion", "0.1"}, {"scanproportion", "0.1"},
                              {"readproportion", "0.4"},   {"updateproportion", "0.2"},
                              {"zipfian.ranks", ranks},    {"readmodifywriteproportion", "0.1"}};
      work(*workload(Command::run, settings), 30'000, nullptr);
    }
  work(*workload(Command::run, {{"workload", "mixgraph"},
                                {"recordcount", records},
                                {"keyrange_num", "10"},
                                {"keyrange_dist_a", "0.2"},
                                {"keyrange_dist_b", "-0.1"},
                                {"key_dist_a", "0.002312"},
                                {"key_dist_b", "0.3467"}}),
       30'000, nullptr);
  work(*workload(Command::run, {{"workload", "sqlite-bench"},
                                {"recordcount", records},
                                {"sqlite-bench.benchmark", "readseq"},
                                {"sqlite-bench.readseq", "point"}}),
       30'000, nullptr);
  const auto reads = workload(Command::run, {{"recordcount", records}, {"operationcount", "1000"}});
  const auto with_pause = RateSchedule::parse("steps:0@0.001,100000@0.01");
  work(*reads, 1000, &with_pause);
  work(*reads, 0, nullptr);
}

}  // namespace
}  // namespace edgejoule::driver

int main() {
  edgejoule::driver::load_and_run();
  std::puts("ended without an assertion");
}
