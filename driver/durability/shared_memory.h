// Memory that a process shares with the children it forks. Pages count only once they are written.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace edgejoule::driver {

class SharedMemory {
 public:
  // Zeroed. Throws std::system_error.
  SharedMemory(const std::string& name, std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }

  // For programs that want a file: /proc/PID/fd/N of this process.
  [[nodiscard]] std::string path() const;
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
  std::byte* data_ = nullptr;
  std::size_t size_;
};

// A copy of shared memory that costs only the pages that are changed in it.
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
