// Measures the CPU time of random values per kilobyte, by the length of a value. Prints one line per length, minimum of
// five rounds: value bytes, values of a record, ns of CPU per 1,000 bytes.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <vector>

#include "workload/values.h"

namespace edgejoule::driver {
namespace {

double cpu_ns() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e9 + static_cast<double>(used.tv_nsec);
}

double cpu_ns_per_kb(std::uint64_t value_bytes, std::size_t values) {
  constexpr int rounds = 5;
  constexpr std::uint64_t bytes_of_round = 20'000'000;
  const std::vector<std::uint64_t> lengths(values, value_bytes);
  std::vector<Field> fields(values);
  RandomBytes random(1);
  ValueBuffer buffer;
  const auto record_bytes = value_bytes * values;
  const auto records = bytes_of_round / record_bytes;
  double least = 1e300;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = cpu_ns();
    for (std::uint64_t i = 0; i < records; ++i) buffer.draw(random, lengths, fields);
    least = std::min(least, cpu_ns() - begin);
  }
  return least / static_cast<double>(records * record_bytes) * 1000;
}

}  // namespace
}  // namespace edgejoule::driver

int main() {
  struct Shape {
    std::uint64_t value_bytes;
    std::size_t values;
  };
  for (const auto& [bytes, values] :
       {Shape{1, 10}, {11, 10}, {100, 1}, {100, 10}, {1000, 1}, {1000, 10}, {10'000, 10}}) {
    fmt::print("{} {} {:.1f}\n", bytes, values, edgejoule::driver::cpu_ns_per_kb(bytes, values));
  }
}
