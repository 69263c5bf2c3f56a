#include "exclusive_use.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "contract/adapter.h"

namespace edgejoule::driver {
namespace {

// The process that holds a flock on the open file, from the kernel's list: "1: FLOCK ADVISORY WRITE 4711 08:01:1234 0
// EOF".
std::string holder_of(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return "";
  std::ifstream locks("/proc/locks");
  std::string number, kind, mode, access, process, file, begin, end;
  while (locks >> number >> kind >> mode >> access >> process >> file >> begin >> end) {
    if (kind == "FLOCK" && file.ends_with(fmt::format(":{}", status.st_ino)))
      return fmt::format(" (process {})", process);
  }
  return "";
}

}  // namespace

void ExclusiveUse::take(const std::string& file, bool create, std::string_view adapter, bool concurrent) {
  release();
  constexpr mode_t file_mode = 0644;
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), file_mode);
  if (descriptor_ < 0) descriptor_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) return;  // the library reports why it cannot open the file
  if (flock(descriptor_, (concurrent ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  const auto holder = holder_of(descriptor_);
  release();
  throw DatabaseError(
      fmt::format("{} is in use by another edgejoule-driver{}; wait until it ends, or set {}.allow_concurrent=true for "
                  "both",
                  file, holder, adapter));
}

void ExclusiveUse::release() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace edgejoule::driver
