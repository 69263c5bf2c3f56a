// A virtual disk: a block device whose writes and flushes all pass through this program.
//
// A child process serves one file by FUSE, and a loop device uses that file. The kernel's requests to the loop device
// arrive here as reads, writes and syncs of the file. FUSE direct I/O leaves no cache in between, so a request is
// recorded before the kernel learns that it is done. The loop device detaches itself when no process has it open, and
// the FUSE mount is removed as soon as the loop device has the file. Nothing remains when all processes have ended,
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

// The disk's contents and its trace.
struct DiskContent {
  const SharedMemory* base = nullptr;                      // initial contents; not changed
  std::function<void(std::span<std::byte>)> before_first;  // changes the copy before it is served; may be empty
  BlockTrace* trace = nullptr;                             // nullptr: requests are not recorded
};

// The mount point must be in a mount namespace that only this program uses.
class Disk {
 public:
  // Throws std::system_error and std::runtime_error.
  Disk(const DiskContent& content, const std::filesystem::path& mount_point);

  // Detaches the loop device and waits for the end of the serving process.
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  [[nodiscard]] const std::string& device() const { return device_; }

  // Checks the disk: writes and flushes the device and verifies that the trace contains each request when the kernel
  // reports it done. Returns the missing requests, empty if there are none. The contents stay unchanged.
  [[nodiscard]] std::string missed_requests(const BlockTrace& trace) const;

 private:
  void attach(const std::filesystem::path& mount_point);

  std::unique_ptr<ChildProcess> server_;
  std::string device_;
  int loop_ = -1;
};

// Why this build cannot create a disk; empty if it can.
[[nodiscard]] std::string disk_unavailable();

}  // namespace edgejoule::driver
