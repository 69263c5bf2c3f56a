// The image file or block device under lunar: creates it, locks it against other programs, and counts its I/O.
//
// lunar reports that a device call failed but not why, and counts calls modulo 2^32. Every call therefore passes
// through this class, which stores the system's error and counts bytes, with a separate count for the log.
#pragma once

#include <lunar.h>
#include <posix.h>

#include <cstdint>
#include <string>

#include "settings.h"

namespace edgejoule::driver {

class LunarDevice {
 public:
  // Opens the file, or creates it if it is absent and `create` is set. Throws DatabaseError.
  LunarDevice(const LunarSettings& settings, bool create);
  ~LunarDevice();
  LunarDevice(const LunarDevice&) = delete;
  LunarDevice& operator=(const LunarDevice&) = delete;

  // The device's callbacks, context and sizes are set. The caller sets the rest.
  [[nodiscard]] lunar_config& config() { return config_; }

  // True if the beginning contains only zeros: neither a volume nor other data.
  [[nodiscard]] bool blank();

  // True if the path still refers to the open file.
  [[nodiscard]] bool still_there() const;

  // Returns the system's message for the last failure since the previous call; empty if there was none.
  [[nodiscard]] std::string take_failure();

  void log_lies_at(std::uint64_t begin_bytes, std::uint64_t end_bytes);

  // flushes: of the whole image, which contains log and pages.
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
  int claim_ = -1;         // the exclusive claim on a block device
  lunar_config inner_{};   // of lunar's port
  lunar_config config_{};  // passed to lunar
  int failure_ = 0;        // errno
  std::uint32_t log_begin_ = 0;
  std::uint32_t log_end_ = 0;
  Counts counts_;
};

}  // namespace edgejoule::driver
