#include "disk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/loop.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "disk_server.h"
#include "system/interruption.h"
#include "workplace.h"

namespace edgejoule::driver {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t sector_bytes = 512;
constexpr std::size_t probe_bytes = 4096;

[[noreturn]] void refuse(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool valid() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

void serve(const DiskContent& content, const std::filesystem::path& mount_point, int ready) {
  // Ctrl-C and the end of the terminal signal all processes. The disk must stay until the others have released it.
  ignore_interruptions();
  // libfuse prints the end of the connection as an error, although it is normal here.
  const Descriptor nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
  dup2(nowhere.number(), STDERR_FILENO);
#ifdef PR_SET_IO_FLUSHER
  // Otherwise the kernel, short of memory, could wait for this disk to write from within this process (deadlock).
  prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
#endif
  const PrivateView image(*content.base);
  if (content.before_first) content.before_first(image.bytes());
  serve_disk(image.bytes(), content.trace, mount_point, [ready] { close(ready); });
}

// Waits until the other end of the pipe is closed.
void wait_for_end(int pipe_end) {
  char unused = 0;
  while (read(pipe_end, &unused, 1) < 0 && errno == EINTR) stop_when_interrupted();
}

loop_config configuration(int file) {
  loop_config configuration{};
  configuration.fd = static_cast<std::uint32_t>(file);
  configuration.block_size = sector_bytes;
  configuration.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
  return configuration;
}

// Aligned for direct I/O.
using Buffer = std::unique_ptr<void, decltype(&std::free)>;

Buffer aligned_buffer() { return {std::aligned_alloc(probe_bytes, probe_bytes), std::free}; }

}  // namespace

Disk::Disk(const DiskContent& content, const std::filesystem::path& mount_point) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) refuse("pipe to the disk's process");
  const Descriptor ready(ends[0]);
  Descriptor child_end(ends[1]);
  server_ = std::make_unique<ChildProcess>([&] { serve(content, mount_point, child_end.number()); });
  close(child_end.release());
  wait_for_end(ready.number());
  attach(mount_point);
}

void Disk::attach(const std::filesystem::path& mount_point) {
  const auto path = mount_point / disk_file_name();
  const Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file.valid()) {
    const auto reason = server_->alive() ? std::string(std::strerror(errno)) : server_->wait_through(1s);
    throw std::runtime_error(fmt::format("cannot open the disk at {}: {}", path.string(), reason));
  }
  umount2(mount_point.c_str(), MNT_DETACH);
  const Descriptor control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control.valid()) refuse("/dev/loop-control");
  constexpr int tries_max = 100;  // another program may take the free device first
  for (int tries = 0; tries < tries_max; ++tries) {
    const int number = ioctl(control.number(), LOOP_CTL_GET_FREE);
    if (number < 0) refuse("search for a free loop device");
    device_ = fmt::format("/dev/loop{}", number);
    Descriptor loop(open(device_.c_str(), O_RDWR | O_CLOEXEC));
    if (!loop.valid()) refuse(device_);
    const auto wanted = configuration(file.number());
    if (ioctl(loop.number(), LOOP_CONFIGURE, &wanted) == 0) {
      loop_ = loop.release();
      return;
    }
    if (errno != EBUSY) refuse(fmt::format("attaching the disk to {}", device_));
    usleep(1000);
  }
  throw std::runtime_error("no free loop device: other programs take them first");
}

Disk::~Disk() {
  if (loop_ >= 0) close(loop_);
  // The server ends once no process has the device open. If that takes too long, the child is killed.
  if (server_) static_cast<void>(server_->wait_through(10s));
}

std::string Disk::missed_requests(const BlockTrace& trace) const {
  const Descriptor device(open(device_.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC));
  const auto buffer = aligned_buffer();
  if (!device.valid() || pread(device.number(), buffer.get(), probe_bytes, 0) != ssize_t{probe_bytes}) refuse(device_);
  const auto kind_at = [&trace](std::uint64_t index) { return trace.entry(index).kind; };
  auto before = trace.size();
  if (pwrite(device.number(), buffer.get(), probe_bytes, 0) != ssize_t{probe_bytes}) refuse(device_);
  if (trace.size() == before || kind_at(before) != TraceEntry::Kind::write) return "a write";
  before = trace.size();
  if (fsync(device.number()) != 0) refuse(device_);
  if (trace.size() == before || kind_at(trace.size() - 1) != TraceEntry::Kind::flush) return "a flush";
  return {};
}

std::string disk_unavailable() { return {}; }

}  // namespace edgejoule::driver
