// A small kernel file that is read repeatedly.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reading.h"

namespace edgejoule::sampler {

// The contents of a file, which determine its number of values.
enum class Content : std::uint8_t {
  whole_number,  // one value
  cpu_times,     // /proc/stat; two values: CPUs online and their idle time in ticks (cpu_times.h)
};

[[nodiscard]] constexpr std::size_t values_of(Content content) { return content == Content::cpu_times ? 2 : 1; }

struct FileOrder {
  std::string path;
  Content content = Content::whole_number;
};

// The file stays open between readings. After a failed read (its device is gone) it is reopened, at most every 100 ms.
// Not thread safe.
class WatchedFile {
 public:
  explicit WatchedFile(FileOrder order);
  ~WatchedFile();
  WatchedFile(WatchedFile&& other) noexcept;
  WatchedFile& operator=(WatchedFile&&) = delete;
  WatchedFile(const WatchedFile&) = delete;
  WatchedFile& operator=(const WatchedFile&) = delete;

  [[nodiscard]] std::size_t values() const { return values_of(content_); }

  // Sets value and error of values() readings. now_ns: CLOCK_MONOTONIC, which limits the attempts to reopen.
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
  std::int64_t reopen_ns_ = 0;
};

}  // namespace edgejoule::sampler
