#include "disk_server.h"

#define FUSE_USE_VERSION 34
#include <fmt/format.h>
#include <fuse_lowlevel.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "system/system.h"

namespace edgejoule::driver {
namespace {

constexpr fuse_ino_t file_number = 2;
constexpr double attributes_valid_s = 3600;

struct Served {
  std::span<std::byte> image;
  BlockTrace* trace;
};

const Served& served(fuse_req_t request) { return *static_cast<const Served*>(fuse_req_userdata(request)); }

struct stat attributes(fuse_req_t request, fuse_ino_t inode) {
  struct stat attributes {};
  attributes.st_ino = inode;
  attributes.st_mode = inode == FUSE_ROOT_ID ? S_IFDIR | 0700 : S_IFREG | 0600;
  attributes.st_nlink = 1;
  if (inode == file_number) attributes.st_size = static_cast<off_t>(served(request).image.size());
  return attributes;
}

void lookup(fuse_req_t request, fuse_ino_t parent, const char* /*name*/) {
  if (parent != FUSE_ROOT_ID) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  fuse_entry_param entry{};
  entry.ino = file_number;
  entry.attr = attributes(request, file_number);
  entry.attr_timeout = attributes_valid_s;
  entry.entry_timeout = attributes_valid_s;
  fuse_reply_entry(request, &entry);
}

void get_attributes(fuse_req_t request, fuse_ino_t inode, fuse_file_info* /*file*/) {
  const auto found = attributes(request, inode);
  fuse_reply_attr(request, &found, attributes_valid_s);
}

void open_file(fuse_req_t request, fuse_ino_t /*inode*/, fuse_file_info* file) {
  file->direct_io = 1;  // the kernel must not cache the file
  fuse_reply_open(request, file);
}

void read_file(fuse_req_t request, fuse_ino_t /*inode*/, std::size_t bytes, off_t offset, fuse_file_info* /*file*/) {
  const auto image = served(request).image;
  const auto begin = std::min(static_cast<std::size_t>(offset), image.size());
  const auto part = image.subspan(begin, std::min(bytes, image.size() - begin));
  fuse_reply_buf(request, reinterpret_cast<const char*>(part.data()), part.size());
}

void write_file(fuse_req_t request, fuse_ino_t /*inode*/, const char* data, std::size_t bytes, off_t offset,
                fuse_file_info* /*file*/) {
  const auto& disk = served(request);
  const auto begin = static_cast<std::size_t>(offset);
  if (begin > disk.image.size() || bytes > disk.image.size() - begin) {
    fuse_reply_err(request, ENOSPC);
    return;
  }
  const std::span written(reinterpret_cast<const std::byte*>(data), bytes);
  if (disk.trace != nullptr && !disk.trace->add_write(begin, written, now_monotonic_ns())) {
    fuse_reply_err(request, ENOSPC);
    return;
  }
  std::ranges::copy(written, disk.image.subspan(begin).begin());
  fuse_reply_write(request, bytes);
}

void sync_file(fuse_req_t request, fuse_ino_t /*inode*/, int /*data_only*/, fuse_file_info* /*file*/) {
  const auto& disk = served(request);
  const bool recorded = disk.trace == nullptr || disk.trace->add_flush(now_monotonic_ns());
  fuse_reply_err(request, recorded ? 0 : ENOSPC);
}

// libfuse's messages, for error reports.
std::string fuse_message;

void record_fuse_message(fuse_log_level /*level*/, const char* format, va_list values) {
  char message[256];
  if (std::vsnprintf(message, sizeof message, format, values) > 0) fuse_message = message;
}

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops operations{};
  operations.lookup = lookup;
  operations.getattr = get_attributes;
  operations.open = open_file;
  operations.read = read_file;
  operations.write = write_file;
  operations.fsync = sync_file;
  return operations;
}

}  // namespace

// One thread serves, so that the order of the trace is the order of the requests.
void serve_disk(std::span<std::byte> image, BlockTrace* trace, const std::filesystem::path& directory,
                const std::function<void()>& ready) {
  Served disk{image, trace};
  fuse_set_log_func(record_fuse_message);
  const auto handlers = operations();
  char name[] = "edgejoule-driver";
  char* argv[] = {name, nullptr};
  fuse_args arguments{1, argv, 0};
  const std::unique_ptr<fuse_session, decltype(&fuse_session_destroy)> session(
      fuse_session_new(&arguments, &handlers, sizeof handlers, &disk), fuse_session_destroy);
  if (!session || fuse_session_mount(session.get(), directory.c_str()) != 0) {
    throw std::runtime_error(fmt::format("FUSE: cannot mount at {}: {}", directory.string(), fuse_message));
  }
  ready();
  // The end of the connection means that the file is no longer used. It is no failure; neither is an abort.
  const int outcome = fuse_session_loop(session.get());
  if (outcome < 0 && outcome != -ENODEV && outcome != -ECONNABORTED) {
    throw std::runtime_error(fmt::format("FUSE: serving the disk failed: {}", std::strerror(-outcome)));
  }
}

}  // namespace edgejoule::driver
