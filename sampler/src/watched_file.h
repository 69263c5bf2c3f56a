// A small file of the kernel that is read again and again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reading.h"

namespace edgejoule::sampler {

// What a file holds, and so how many values it gives.
enum class Content : std::uint8_t {
  whole_number,  // one value
  cpu_times,     // /proc/stat's text; two values: CPUs online, and their idle time in ticks (cpu_times.h)
};

[[nodiscard]] constexpr std::size_t values_of(Content content) { return content == Content::cpu_times ? 2 : 1; }

struct FileOrder {
  std::string path;
  Content content = Content::whole_number;
};

// The file stays open between readings. One that cannot be read (its device is gone) is opened anew, at most every
// 100 ms. Not for several threads.
class WatchedFile {
 public:
  explicit WatchedFile(FileOrder order);
  ~WatchedFile();
  WatchedFile(WatchedFile&& other) noexcept;
  WatchedFile& operator=(WatchedFile&&) = delete;
  WatchedFile(const WatchedFile&) = delete;
  WatchedFile& operator=(const WatchedFile&) = delete;

  [[nodiscard]] std::size_t values() const { return values_of(content_); }

  // Fills in value and error of values() readings. now_ns: CLOCK_MONOTONIC, for the distance between attempts to open.
  void read(std::span<Reading> readings, std::int64_t now_ns);

 private:
  [[nodiscard]] bool open(std::int64_t now_ns);
  [[nodiscard]] std::int32_t read_text(std::int64_t now_ns);
  void close();

  std::string path_;
  Content content_;
  std::vector<char> buffer_;
  std::size_t length_ = 0;  // of the text in buffer_
  int descriptor_ = -1;
  std::int32_t open_error_ = 0;
  std::int64_t open_again_ns_ = 0;
};

}  // namespace edgejoule::sampler
