// The image or block device under lunar: made, held against other programs, and counted.
//
// lunar says of a failure of its device only that there was one, and counts calls modulo 2^32: so every call goes
// through here, where the system's reason is kept and bytes are counted, those of the log apart.
#pragma once

#include <lunar.h>
#include <posix.h>

#include <cstdint>
#include <string>

#include "settings.h"

namespace edgejoule::driver {

class LunarDevice {
 public:
  // Opens the file, or makes it when it is absent and `create` is set. Throws DatabaseError.
  LunarDevice(const LunarSettings& settings, bool create);
  ~LunarDevice();
  LunarDevice(const LunarDevice&) = delete;
  LunarDevice& operator=(const LunarDevice&) = delete;

  // Callbacks, context and sizes of the device; the rest is the caller's to set.
  [[nodiscard]] lunar_config& config() { return config_; }

  // Whether its beginning holds nothing but zeros: no volume, and nobody's data.
  [[nodiscard]] bool blank();

  // Whether the path still names what is open.
  [[nodiscard]] bool still_there() const;

  // The system's reason for the last failure since this was asked; empty when there was none.
  [[nodiscard]] std::string take_failure();

  void log_lies_at(std::uint64_t begin_bytes, std::uint64_t end_bytes);

  // flushes: of the image, which holds log and pages.
  struct Counts : IoCounts {
    std::uint64_t log_read_bytes = 0, log_write_bytes = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  void make(const LunarSettings& settings);
  void claim_block_device();
  int outcome(int error);

  std::string file_;
  lunar_posix posix_{};
  int claim_ = -1;         // of a block device
  lunar_config inner_{};   // of the port
  lunar_config config_{};  // what lunar works with
  int failure_ = 0;        // errno
  std::uint32_t log_begin_ = 0;
  std::uint32_t log_end_ = 0;
  Counts counts_;
};

}  // namespace edgejoule::driver
