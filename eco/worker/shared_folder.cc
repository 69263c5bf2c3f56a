#include "shared_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace eco {
namespace {

// Splits a path; drops empty parts, "." and "..".
bool is_plain(std::string_view path) {
  while (!path.empty()) {
    const auto slash = path.find('/');
    const auto part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
  return false;
}

bool is_table(const std::string& name) {
  return name.ends_with(".sst") && name.find_first_not_of("0123456789") == name.size() - 4 && name.size() > 4;
}

// Opens a folder below another one, part by part, without following links.
Fd folder_in(int from, std::string_view path) {
  Fd at(::openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (at && !path.empty()) {
    const auto slash = path.find('/');
    const std::string part(path.substr(0, slash));
    at = Fd(::openat(at.get(), part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return at;
}

Fd plain_file(int folder, const std::string& name, struct stat& found) {
  // Rejects pipes and the like, which would block a reader.
  Fd file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file || fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return Fd();
  return file;
}

}  // namespace

bool locate(const SharedDirectories& directories, proto::Shared& shared) {
  const std::string folder = shared.folder();
  if (!folder.starts_with('/') || !is_plain(std::string_view(folder).substr(1)) || !is_plain(shared.staging()) ||
      !is_plain(shared.proof()))
    return false;
  const std::pair<const std::string, std::string>* best = nullptr;
  for (const auto& entry : directories) {
    const std::string& there = entry.first;
    const bool in =
        folder == there || (folder.starts_with(there) && (there.ends_with('/') || folder[there.size()] == '/'));
    if (in && (best == nullptr || there.size() > best->first.size())) best = &entry;
  }
  if (best == nullptr) return false;
  const auto rest = folder.find_first_not_of('/', best->first.size());
  shared.set_root(best->second);
  shared.set_folder(rest == std::string::npos ? "" : folder.substr(rest));
  return true;
}

std::unique_ptr<SharedFolder> SharedFolder::open(const proto::Shared& shared, std::string& why) {
  const auto not_there = [&](const std::string& what) {
    why = fmt::format("{}/{}: {}: {}", shared.root(), shared.folder(), what, std::strerror(errno));
    return nullptr;
  };
  const Fd root(::open(shared.root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return not_there("the shared directory");
  Fd database = folder_in(root.get(), shared.folder());
  if (!database) return not_there("the database");
  Fd staging = folder_in(database.get(), shared.staging());
  if (!staging) return not_there("the staging folder");
  struct stat found {};
  if (!plain_file(staging.get(), shared.proof(), found)) return not_there("it is not the primary's folder");
  return std::unique_ptr<SharedFolder>(new SharedFolder(std::move(database), std::move(staging)));
}

Fd SharedFolder::table(const std::string& name, std::uint64_t bytes) const {
  struct stat found {};
  if (!is_table(name)) return Fd();
  Fd file = plain_file(database_.get(), name, found);
  return file && static_cast<std::uint64_t>(found.st_size) == bytes ? std::move(file) : Fd();
}

bool SharedFolder::create(const std::string& name) const {
  if (!is_table(name)) return false;
  const Fd file(::openat(staging_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  return static_cast<bool>(file);
}

std::string SharedFolder::output(const std::string& name) const {
  return fmt::format("/proc/self/fd/{}/{}", staging_.get(), name);
}

}  // namespace eco
