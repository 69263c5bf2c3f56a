#include "server_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace edgejoule::driver {
namespace {

struct Process {
  std::string name;
  long parent = 0;
  std::uint64_t ticks = 0;  // of the process and of the children it has waited for
};

std::optional<Process> process(long pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  const auto open = line.find('(');
  const auto close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  Process found{line.substr(open + 1, close - open - 1)};
  std::istringstream rest(line.substr(close + 1));
  std::string skipped;
  rest >> skipped >> found.parent;
  for (int i = 0; i < 9; ++i) rest >> skipped;  // pgrp ... cmajflt
  for (int i = 0; i < 4; ++i) {
    std::uint64_t ticks = 0;
    rest >> ticks;
    found.ticks += ticks;
  }
  if (!rest) return std::nullopt;
  return found;
}

}  // namespace

std::optional<long> parent_of(long pid) {
  const auto found = process(pid);
  return found ? std::optional(found->parent) : std::nullopt;
}

std::optional<std::uint64_t> process_tree_cpu_ns(long pid, std::string_view name) {
  const auto root = process(pid);
  if (!root || root->name != name) return std::nullopt;
  std::map<long, std::vector<long>> children;
  std::map<long, std::uint64_t> ticks;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failure)) {
    const auto text = entry.path().filename().string();
    if (text.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto number = std::stol(text);
    if (const auto found = process(number)) {
      children[found->parent].push_back(number);
      ticks[number] = found->ticks;
    }
  }
  std::uint64_t sum = 0;
  for (std::vector<long> left{pid}; !left.empty();) {
    const auto next = left.back();
    left.pop_back();
    sum += ticks[next];
    left.insert(left.end(), children[next].begin(), children[next].end());
  }
  return sum * (1'000'000'000U / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK)));
}

}  // namespace edgejoule::driver
