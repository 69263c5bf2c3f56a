#include "shared_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace edgejoule::driver {
namespace {

[[noreturn]] void refuse(const char* what, std::size_t bytes) {
  throw std::system_error(errno, std::generic_category(), fmt::format("{} of {} bytes of shared memory", what, bytes));
}

std::byte* mapped(int descriptor, std::size_t bytes, int sharing) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, sharing | MAP_NORESERVE, descriptor, 0);
  if (data == MAP_FAILED) refuse("mapping", bytes);
  return static_cast<std::byte*>(data);
}

}  // namespace

SharedMemory::SharedMemory(const std::string& name, std::size_t bytes)
    : descriptor_(memfd_create(name.c_str(), MFD_CLOEXEC)), size_(bytes) {
  if (descriptor_ < 0) refuse("creation", bytes);
  if (ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) refuse("creation", bytes);
  data_ = mapped(descriptor_, bytes, MAP_SHARED);
}

SharedMemory::~SharedMemory() {
  munmap(data_, size_);
  close(descriptor_);
}

std::string SharedMemory::path() const { return fmt::format("/proc/{}/fd/{}", getpid(), descriptor_); }

PrivateView::PrivateView(const SharedMemory& base)
    : data_(mapped(base.descriptor(), base.bytes().size(), MAP_PRIVATE)), size_(base.bytes().size()) {}

PrivateView::~PrivateView() { munmap(data_, size_); }

}  // namespace edgejoule::driver
