// What Linux tells of a server. `root` precedes every path (a test's folder; else empty). What cannot be read is
// absent, and a rate needs two readings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace eco {

// A count's growth per second. A count that falls begins anew.
class Rate {
 public:
  [[nodiscard]] std::optional<double> per_s(double now_s, std::optional<double> count);

 private:
  std::optional<double> last_s_, last_count_;
};

// Busy cores, of /proc/stat or of a cgroup (version 2, or version 1 by its folder of the cpu controller); time that a
// hypervisor took counts as neither.
class CpuUse {
 public:
  // cgroup: its folder; empty: the machine.
  CpuUse(std::filesystem::path root, std::filesystem::path cgroup);

  [[nodiscard]] std::optional<double> busy_cores(double now_s);
  // Of the machine, or of the cgroup's quota where that is less.
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
  // interface: empty: the one of the default route, looked up anew when it changes.
  NetworkUse(std::filesystem::path root, std::string interface);

  // Of the direction that is used more: a link carries both at a time.
  [[nodiscard]] std::optional<double> bytes_s(double now_s);
  [[nodiscard]] std::optional<double> link_bytes_s() const;
  [[nodiscard]] std::string interface() const;  // empty: there is none

 private:
  std::filesystem::path root_;
  std::string named_, last_;
  Rate received_, sent_;
};

// The processor's energy counters (RAPL), of all packages, by powercap. Most systems let only root read them.
class Rapl {
 public:
  explicit Rapl(const std::filesystem::path& root);

  [[nodiscard]] bool readable() const { return !packages_.empty(); }
  // Mean power since the reading before.
  [[nodiscard]] std::optional<double> power_w(double now_s);

 private:
  struct Package {
    std::filesystem::path folder;
    double range_uj = 0;  // the counter starts again behind it
    std::optional<double> last_uj;
  };
  std::vector<Package> packages_;
  std::optional<double> last_s_;
};

// What is left of the batteries that feed the machine, in [0, 1]; absent: it has none.
[[nodiscard]] std::optional<double> battery_level(const std::filesystem::path& root);

}  // namespace eco
