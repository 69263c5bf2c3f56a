#include "process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>
#include <unordered_map>

namespace edgejoule::supervisor {
namespace {

struct Stat {
  pid_t parent;
  char state;
};

using Text = std::array<char, 1024>;

// The beginning of a file of /proc/PID; empty when it cannot be read.
std::string_view read_text(pid_t process, const char* name, Text& text) {
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
  // The list is no snapshot, so that reused ids could form a circle: steps are bounded by its size.
  for (std::size_t steps = 0; steps < processes.size(); ++steps) {
    const auto found = processes.find(process);
    if (found == processes.end()) return false;
    process = found->second.parent;
    if (process == ancestor) return true;
  }
  return false;
}

std::optional<std::uint64_t> labelled(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + at + label.size(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
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
  // A process that is waited for during the reading gives its bytes to a parent that may have been read before.
  constexpr int attempts_max = 5;
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    if (const auto sum = sum_of(descendants(ancestor, true))) return sum;
  }
  return std::nullopt;
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
