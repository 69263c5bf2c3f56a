// Memory that a process shares with its forked children. A page uses memory only once it is written.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace edgejoule::driver {

class SharedMemory {
 public:
  // The memory is zeroed. Throws std::system_error.
  SharedMemory(const std::string& name, std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }

  // A path for programs that need a file: /proc/PID/fd/N of this process.
  [[nodiscard]] std::string path() const;
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
  std::byte* data_ = nullptr;
  std::size_t size_;
};

// A private copy of shared memory. It uses memory only for changed pages.
class PrivateView {
 public:
  explicit PrivateView(const SharedMemory& base);
  ~PrivateView();
  PrivateView(const PrivateView&) = delete;
  PrivateView& operator=(const PrivateView&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_;
};

}  // namespace edgejoule::driver
