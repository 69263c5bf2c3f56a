// A small file of the kernel that is read again and again.
#pragma once

#include <cstdint>
#include <string>

#include "reading.h"

namespace edgejoule::sampler {

// The file stays open between readings. One that cannot be read (its device is gone) is opened anew, at most every
// 100 ms. Not for several threads.
class WatchedFile {
 public:
  explicit WatchedFile(std::string path) : path_(std::move(path)) {}
  ~WatchedFile();
  WatchedFile(WatchedFile&& other) noexcept;
  WatchedFile& operator=(WatchedFile&&) = delete;
  WatchedFile(const WatchedFile&) = delete;
  WatchedFile& operator=(const WatchedFile&) = delete;

  // Fills in value and error. now_ns: CLOCK_MONOTONIC, for the distance between attempts to open.
  void read(Reading& reading, std::int64_t now_ns);

 private:
  [[nodiscard]] bool open(std::int64_t now_ns);
  void close();

  std::string path_;
  int descriptor_ = -1;
  std::int32_t open_error_ = 0;
  std::int64_t open_again_ns_ = 0;
};

}  // namespace edgejoule::sampler
