// A volume in an image or on a block device, locked against other processes and mounted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lunar.h"
#include "posix.h"

namespace shell {

struct VolumeOptions {
  std::string path;
  lunar_mode mode = LUNAR_MODE_FULL;
  std::size_t buffer_bytes = std::size_t{1} << 20;
  std::uint32_t sector_bytes = 0;  // 0: what the volume has
  bool read_only = false;          // several processes may; what the mount would write stays in memory
  bool skip_damage = false;        // what cannot be read or is damaged ends the log
};

// The device below the volume: it adds to lunar_posix Ctrl-C, and memory for writes that must not reach it.
class Device {
 public:
  // Throws Failure.
  explicit Device(const VolumeOptions& options);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  lunar_config config{};
  std::string failure() const;  // the last failure, with a colon before it; empty without one
  std::function<bool()> stops;  // asked after each request, see lunar_config.progress

 private:
  using Sector = std::vector<std::uint8_t>;

  void open_to_read(const std::string& path);
  int read_sectors(std::uint32_t sector, std::uint8_t* data, std::uint32_t count);

  lunar_posix posix_{};
  lunar_config inner_{};
  std::unique_ptr<std::uint8_t[]> buffer_;
  std::unordered_map<std::uint32_t, Sector> kept_;  // what a read-only volume would have written
  int descriptor_ = -1;                             // of a read-only volume
  int errno_ = 0;
};

class Volume {
 public:
  explicit Volume(const VolumeOptions& options);
  ~Volume();
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  lunar* handle() { return &db_; }
  bool read_only() const { return options_.read_only; }
  bool in_mode_none() const { return options_.mode == LUNAR_MODE_NONE; }
  const std::string& path() const { return options_.path; }
  // Returns the error's text, the remedy, and the device's reason.
  std::string explain(int error) const;
  // Asked after each request of lunar_check whether it shall stop; empty: it does not.
  void watch(std::function<bool()> stops) { device_->stops = std::move(stops); }
  // After an error that could not be undone: what was committed is there again.
  void remount();
  // Makes everything durable. An open transaction is rolled back: then true.
  bool close();

 private:
  void mount();
  void repair_tables();

  VolumeOptions options_;
  std::unique_ptr<Device> device_;
  lunar db_{};
  bool mounted_ = false;
};

}  // namespace shell
