#include "sensors.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <system_error>

namespace eco {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> text_of(const fs::path& file) {
  std::ifstream in(file);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in || text.empty()) return std::nullopt;
  return text;
}

std::optional<double> number(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> number_of(const fs::path& file) {
  const auto text = text_of(file);
  return text ? number(*text) : std::nullopt;
}

std::vector<std::string> fields_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string field; in >> field;) out.push_back(field);
  return out;
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator(); it.increment(error))
    out.push_back(it->path());
  std::ranges::sort(out);
  return out;
}

fs::path below(const fs::path& root, const fs::path& path) { return root.empty() ? path : root / path.relative_path(); }

// {received, sent}
std::optional<std::pair<double, double>> bytes_of(const fs::path& root, const std::string& interface) {
  const auto text = text_of(below(root, "/proc/net/dev"));
  std::istringstream in(text.value_or(""));
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto name = fields_of(line.substr(0, colon)), fields = fields_of(line.substr(colon + 1));
    if (name.size() != 1 || name[0] != interface || fields.size() < 9) continue;
    const auto received = number(fields[0]), sent = number(fields[8]);
    if (received && sent) return std::pair{*received, *sent};
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> Rate::per_s(double now_s, std::optional<double> count) {
  const auto last_s = last_s_, last_count = last_count_;
  last_s_ = now_s, last_count_ = count;
  if (!count || !last_count || *count < *last_count || !(now_s > *last_s)) return std::nullopt;
  return (*count - *last_count) / (now_s - *last_s);
}

CpuUse::CpuUse(fs::path root, fs::path cgroup) : root_(std::move(root)), cgroup_(std::move(cgroup)) {}

bool CpuUse::version_1() const { return !cgroup_.empty() && fs::exists(below(root_, cgroup_ / "cpu.cfs_quota_us")); }

std::optional<double> CpuUse::busy_cores(double now_s) { return rate_.per_s(now_s, busy_s()); }

// Version 1 may mount its hierarchies separately: .../cpu/NAME has limits, .../cpuacct/NAME counters.
std::optional<double> CpuUse::busy_s_of_version_1() const {
  const fs::path folder = below(root_, cgroup_);
  fs::path counting;
  for (const auto& part : folder) counting /= part == "cpu" ? fs::path("cpuacct") : part;
  for (const auto& place : {folder, counting})
    if (const auto used = number_of(place / "cpuacct.usage")) return *used * 1e-9;
  return std::nullopt;
}

std::optional<double> CpuUse::busy_s() const {
  if (version_1()) return busy_s_of_version_1();
  const auto text = text_of(below(root_, cgroup_.empty() ? fs::path("/proc/stat") : cgroup_ / "cpu.stat"));
  std::istringstream in(text.value_or(""));
  for (std::string line; std::getline(in, line);) {
    const auto fields = fields_of(line);
    if (!cgroup_.empty() && fields.size() == 2 && fields[0] == "usage_usec") {
      const auto used = number(fields[1]);
      return used ? std::optional(*used * 1e-6) : std::nullopt;
    }
    if (cgroup_.empty() && fields.size() >= 8 && fields[0] == "cpu") {
      double ticks = 0;
      for (const std::size_t busy : {1, 2, 3, 6, 7}) {  // user, nice, system, irq, softirq
        const auto value = number(fields[busy]);
        if (!value) return std::nullopt;
        ticks += *value;
      }
      return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
    }
  }
  return std::nullopt;
}

std::optional<double> CpuUse::cores() const {
  const auto text = text_of(below(root_, "/proc/stat"));
  std::istringstream in(text.value_or(""));
  double all = 0;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("cpu") && line.size() > 3 && line[3] != ' ') ++all;
  if (!cgroup_.empty()) {
    std::vector<std::string> quota = fields_of(text_of(below(root_, cgroup_ / "cpu.max")).value_or(""));
    if (version_1())
      for (const char* file : {"cpu.cfs_quota_us", "cpu.cfs_period_us"})
        for (auto& field : fields_of(text_of(below(root_, cgroup_ / file)).value_or("")))
          quota.push_back(std::move(field));
    if (quota.size() != 2) return std::nullopt;
    const auto used = number(quota[0]), period = number(quota[1]);
    if (used && *used > 0 && period && *period > 0) return all > 0 ? std::min(all, *used / *period) : *used / *period;
  }
  return all > 0 ? std::optional(all) : std::nullopt;
}

NetworkUse::NetworkUse(fs::path root, std::string interface) : root_(std::move(root)), named_(std::move(interface)) {}

std::string NetworkUse::interface() const {
  if (!named_.empty()) return named_;
  std::istringstream in(text_of(below(root_, "/proc/net/route")).value_or(""));
  for (std::string line; std::getline(in, line);) {
    const auto fields = fields_of(line);
    if (fields.size() >= 8 && fields[1] == "00000000" && fields[7] == "00000000") return fields[0];
  }
  std::istringstream in6(text_of(below(root_, "/proc/net/ipv6_route")).value_or(""));
  for (std::string line; std::getline(in6, line);) {
    const auto fields = fields_of(line);
    if (fields.size() == 10 && fields[1] == "00" && fields[9] != "lo") return fields[9];
  }
  return "";
}

std::optional<double> NetworkUse::bytes_s(double now_s) {
  const std::string name = interface();
  if (name != last_) received_ = {}, sent_ = {};
  last_ = name;
  const auto bytes = bytes_of(root_, name);
  const auto received = received_.per_s(now_s, bytes ? std::optional(bytes->first) : std::nullopt);
  const auto sent = sent_.per_s(now_s, bytes ? std::optional(bytes->second) : std::nullopt);
  if (!received || !sent) return std::nullopt;
  return std::max(*received, *sent);
}

std::optional<double> NetworkUse::link_bytes_s() const {
  const auto mbit_s = number_of(below(root_, fs::path("/sys/class/net") / interface() / "speed"));
  if (!mbit_s || *mbit_s <= 0) return std::nullopt;
  return *mbit_s * 1e6 / 8;
}

Rapl::Rapl(const fs::path& root) {
  for (const auto& folder : folders_in(below(root, "/sys/class/powercap"))) {
    const auto name = text_of(folder / "name");
    const auto range = number_of(folder / "max_energy_range_uj");
    if (name && name->starts_with("package") && range && number_of(folder / "energy_uj"))
      packages_.push_back({folder, *range, std::nullopt});
  }
}

std::optional<double> Rapl::power_w(double now_s) {
  double sum_uj = 0;
  bool whole = !packages_.empty() && last_s_ && now_s > *last_s_;
  for (auto& package : packages_) {
    const auto now_uj = number_of(package.folder / "energy_uj");
    if (now_uj && package.last_uj)
      sum_uj +=
          *now_uj >= *package.last_uj ? *now_uj - *package.last_uj : *now_uj + package.range_uj - *package.last_uj;
    else
      whole = false;
    package.last_uj = now_uj;
  }
  const double since_s = last_s_ ? now_s - *last_s_ : 0;
  last_s_ = now_s;
  if (!whole) return std::nullopt;
  return sum_uj * 1e-6 / since_s;
}

std::optional<double> battery_level(const fs::path& root) {
  double left = 0, full = 0;
  for (const auto& folder : folders_in(below(root, "/sys/class/power_supply"))) {
    if (text_of(folder / "type").value_or("") != "Battery\n") continue;
    if (text_of(folder / "scope").value_or("") == "Device\n") continue;  // a peripheral's battery, such as a mouse's
    if (number_of(folder / "present").value_or(1) == 0) continue;
    auto now = number_of(folder / "energy_now"), most = number_of(folder / "energy_full");
    if (!now || !most) now = number_of(folder / "charge_now"), most = number_of(folder / "charge_full");
    if (!now || !most) now = number_of(folder / "capacity"), most = 100;
    if (!now || !(*most > 0)) return std::nullopt;
    left += *now, full += *most;
  }
  if (full <= 0) return std::nullopt;
  return std::clamp(left / full, 0.0, 1.0);
}

}  // namespace eco
