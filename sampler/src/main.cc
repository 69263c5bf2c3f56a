// edgejoule-sampler INTERVAL_NS FILE...: see `usage` below and reading.h.
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string_view>

#include "sampling.h"
#include "whole_number.h"

namespace {

constexpr std::int64_t interval_ns_min = 50'000;  // reading such a file takes a few µs, a late wake-up 50 µs

constexpr const char* usage = R"(Usage: edgejoule-sampler INTERVAL_NS FILE...

Reads small files every INTERVAL_NS nanoseconds (at least 50000) at absolute deadlines and stores the readings.
Each byte on standard input requests the readings since the previous request; they are written to standard output
in binary (format: sampler/README.md). Exits when standard input closes.

A FILE contains one whole number. cpu-times:FILE names a file in the format of /proc/stat and yields two readings:
the number of online CPUs, and the sum of their idle, iowait and steal times in ticks.

Examples:
  edgejoule-sampler 1000000 /sys/class/powercap/intel-rapl:0/energy_uj
  edgejoule-sampler 50000000 cpu-times:/proc/stat

  --help     print this text
  --version  print the version
)";

constexpr std::string_view cpu_times_prefix = "cpu-times:";

edgejoule::sampler::FileOrder file_order(std::string_view argument) {
  using edgejoule::sampler::Content;
  if (!argument.starts_with(cpu_times_prefix)) return {std::string(argument), Content::whole_number};
  argument.remove_prefix(cpu_times_prefix.size());
  return {std::string(argument), Content::cpu_times};
}

int usage_error(const char* message, const char* argument) {
  std::fprintf(stderr, "edgejoule-sampler: %s%s%s; see --help\n", message, *argument == '\0' ? "" : ", found ",
               argument);
  return 2;
}

// Requests real-time priority. While the workload occupies the processors, a normal process misses one deadline in five
// at 5 kHz. Without permission (root or CAP_SYS_NICE) rows are equally exact, but some are missing.
void be_punctual() {
  sched_param lowest{};
  lowest.sched_priority = sched_get_priority_min(SCHED_FIFO);
  (void)sched_setscheduler(0, SCHED_FIFO, &lowest);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--help" || first == "--version") {
    std::fputs(first == "--help" ? usage : "edgejoule-sampler " EDGEJOULE_VERSION "\n", stdout);
    return 0;
  }
  const auto interval_ns = edgejoule::sampler::whole_number(first);
  if (!interval_ns || *interval_ns < interval_ns_min) {
    return usage_error("expected an interval of 50000 ns or more", argc > 1 ? argv[1] : "");
  }
  if (argc < 3) return usage_error("expected at least one file", "");
  ::signal(SIGPIPE, SIG_IGN);  // a closed pipe must be an error of the write
  ::signal(SIGINT, SIG_IGN);   // Ctrl-C is for the reader, which sends a last request and then closes standard input
  be_punctual();
  edgejoule::sampler::Order order{*interval_ns, {}};
  for (int i = 2; i < argc; ++i) order.files.push_back(file_order(argv[i]));
  const int failure = edgejoule::sampler::sample(order, STDIN_FILENO, STDOUT_FILENO);
  if (failure == 0) return 0;
  std::fprintf(stderr, "edgejoule-sampler: the readings cannot be written: %s\n", std::strerror(failure));
  return 1;
}
