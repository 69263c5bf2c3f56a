#include "staging.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "served_files.h"
#include "tcp.h"

namespace eco {

using rocksdb::IOStatus;

std::string staging_root(const std::string& database) { return database + "/eco-staging"; }

Staging::Staging(std::shared_ptr<rocksdb::FileSystem> files, const std::string& database, const std::string& job,
                 std::uint64_t bytes_max)
    : files_(std::move(files)), root_(staging_root(database)), folder_(root_ + '/' + job), bytes_max_(bytes_max) {}

IOStatus Staging::begin() {
  if (auto status = files_->CreateDirIfMissing(root_, {}, nullptr); !status.ok()) return status;
  return files_->CreateDirIfMissing(folder_, {}, nullptr);
}

bool Staging::is_output(const std::string& name) { return ServedFiles::serves(name) && name.ends_with(".sst"); }

IOStatus Staging::make(const std::string& name) {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  if (auto status = files_->NewWritableFile(folder_ + '/' + name, {}, &file, nullptr); !status.ok()) return status;
  return file->Close({}, nullptr);
}

void Staging::remove(const std::string& name) {
  files_->DeleteFile(folder_ + '/' + name, {}, nullptr).PermitUncheckedError();  // else clean_staging does
}

IOStatus Staging::adopt(const std::string& name, std::uint64_t bytes) {
  if (!is_output(name)) return IOStatus::InvalidArgument("not the name of an output", name);
  if (complete_.contains(name) || open_.contains(name)) return IOStatus::InvalidArgument("an output twice", name);
  bytes_shared_ += bytes;
  if (bytes_ + bytes_shared_ > bytes_max_) return IOStatus::InvalidArgument("more output than the input can produce");
  // Opening makes NFS refresh the file's attributes.
  const Fd file(::open((folder_ + '/' + name).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return IOStatus::IOError(name, std::strerror(errno));
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1)
    return IOStatus::IOError("not a plain file with one link", name);
  if (static_cast<std::uint64_t>(status.st_size) != bytes)
    return IOStatus::IOError("a size other than announced", name);
  complete_.insert(name);
  return IOStatus::OK();
}

IOStatus Staging::receive(const std::string& name, std::uint64_t offset, const rocksdb::Slice& data, bool last,
                          std::string* complete) {
  if (!is_output(name)) return IOStatus::InvalidArgument("not the name of an output", name);
  if (complete_.contains(name)) return IOStatus::InvalidArgument("more data for a complete output", name);
  Open& open = open_[name];
  if (!open.file) {
    auto status = files_->NewWritableFile(folder_ + '/' + name, {}, &open.file, nullptr);
    if (!status.ok()) return status;
  }
  if (offset != open.bytes) return IOStatus::InvalidArgument("a gap in an output", name);
  open.bytes += data.size(), bytes_ += data.size();
  if (bytes_ > bytes_max_) return IOStatus::InvalidArgument("more output than the input can produce");
  if (!data.empty())
    if (auto status = open.file->Append(data, {}, nullptr); !status.ok()) return status;
  if (!last) return IOStatus::OK();
  if (auto status = open.file->Close({}, nullptr); !status.ok()) return status;
  open_.erase(name);
  complete_.insert(name);
  *complete = name;
  return IOStatus::OK();
}

IOStatus Staging::sync(const std::string& name, bool adopted) {
  if (adopted) {  // its owner may be another user
    const Fd file(::open((folder_ + '/' + name).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file || ::fsync(file.get()) != 0) return IOStatus::IOError(name, std::strerror(errno));
    return IOStatus::OK();
  }
  std::unique_ptr<rocksdb::FSWritableFile> file;
  if (auto status = files_->ReopenWritableFile(folder_ + '/' + name, {}, &file, nullptr); !status.ok()) return status;
  if (auto status = file->Sync({}, nullptr); !status.ok()) return status;
  return file->Close({}, nullptr);
}

std::size_t clean_staging(rocksdb::FileSystem& files, const std::string& database, const std::set<std::string>& keep) {
  const std::string root = staging_root(database);
  std::vector<std::string> jobs;
  if (!files.GetChildren(root, {}, &jobs, nullptr).ok()) return 0;
  std::size_t removed = 0, kept = 0;
  for (const auto& job : jobs) {
    if (job == "." || job == "..") continue;
    if (keep.contains(job)) {
      ++kept;
      continue;
    }
    std::vector<std::string> names;
    const std::string folder = root + '/' + job;
    // The next job tries to remove what remains.
    if (files.GetChildren(folder, {}, &names, nullptr).ok())
      for (const auto& name : names)
        if (name != "." && name != "..") removed += files.DeleteFile(folder + '/' + name, {}, nullptr).ok();
    if (!files.DeleteDir(folder, {}, nullptr).ok()) ++kept;
  }
  // A job in `keep` may be about to create its folder.
  if (kept == 0 && keep.empty()) files.DeleteDir(root, {}, nullptr).PermitUncheckedError();
  return removed;
}

}  // namespace eco
