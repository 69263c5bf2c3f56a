// Resources the process and the device under the data have used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace edgejoule::driver {

// What cannot be read is missing, never zero.
struct Usage {
  std::optional<std::uint64_t> cpu_user_ns;
  std::optional<std::uint64_t> cpu_system_ns;
  std::optional<std::uint64_t> rss_bytes;  // now
  std::optional<std::uint64_t> process_read_bytes;
  std::optional<std::uint64_t> process_write_bytes;  // less what the driver itself wrote
  std::optional<std::string> device;
  std::optional<std::uint64_t> device_read_bytes;
  std::optional<std::uint64_t> device_write_bytes;
  std::optional<std::uint64_t> device_reads;
  std::optional<std::uint64_t> device_writes;   // a flush without data is one, too
  std::optional<std::uint64_t> device_flushes;  // Linux 5.5 and later
  std::optional<std::uint64_t> context_switches;

  // Of user and system together.
  [[nodiscard]] std::optional<std::uint64_t> cpu_ns() const;
};

// Tells that the driver itself has written, for its own purposes: its events, progress, report, or the trace it
// records. Usage leaves these bytes out of process_write_bytes, which is what the database wrote. Any thread may call
// it.
void count_own_writes(std::uint64_t bytes);

// Since the process (the device: the machine) started. device: kernel name or nothing.
[[nodiscard]] Usage usage_now(const std::optional<std::string>& device);

// `now` less `begin`; RSS stays that of now.
[[nodiscard]] Usage usage_since(const Usage& begin, const Usage& now);

// VmHWM, or what getrusage says where /proc is absent.
[[nodiscard]] std::uint64_t rss_peak_bytes();

// CPU time of the process at the finest resolution the system has.
[[nodiscard]] std::uint64_t process_cpu_ns();

}  // namespace edgejoule::driver
