#include "cpu_times.h"

#include <array>

#include "whole_number.h"

namespace edgejoule::sampler {
namespace {

// Positions in the first line of /proc/stat, proc(5): "cpu" user nice system idle iowait irq softirq steal ...
constexpr std::size_t idle_place = 4;
constexpr std::size_t iowait_place = 5;
constexpr std::size_t steal_place = 8;  // since Linux 2.6.11

std::string_view take_field(std::string_view& line) {
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  line.remove_prefix(begin);
  const std::string_view field = line.substr(0, line.find(' '));
  line.remove_prefix(field.size());
  return field;
}

std::int64_t count_of(std::string_view text, std::string_view part) {
  std::int64_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

}  // namespace

std::optional<CpuTimes> cpu_times(std::string_view text) {
  std::string_view line = text.substr(0, text.find('\n'));
  std::array<std::string_view, steal_place + 1> fields;
  for (std::string_view& field : fields) field = take_field(line);
  const auto idle = whole_number(fields[idle_place]);
  const auto iowait = whole_number(fields[iowait_place]);
  const auto steal = fields[steal_place].empty() ? 0 : whole_number(fields[steal_place]);
  const std::int64_t cpus = count_of(text, "\ncpu");
  if (fields[0] != "cpu" || !idle || !iowait || !steal || cpus == 0) return std::nullopt;
  return CpuTimes{cpus, *idle + *iowait + *steal};
}

}  // namespace edgejoule::sampler
