// Reads a server's load from Linux. `root` precedes every path (a test's folder, else empty). An unreadable value is
// absent; a rate needs two readings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace eco {

// Growth of a counter per second. A falling counter restarts it.
class Rate {
 public:
  [[nodiscard]] std::optional<double> per_s(double now_s, std::optional<double> count);

 private:
  std::optional<double> last_s_, last_count_;
};

// Busy cores, from /proc/stat or a cgroup (version 2, or the cpu controller's folder of version 1). Time stolen by a
// hypervisor counts neither as busy nor as idle.
class CpuUse {
 public:
  // cgroup: its folder; empty: the whole machine.
  CpuUse(std::filesystem::path root, std::filesystem::path cgroup);

  [[nodiscard]] std::optional<double> busy_cores(double now_s);
  // Cores of the machine, or the cgroup's quota if less.
  [[nodiscard]] std::optional<double> cores() const;

 private:
  [[nodiscard]] bool version_1() const;
  [[nodiscard]] std::optional<double> busy_s() const;
  [[nodiscard]] std::optional<double> busy_s_of_version_1() const;

  std::filesystem::path root_, cgroup_;
  Rate rate_;
};

class NetworkUse {
 public:
  // interface: empty: that of the default route, also after a change of it.
  NetworkUse(std::filesystem::path root, std::string interface);

  // Rate of the busier direction: a link carries both directions at the same time.
  [[nodiscard]] std::optional<double> bytes_s(double now_s);
  [[nodiscard]] std::optional<double> link_bytes_s() const;
  [[nodiscard]] std::string interface() const;  // empty: none

 private:
  std::filesystem::path root_;
  std::string named_, last_;
  Rate received_, sent_;
};

// The processor's energy counters (RAPL) of all packages, from powercap. On most systems only root can read them.
class Rapl {
 public:
  explicit Rapl(const std::filesystem::path& root);

  [[nodiscard]] bool readable() const { return !packages_.empty(); }
  // Mean power since the previous reading.
  [[nodiscard]] std::optional<double> power_w(double now_s);

 private:
  struct Package {
    std::filesystem::path folder;
    double range_uj = 0;  // the counter wraps after it
    std::optional<double> last_uj;
  };
  std::vector<Package> packages_;
  std::optional<double> last_s_;
};

// Charge of the batteries that feed the machine, in [0, 1]; absent: no battery.
[[nodiscard]] std::optional<double> battery_level(const std::filesystem::path& root);

}  // namespace eco
