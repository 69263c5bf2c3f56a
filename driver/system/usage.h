// Resources used by the process and by the device that holds the data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace edgejoule::driver {

// A value that cannot be read is missing, never zero.
struct Usage {
  std::optional<std::uint64_t> cpu_user_ns;
  std::optional<std::uint64_t> cpu_system_ns;
  std::optional<std::uint64_t> rss_bytes;  // current
  std::optional<std::uint64_t> process_read_bytes;
  std::optional<std::uint64_t> process_write_bytes;  // without the driver's own writes
  std::optional<std::string> device;
  std::optional<std::uint64_t> device_read_bytes;
  std::optional<std::uint64_t> device_write_bytes;
  std::optional<std::uint64_t> device_reads;
  std::optional<std::uint64_t> device_writes;   // includes flushes without data
  std::optional<std::uint64_t> device_flushes;  // Linux 5.5 and later
  std::optional<std::uint64_t> context_switches;

  // user and system time
  [[nodiscard]] std::optional<std::uint64_t> cpu_ns() const;
};

// Counts bytes that the driver itself writes (events, progress, report, recorded trace). They are left out of
// process_write_bytes, so that it shows the database's writes. Any thread may call it.
void count_own_writes(std::uint64_t bytes);

// Totals since the process started; for the device since the machine started. device: kernel name or nullopt.
[[nodiscard]] Usage usage_now(const std::optional<std::string>& device);

// `now` minus `begin`. RSS is that of `now`.
[[nodiscard]] Usage usage_since(const Usage& begin, const Usage& now);

// VmHWM, or the value of getrusage if /proc is absent.
[[nodiscard]] std::uint64_t rss_peak_bytes();

// CPU time of the process at the finest resolution the system has.
[[nodiscard]] std::uint64_t process_cpu_ns();

}  // namespace edgejoule::driver
