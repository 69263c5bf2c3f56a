#include "state_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace eco {
namespace {

bool write_synced(const std::filesystem::path& file, const std::string& text) {
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    done += static_cast<std::size_t>(n);
  }
  const bool synced = done == text.size() && fsync(fd) == 0;
  return (close(fd) == 0) && synced;
}

}  // namespace

StateFile::StateFile(const std::filesystem::path& directory) : file_(directory / "state") {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw std::runtime_error(fmt::format("state_directory {}: {}", directory.string(), error.message()));
  if (!std::filesystem::exists(file_)) return;
  std::ifstream in(file_, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in || !state_.ParseFromString(text))
    throw std::runtime_error(
        fmt::format("{}: is not a state file of ecod; remove it to start without state", file_.string()));
}

proto::SavedState StateFile::get() const {
  const std::scoped_lock lock(mutex_);
  return state_;
}

Result<> StateFile::change(const std::function<void(proto::SavedState&)>& change) {
  const std::scoped_lock lock(mutex_);
  proto::SavedState changed = state_;
  change(changed);
  const std::string text = changed.SerializeAsString();
  if (text == state_.SerializeAsString()) return Done{};
  const std::filesystem::path next = file_.string() + ".new";
  if (!write_synced(next, text) || rename(next.c_str(), file_.c_str()) != 0)
    return Error{fmt::format("{}: {}", file_.string(), std::strerror(errno))};
  state_ = changed;
  return Done{};
}

}  // namespace eco
