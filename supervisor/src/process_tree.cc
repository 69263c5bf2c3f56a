#include "process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>

namespace edgejoule::supervisor {
namespace {

struct Stat {
  pid_t parent;
  char state;
};

// CPU time in ticks: of the process, and of the children that it has waited for.
struct Ticks {
  std::int64_t user = 0;
  std::int64_t system = 0;
  std::int64_t children_user = 0;
  std::int64_t children_system = 0;
};

using Text = std::array<char, 1024>;
using LongText = std::array<char, 8192>;

// The beginning of a file of /proc/PID; empty if it cannot be read.
std::string_view read_text(pid_t process, const char* name, std::span<char> text) {
  std::array<char, 64> path;
  std::snprintf(path.data(), path.size(), "/proc/%d/%s", process, name);
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t length = ::read(file, text.data(), text.size());
  ::close(file);
  return {text.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

// "PID (NAME) STATE PARENT ...": the name may contain spaces and parentheses.
std::optional<Stat> read_stat(pid_t process) {
  Text text;
  const std::string_view line = read_text(process, "stat", text);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string_view::npos || name_end + 4 >= line.size()) return std::nullopt;
  Stat stat{0, line[name_end + 2]};
  const auto [end, error] = std::from_chars(line.data() + name_end + 4, line.data() + line.size(), stat.parent);
  if (error != std::errc{}) return std::nullopt;
  return stat;
}

std::unordered_map<pid_t, Stat> all_processes() {
  std::unordered_map<pid_t, Stat> processes;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  if (!folder) return processes;
  while (const dirent* entry = ::readdir(folder.get())) {
    pid_t process = 0;
    const char* name_end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, name_end, process).ptr != name_end) continue;
    if (const auto stat = read_stat(process)) processes.emplace(process, *stat);
  }
  return processes;
}

bool descends(pid_t process, pid_t ancestor, const std::unordered_map<pid_t, Stat>& processes) {
  // The list is no snapshot, so reused ids could form a cycle. The number of steps is therefore limited to the list's
  // size.
  for (std::size_t steps = 0; steps < processes.size(); ++steps) {
    const auto found = processes.find(process);
    if (found == processes.end()) return false;
    process = found->second.parent;
    if (process == ancestor) return true;
  }
  return false;
}

// Fields 14 to 17 of "PID (NAME) STATE PARENT ...".
std::optional<Ticks> read_ticks(pid_t process) {
  Text text;
  const std::string_view line = read_text(process, "stat", text);
  std::size_t at = line.rfind(')');
  if (at == std::string_view::npos) return std::nullopt;
  constexpr int fields_before = 12;  // after the name, the state is the first field and the user time the twelfth
  for (int field = 0; field < fields_before; ++field) {
    at = line.find(' ', at + 1);
    if (at == std::string_view::npos) return std::nullopt;
  }
  Ticks ticks;
  const char* begin = line.data() + at + 1;
  for (std::int64_t* field : {&ticks.user, &ticks.system, &ticks.children_user, &ticks.children_system}) {
    const auto [end, error] = std::from_chars(begin, line.data() + line.size(), *field);
    if (error != std::errc{}) return std::nullopt;
    begin = end + 1;
  }
  return ticks;
}

// CPU time of all threads of a process, including ended ones. nullopt if the process is gone.
std::optional<std::int64_t> cpu_time_ns(pid_t process) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return std::nullopt;
  return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

void add_cpu_time(pid_t process, Usage& usage) {
  const auto ticks = read_ticks(process);
  if (!ticks) return;
  const std::int64_t tick_ns = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
  const std::int64_t both = ticks->user + ticks->system;
  const std::int64_t own_ns = cpu_time_ns(process).value_or(both * tick_ns);
  const std::int64_t system_ns = std::min(own_ns, ticks->system * tick_ns);
  usage.cpu_user_ns += own_ns - system_ns + ticks->children_user * tick_ns;
  usage.cpu_system_ns += system_ns + ticks->children_system * tick_ns;
}

std::optional<std::uint64_t> labelled(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t begin = at + label.size();
  while (begin < text.size() && (text[begin] == ' ' || text[begin] == '\t')) ++begin;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

// Context switches of the process's first thread only; the kernel provides no total.
void add_status(pid_t process, Usage& usage) {
  LongText text;
  const std::string_view status = read_text(process, "status", text);
  const auto number = [&](std::string_view label) {
    return static_cast<std::int64_t>(labelled(status, label).value_or(0));
  };
  usage.rss_peak_bytes = std::max(usage.rss_peak_bytes, number("\nVmHWM:") * 1024);
  usage.voluntary_switches += number("\nvoluntary_ctxt_switches:");
  usage.involuntary_switches += number("\nnonvoluntary_ctxt_switches:");
}

std::vector<pid_t> descendants(pid_t ancestor, bool with_zombies) {
  const auto processes = all_processes();
  std::vector<pid_t> found;
  for (const auto& [process, stat] : processes) {
    const bool ended = stat.state == 'Z' || stat.state == 'X';
    if ((with_zombies || !ended) && descends(process, ancestor, processes)) found.push_back(process);
  }
  return found;
}

std::optional<StorageBytes> sum_of(const std::vector<pid_t>& processes) {
  StorageBytes sum;
  for (const pid_t process : processes) {
    const auto bytes = storage_bytes(process);
    if (!bytes) return std::nullopt;
    sum.read += bytes->read;
    sum.write += bytes->write;
  }
  return sum;
}

}  // namespace

std::vector<pid_t> descendants(pid_t ancestor) { return descendants(ancestor, false); }

std::optional<StorageBytes> storage_bytes_of_descendants(pid_t ancestor) {
  // If a process is waited for during the reading, its bytes move to a parent that may have been read before.
  constexpr int attempts_max = 5;
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    if (const auto sum = sum_of(descendants(ancestor, true))) return sum;
  }
  return std::nullopt;
}

Usage usage_of_descendants(pid_t ancestor) {
  Usage usage;
  for (const pid_t process : descendants(ancestor, true)) {
    add_cpu_time(process, usage);
    add_status(process, usage);
  }
  return usage;
}

std::optional<StorageBytes> storage_bytes(pid_t process) {
  Text text;
  const std::string_view io = read_text(process, "io", text);
  const auto read = labelled(io, "\nread_bytes: ");
  const auto write = labelled(io, "\nwrite_bytes: ");
  if (!read || !write) return std::nullopt;
  return StorageBytes{*read, *write};
}

std::string process_name(pid_t process) {
  Text text;
  std::string_view name = read_text(process, "comm", text);
  if (name.ends_with('\n')) name.remove_suffix(1);
  return name.empty() ? "?" : std::string(name);
}

}  // namespace edgejoule::supervisor
