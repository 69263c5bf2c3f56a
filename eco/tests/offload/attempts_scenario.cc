// The first jobs of a database fail at a worker, later ones are installed. It compares no result: linked with a mutant
// of the job table (mutants.cmake), it must print an assertion's message.
#include <cstdio>

#include "bench_bed.h"

namespace eco::test {
namespace {

constexpr int failing_jobs = 3;

Statistics work() {
  const TemporaryFolder folder;
  WorkerProcess worker(folder / "scratch");
  Wire wire(worker.address(), {},
            [](int job, proto::FromPrimary&) { return job < failing_jobs ? Wire::Fate::cut : Wire::Fate::pass; });
  rocksdb::Options options = small_tables();
  const auto service = attach(options, {.placer = std::make_shared<StubbornPlacer>(wire.address(), 30)});
  Bed bed(folder / "db", options);
  bed.write(60000, 1);
  bed.settle();
  return service->statistics();
}

}  // namespace
}  // namespace eco::test

int main() {
  const eco::Statistics statistics = eco::test::work();
  for (const auto& [reason, jobs] : statistics.kept_by) std::puts(reason.c_str());
  std::printf("%llu fell back, %llu installed, %llu kept\n", static_cast<unsigned long long>(statistics.fell_back),
              static_cast<unsigned long long>(statistics.installed), static_cast<unsigned long long>(statistics.kept));
  return statistics.fell_back > 0 && statistics.installed > 0 && statistics.kept == 0 ? 0 : 1;
}
