#include "standard_files.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace edgejoule::supervisor {
namespace {

constexpr int others_begin = 3;

void close_others_on_exec() {
  if (::syscall(SYS_close_range, others_begin, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  const long limit = ::sysconf(_SC_OPEN_MAX);  // Linux before 5.11
  for (int descriptor = others_begin; descriptor < limit; ++descriptor) ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

}  // namespace

void protect_descriptors() {
  close_others_on_exec();
  for (int descriptor = 0; descriptor < others_begin; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) < 0) (void)::open("/dev/null", O_RDWR);  // takes the lowest free number
  }
}

int take_standard_input() {
  const int input = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, others_begin);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (input < 0 || nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0) {
    throw std::system_error(errno, std::generic_category(), "standard input");
  }
  ::close(nothing);
  return input;
}

StandardFiles::StandardFiles(int report) {
  struct stat reports {};
  if (::fstat(report, &reports) != 0) throw std::system_error(errno, std::generic_category(), "--report-fd");
  for (int descriptor = 0; descriptor < others_begin; ++descriptor) {
    File& file = files_[static_cast<std::size_t>(descriptor)];
    struct stat status {};
    const bool known = ::fstat(descriptor, &status) == 0;
    const bool shared = status.st_dev == reports.st_dev && status.st_ino == reports.st_ino;
    file.regular = known && S_ISREG(status.st_mode) && !shared;
    if (!file.regular) continue;
    file.writable = (::fcntl(descriptor, F_GETFL) & O_ACCMODE) != O_RDONLY;
    file.offset = ::lseek(descriptor, 0, SEEK_CUR);
    file.bytes = status.st_size;
  }
}

void StandardFiles::restore() const {
  for (int descriptor = 0; descriptor < others_begin; ++descriptor) {
    const File& file = files_[static_cast<std::size_t>(descriptor)];
    if (!file.regular) continue;
    if (file.writable && ::ftruncate(descriptor, file.bytes) != 0) {
      throw std::system_error(errno, std::generic_category(), "the output cannot be truncated for the next repetition");
    }
    ::lseek(descriptor, file.offset, SEEK_SET);
  }
}

}  // namespace edgejoule::supervisor
