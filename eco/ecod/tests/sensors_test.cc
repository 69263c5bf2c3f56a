#include "sensors.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "telemetry.h"
#include "temporary_folder.h"

namespace {

using eco::test::TemporaryFolder;

constexpr const char* route =
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "eth1\t0001A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n"
    "eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n";

std::string stat(double busy_s, double idle_s) {
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return fmt::format(
      "cpu  {:.0f} 0 0 {:.0f} 700 0 0 900 0 0\ncpu0 1 0 0 1 0 0 0 0 0 0\ncpu1 1 0 0 1 0 0 0 0 0 0\nintr 1\n",
      busy_s * ticks, idle_s * ticks);
}

std::string dev(long eth0_received, long eth0_sent) {
  return fmt::format(
      "Inter-|   Receive    |  Transmit\n face |bytes    packets|bytes packets\n"
      "    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0\n  eth0: {} 1 0 0 0 0 0 0 {} 1 0 0 0 0 0 0\n",
      eth0_received, eth0_sent);
}

TEST(CpuUse, busy_cores_are_the_time_that_is_not_idle_waiting_or_stolen) {
  const TemporaryFolder root;
  eco::CpuUse cpu(root.path(), "");
  root.write("proc/stat", stat(100, 1000));
  EXPECT_EQ(cpu.busy_cores(0), std::nullopt) << "one reading has no rate";
  root.write("proc/stat", stat(103, 1001));
  EXPECT_NEAR(cpu.busy_cores(2).value(), 1.5, 1e-9);
  EXPECT_EQ(cpu.cores(), 2);
}

TEST(CpuUse, a_failed_reading_is_missing_and_so_is_the_rate_after_it) {
  const TemporaryFolder root;
  eco::CpuUse cpu(root.path(), "");
  root.write("proc/stat", stat(1, 1));
  (void)cpu.busy_cores(0);
  std::filesystem::remove(root.path() / "proc/stat");
  EXPECT_EQ(cpu.busy_cores(1), std::nullopt);
  root.write("proc/stat", stat(2, 1));
  EXPECT_EQ(cpu.busy_cores(2), std::nullopt);
  root.write("proc/stat", stat(3, 1));
  EXPECT_EQ(cpu.busy_cores(3), 1);
  root.write("proc/stat", stat(0.5, 1));
  EXPECT_EQ(cpu.busy_cores(4), std::nullopt) << "a count that falls";
}

TEST(CpuUse, a_cgroup_counts_its_own_time_and_its_quota) {
  const TemporaryFolder root;
  root.write("proc/stat", stat(1, 1));
  root.write("sys/fs/cgroup/low/cpu.max", "40000 100000\n");
  root.write("sys/fs/cgroup/low/cpu.stat", "usage_usec 1000000\nuser_usec 1\n");
  eco::CpuUse cpu(root.path(), "/sys/fs/cgroup/low");
  (void)cpu.busy_cores(0);
  root.write("sys/fs/cgroup/low/cpu.stat", "usage_usec 1300000\nuser_usec 1\n");
  EXPECT_NEAR(cpu.busy_cores(1).value(), 0.3, 1e-9);
  EXPECT_NEAR(cpu.cores().value(), 0.4, 1e-9);
  root.write("sys/fs/cgroup/low/cpu.max", "max 100000\n");
  EXPECT_EQ(cpu.cores(), 2);
}

TEST(CpuUse, a_cgroup_of_version_1_counts_with_its_limits_or_apart_from_them) {
  for (const char* counting : {"sys/fs/cgroup/cpu/low", "sys/fs/cgroup/cpuacct/low"}) {
    const TemporaryFolder root;
    root.write("proc/stat", stat(1, 1));
    root.write("sys/fs/cgroup/cpu/low/cpu.cfs_quota_us", "8000\n");
    root.write("sys/fs/cgroup/cpu/low/cpu.cfs_period_us", "20000\n");
    root.write("sys/fs/cgroup/cpu/low/cpu.stat", "nr_periods 1\n");
    root.write(std::string(counting) + "/cpuacct.usage", "1000000000\n");
    eco::CpuUse cpu(root.path(), "/sys/fs/cgroup/cpu/low");
    (void)cpu.busy_cores(0);
    root.write(std::string(counting) + "/cpuacct.usage", "1300000000\n");
    EXPECT_NEAR(cpu.busy_cores(1).value_or(0), 0.3, 1e-9) << counting;
    EXPECT_NEAR(cpu.cores().value_or(0), 0.4, 1e-9) << counting;
    root.write("sys/fs/cgroup/cpu/low/cpu.cfs_quota_us", "-1\n");
    EXPECT_EQ(cpu.cores(), 2) << counting;
  }
}

TEST(NetworkUse, counts_the_busier_direction_of_the_default_routes_interface) {
  const TemporaryFolder root;
  root.write("proc/net/route", route);
  root.write("proc/net/dev", dev(1000, 5000));
  root.write("sys/class/net/eth0/speed", "1000\n");
  eco::NetworkUse network(root.path(), "");
  EXPECT_EQ(network.interface(), "eth0");
  EXPECT_EQ(network.bytes_s(0), std::nullopt);
  root.write("proc/net/dev", dev(1400, 5100));
  EXPECT_EQ(network.bytes_s(2), 200);
  EXPECT_EQ(network.link_bytes_s(), 125e6);
}

TEST(NetworkUse, an_interface_that_is_not_there_or_has_no_speed_is_missing) {
  const TemporaryFolder root;
  root.write("proc/net/dev", dev(1, 1));
  root.write("sys/class/net/eth0/speed", "-1\n");
  eco::NetworkUse none(root.path(), "eth7"), unknown_speed(root.path(), "eth0");
  (void)none.bytes_s(0);
  EXPECT_EQ(none.bytes_s(1), std::nullopt);
  EXPECT_EQ(unknown_speed.link_bytes_s(), std::nullopt);
}

TEST(Rapl, a_counter_that_starts_again_goes_on) {
  const TemporaryFolder root;
  root.write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
  root.write("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "1000000\n");
  root.write("sys/class/powercap/intel-rapl:0/energy_uj", "900000\n");
  root.write("sys/class/powercap/intel-rapl:0:0/name", "core\n");
  root.write("sys/class/powercap/intel-rapl:0:0/max_energy_range_uj", "1000000\n");
  root.write("sys/class/powercap/intel-rapl:0:0/energy_uj", "1\n");
  eco::Rapl rapl(root.path());
  ASSERT_TRUE(rapl.readable());
  EXPECT_EQ(rapl.power_w(0), std::nullopt);
  root.write("sys/class/powercap/intel-rapl:0/energy_uj", "400000\n");
  EXPECT_NEAR(rapl.power_w(2).value(), 0.25, 1e-9);
  std::filesystem::remove(root.path() / "sys/class/powercap/intel-rapl:0/energy_uj");
  EXPECT_EQ(rapl.power_w(3), std::nullopt) << "a failed reading is no power of zero";
  root.write("sys/class/powercap/intel-rapl:0/energy_uj", "500000\n");
  EXPECT_EQ(rapl.power_w(4), std::nullopt);
}

TEST(Battery, of_all_that_feed_the_machine) {
  const TemporaryFolder root;
  EXPECT_EQ(eco::battery_level(root.path()), std::nullopt) << "mains";
  root.write("sys/class/power_supply/AC/type", "Mains\n");
  root.write("sys/class/power_supply/mouse/type", "Battery\n");
  root.write("sys/class/power_supply/mouse/scope", "Device\n");
  root.write("sys/class/power_supply/mouse/capacity", "3\n");
  EXPECT_EQ(eco::battery_level(root.path()), std::nullopt);
  root.write("sys/class/power_supply/BAT0/type", "Battery\n");
  root.write("sys/class/power_supply/BAT0/energy_now", "10\n");
  root.write("sys/class/power_supply/BAT0/energy_full", "20\n");
  root.write("sys/class/power_supply/BAT1/type", "Battery\n");
  root.write("sys/class/power_supply/BAT1/energy_now", "30\n");
  root.write("sys/class/power_supply/BAT1/energy_full", "60\n");
  EXPECT_EQ(eco::battery_level(root.path()), 0.5);
  std::filesystem::remove(root.path() / "sys/class/power_supply/BAT1/energy_now");
  EXPECT_EQ(eco::battery_level(root.path()), std::nullopt) << "a part is not the whole";
}

TEST(PowerModel, learns_the_watts_of_a_core_from_rapl_once_the_load_has_varied) {
  eco::PowerModel model({.busy_core_w = 3, .idle_w = 7});
  for (int i = 0; i < 100; ++i) model.observe(1.0, 20);
  EXPECT_EQ(model.method(), "modelled (declared)") << "one load has no slope";
  EXPECT_EQ(model.power().busy_core_w, 3);
  for (int i = 0; i < 200; ++i) model.observe(i % 4, 12 + 8.0 * (i % 4));
  EXPECT_EQ(model.method(), "counted (RAPL)");
  EXPECT_NEAR(model.power().busy_core_w, 8, 0.5);
  EXPECT_NEAR(model.power().idle_w, 12, 0.5);
}

TEST(PowerModel, says_where_its_watts_are_only_defaults) {
  EXPECT_EQ(eco::PowerModel({}).method(), "modelled (defaults)");
  EXPECT_EQ(eco::PowerModel({.busy_core_w = 3}).method(), "modelled (defaults)");
}

}  // namespace
