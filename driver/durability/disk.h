// A disk of our own: a block device whose every write and flush passes through this program.
//
// A child process serves one file by FUSE; a loop device stands on that file. What the kernel asks of the loop device
// arrives here as reads, writes and syncs of the file: no cache lies between (FUSE direct I/O), so that a request is
// seen before the kernel is told that it is done. The loop device lets go by itself when nobody has it open any more,
// and the FUSE mount is gone as soon as the loop device has the file: nothing is left when all processes have ended,
// however they ended.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "block_trace.h"
#include "child_process.h"

namespace edgejoule::driver {

// What the disk does with requests.
struct DiskContent {
  const SharedMemory* base = nullptr;                      // the content to begin with; it is not changed
  std::function<void(std::span<std::byte>)> before_first;  // changes the copy before it is served; may be empty
  BlockTrace* trace = nullptr;                             // nullptr: requests are not recorded
};

// The mount point must be in a mount namespace that only this program uses.
class Disk {
 public:
  // Throws std::system_error and std::runtime_error.
  Disk(const DiskContent& content, const std::filesystem::path& mount_point);

  // Lets the loop device go and waits for the end of the serving process.
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  [[nodiscard]] const std::string& device() const { return device_; }

  // Writes and flushes the device and looks whether the trace has seen each when the kernel said it was done. Returns
  // what it missed, empty when nothing. The content stays as it is.
  [[nodiscard]] std::string missed_requests(const BlockTrace& trace) const;

 private:
  void attach(const std::filesystem::path& mount_point);

  std::unique_ptr<ChildProcess> server_;
  std::string device_;
  int loop_ = -1;
};

// Why there can be no such disk in this build; empty when there can.
[[nodiscard]] std::string disk_unavailable();

}  // namespace edgejoule::driver
