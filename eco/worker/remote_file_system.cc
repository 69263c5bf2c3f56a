#include "remote_file_system.h"

#include <rocksdb/env.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace eco {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

constexpr std::uint64_t read_ahead_bytes = 2 << 20;
constexpr std::size_t message_bytes_max = 1 << 20;

IOStatus lost() { return IOStatus::IOError("the connection to the primary is lost"); }
IOStatus read_only(const std::string& path) { return IOStatus::NotSupported("a job may not write here", path); }
IOStatus absent(const std::string& path) { return IOStatus::PathNotFound(path); }

bool is_table(const std::string& name) { return name.ends_with(".sst"); }

// A window of a file, fetched or in flight.
class Window {
 public:
  Window() = default;
  Window(PrimaryLink& primary, const std::string& file, std::uint64_t offset, std::uint64_t bytes)
      : offset_(offset), asked_(bytes), answer_(primary.read(file, offset, bytes)) {}

  [[nodiscard]] bool covers(std::uint64_t offset) const { return offset >= offset_ && offset < offset_ + asked_; }
  [[nodiscard]] std::uint64_t end() const { return offset_ + asked_; }

  // The bytes from `offset` on; fewer than `bytes` at the end of the window or the file.
  [[nodiscard]] IOStatus bytes_at(PrimaryLink& primary, std::uint64_t offset, std::size_t bytes, Slice* result) {
    if (!here_) {
      auto answer = primary.wait(answer_);
      if (!answer) return lost();
      if (answer->has_missing()) return IOStatus::PathNotFound("the primary no longer has it");
      data_ = std::move(*answer->mutable_bytes()->mutable_data());
      if (data_.size() > asked_) return IOStatus::Corruption("the primary sent more than requested");
      here_ = true;
    }
    const std::size_t at = std::min<std::size_t>(offset - offset_, data_.size());
    *result = Slice(data_.data() + at, std::min(bytes, data_.size() - at));
    return IOStatus::OK();
  }

  [[nodiscard]] bool ends_file() const { return here_ && data_.size() < asked_; }

 private:
  std::uint64_t offset_ = 0, asked_ = 0;
  std::future<PrimaryLink::Answer> answer_;
  std::string data_;
  bool here_ = false;
};

// An open table in the shared folder.
class SharedTable {
 public:
  SharedTable(Fd file, std::uint64_t bytes) : file_(std::move(file)), bytes_(bytes) {}

  // False: unreadable there now, or too short.
  bool read(PrimaryLink& primary, std::uint64_t offset, std::size_t bytes, Slice* result, char* scratch) {
    if (!file_) return false;
    const std::size_t wanted = offset < bytes_ ? std::min<std::uint64_t>(bytes, bytes_ - offset) : 0;
    std::size_t got = 0;
    while (got < wanted) {
      const ssize_t part = primary.waiting(
          [&] { return ::pread(file_.get(), scratch + got, wanted - got, static_cast<off_t>(offset + got)); });
      if (part < 0 && errno == EINTR) continue;
      if (part <= 0) {
        file_ = Fd();
        return false;
      }
      got += static_cast<std::size_t>(part);
    }
    primary.count_shared(got);
    *result = Slice(scratch, got);
    return true;
  }

 private:
  Fd file_;
  std::uint64_t bytes_;
};

// Serves sequential reads from two windows: while one is read the next is fetched. Fetches other reads individually.
class RemoteReader {
 public:
  RemoteReader(PrimaryLink& primary, std::string file, SharedTable shared)
      : primary_(primary), file_(std::move(file)), shared_(std::move(shared)) {}

  IOStatus read(std::uint64_t offset, std::size_t bytes, Slice* result, char* scratch) {
    const std::lock_guard lock(mutex_);
    if (shared_.read(primary_, offset, bytes, result, scratch)) {
      primary_.count_read(result->size());
      return IOStatus::OK();
    }
    const bool sequential = offset == next_ || (now_ && now_->covers(offset));
    next_ = offset + bytes;
    IOStatus status =
        sequential ? read_windows(offset, bytes, result, scratch) : read_apart(offset, bytes, result, scratch);
    if (status.ok() && is_table(file_)) primary_.count_read(result->size());
    return status;
  }

 private:
  IOStatus read_apart(std::uint64_t offset, std::size_t bytes, Slice* result, char* scratch) {
    std::size_t got = 0;
    while (got < bytes) {
      const std::size_t wanted = std::min<std::size_t>(bytes - got, read_ahead_bytes);
      Window window(primary_, file_, offset + got, wanted);
      Slice part;
      if (auto status = window.bytes_at(primary_, offset + got, wanted, &part); !status.ok()) return status;
      std::memcpy(scratch + got, part.data(), part.size());
      got += part.size();
      if (part.size() < wanted) break;
    }
    *result = Slice(scratch, got);
    return IOStatus::OK();
  }

  IOStatus read_windows(std::uint64_t offset, std::size_t bytes, Slice* result, char* scratch) {
    std::size_t got = 0;
    while (got < bytes) {
      const std::uint64_t at = offset + got;
      advance(at);
      Slice part;
      if (auto status = now_->bytes_at(primary_, at, bytes - got, &part); !status.ok()) return status;
      std::memcpy(scratch + got, part.data(), part.size());
      got += part.size();
      if (!now_->ends_file() && !next_window_) next_window_.emplace(primary_, file_, now_->end(), read_ahead_bytes);
      if (part.empty() || (now_->ends_file() && got < bytes)) break;
    }
    *result = Slice(scratch, got);
    return IOStatus::OK();
  }

  void advance(std::uint64_t at) {
    if (now_ && now_->covers(at)) return;
    if (next_window_ && next_window_->covers(at)) {
      now_ = std::move(next_window_);
    } else {
      now_.emplace(primary_, file_, at, read_ahead_bytes);
    }
    next_window_.reset();
  }

  PrimaryLink& primary_;
  std::string file_;
  SharedTable shared_;
  std::mutex mutex_;
  std::uint64_t next_ = 0;
  std::optional<Window> now_, next_window_;
};

class RemoteSequentialFile : public rocksdb::FSSequentialFile {
 public:
  RemoteSequentialFile(PrimaryLink& primary, const std::string& file, SharedTable shared)
      : reader_(primary, file, std::move(shared)) {}
  IOStatus Read(size_t bytes, const IOOptions&, Slice* result, char* scratch, IODebugContext*) override {
    IOStatus status = reader_.read(offset_, bytes, result, scratch);
    if (status.ok()) offset_ += result->size();
    return status;
  }
  IOStatus Skip(std::uint64_t bytes) override {
    offset_ += bytes;
    return IOStatus::OK();
  }

 private:
  RemoteReader reader_;
  std::uint64_t offset_ = 0;
};

class RemoteRandomAccessFile : public rocksdb::FSRandomAccessFile {
 public:
  RemoteRandomAccessFile(PrimaryLink& primary, const std::string& file, SharedTable shared)
      : reader_(primary, file, std::move(shared)) {}
  IOStatus Read(std::uint64_t offset, size_t bytes, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) const override {
    return reader_.read(offset, bytes, result, scratch);
  }

 private:
  mutable RemoteReader reader_;
};

// An output: written locally and sent at once, or written to the shared folder and announced. The primary syncs its
// writes; only a file in the shared folder is synced here, at its end.
class OutputFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  OutputFile(PrimaryLink& primary, std::string name, bool shared, std::unique_ptr<rocksdb::FSWritableFile>&& local)
      : FSWritableFileOwnerWrapper(std::move(local)), primary_(primary), name_(std::move(name)), shared_(shared) {}

  using FSWritableFileOwnerWrapper::Append;
  using FSWritableFileOwnerWrapper::PositionedAppend;
  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    const auto append = [&] { return FSWritableFileOwnerWrapper::Append(data, options, debug); };
    if (auto status = shared_ ? primary_.waiting(append) : append(); !status.ok()) {
      failed_ = true;
      return status;
    }
    primary_.count_written(data.size());
    if (!shared_) return send(data, false);
    primary_.count_shared(data.size());
    offset_ += data.size();
    return IOStatus::OK();
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus PositionedAppend(const Slice& data, std::uint64_t offset, const IOOptions& options,
                            IODebugContext* debug) override {
    return offset == offset_ ? Append(data, options, debug) : read_only(name_);
  }
  IOStatus PositionedAppend(const Slice& data, std::uint64_t offset, const IOOptions& options,
                            const rocksdb::DataVerificationInfo&, IODebugContext* debug) override {
    return PositionedAppend(data, offset, options, debug);
  }
  IOStatus Truncate(std::uint64_t bytes, const IOOptions&, IODebugContext*) override {
    return bytes == offset_ ? IOStatus::OK() : read_only(name_);
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus RangeSync(std::uint64_t, std::uint64_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::OK();
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    if (closed_) return IOStatus::OK();
    closed_ = true;
    const auto close = [&] {
      if (shared_)
        if (auto status = FSWritableFileOwnerWrapper::Sync(options, debug); !status.ok()) return status;
      return FSWritableFileOwnerWrapper::Close(options, debug);
    };
    if (auto status = shared_ ? primary_.waiting(close) : close(); !status.ok()) return status;
    if (failed_) return IOStatus::OK();
    if (!shared_) return send(Slice(), true);
    return primary_.tell_shared(name_, offset_) ? IOStatus::OK() : lost();
  }
  [[nodiscard]] bool use_direct_io() const override { return false; }
  std::uint64_t GetFileSize(const IOOptions&, IODebugContext*) override { return offset_; }

 private:
  IOStatus send(Slice data, bool last) {
    do {
      const Slice part(data.data(), std::min(data.size(), message_bytes_max));
      data.remove_prefix(part.size());
      if (!primary_.write(name_, offset_, part.ToStringView(), last && data.empty())) return lost();
      offset_ += part.size();
    } while (!data.empty());
    return IOStatus::OK();
  }

  PrimaryLink& primary_;
  std::string name_;
  std::uint64_t offset_ = 0;
  bool shared_, closed_ = false, failed_ = false;
};

class NoLogger : public rocksdb::Logger {
 public:
  using Logger::Logv;
  NoLogger() : Logger(rocksdb::InfoLogLevel::FATAL_LEVEL) {}
  void Logv(const char*, va_list) override {}
};

class NoLock : public rocksdb::FileLock {};

class NoDirectory : public rocksdb::FSDirectory {
 public:
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
};

rocksdb::FileOptions buffered(rocksdb::FileOptions options) {
  options.use_direct_reads = options.use_direct_writes = options.use_mmap_reads = options.use_mmap_writes = false;
  return options;
}

}  // namespace

RemoteFileSystem::RemoteFileSystem(PrimaryLink& primary, Folders folders, std::unique_ptr<SharedFolder> shared)
    : FileSystemWrapper(rocksdb::FileSystem::Default()),
      primary_(primary),
      folders_(std::move(folders)),
      shared_(std::move(shared)) {}

std::optional<std::string> RemoteFileSystem::name_in(const std::string& folder, const std::string& path) {
  if (!path.starts_with(folder)) return std::nullopt;
  const auto begin = path.find_first_not_of('/', folder.size());
  if (begin == std::string::npos || begin == folder.size()) return std::nullopt;
  std::string name = path.substr(begin);
  if (name.find('/') != std::string::npos || name == "." || name == "..") return std::nullopt;
  return name;
}

std::optional<std::string> RemoteFileSystem::remote(const std::string& path) const {
  return name_in(folders_.database, path);
}

std::optional<std::string> RemoteFileSystem::scratch(const std::string& path) {
  const auto name = name_in(folders_.output, path);
  if (!name) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (shared_outputs_.contains(*name)) return shared_->output(*name);
  return folders_.scratch + '/' + *name;
}

IOStatus RemoteFileSystem::refresh() {
  auto asked = primary_.list();
  const auto answer = primary_.wait(asked);
  if (!answer) return lost();
  const std::lock_guard lock(mutex_);
  sizes_.clear();
  for (const auto& file : answer->files().files()) sizes_[file.name()] = file.bytes();
  return IOStatus::OK();
}

// Only tables are immutable.
IOStatus RemoteFileSystem::size_of(const std::string& name, std::uint64_t* bytes) {
  const auto known = [&] {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(name);
    if (found != sizes_.end()) *bytes = found->second;
    return found != sizes_.end();
  };
  if (is_table(name) && known()) return IOStatus::OK();
  if (auto status = refresh(); !status.ok()) return status;
  return known() ? IOStatus::OK() : absent(name);
}

Fd RemoteFileSystem::shared_table(const std::string& name, std::uint64_t bytes) const {
  return shared_ ? shared_->table(name, bytes) : Fd();
}

IOStatus RemoteFileSystem::NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                                             std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                             IODebugContext* debug) {
  if (const auto here = scratch(path)) return target()->NewSequentialFile(*here, buffered(options), result, debug);
  const auto name = remote(path);
  if (!name) return absent(path);
  std::uint64_t bytes = 0;
  if (auto status = size_of(*name, &bytes); !status.ok()) return status;
  *result = std::make_unique<RemoteSequentialFile>(primary_, *name, SharedTable(shared_table(*name, bytes), bytes));
  return IOStatus::OK();
}

IOStatus RemoteFileSystem::NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                                               std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                               IODebugContext* debug) {
  if (const auto here = scratch(path)) return target()->NewRandomAccessFile(*here, buffered(options), result, debug);
  const auto name = remote(path);
  if (!name) return absent(path);
  std::uint64_t bytes = 0;
  if (auto status = size_of(*name, &bytes); !status.ok()) return status;
  *result = std::make_unique<RemoteRandomAccessFile>(primary_, *name, SharedTable(shared_table(*name, bytes), bytes));
  return IOStatus::OK();
}

IOStatus RemoteFileSystem::NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                           std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* debug) {
  const auto name = name_in(folders_.output, path);
  if (!name) return read_only(path);
  std::unique_ptr<rocksdb::FSWritableFile> local;
  const bool shared = shared_ && shared_->create(*name);
  // create() made the file, owned by this process alone.
  auto status = shared ? target()->ReopenWritableFile(shared_->output(*name), buffered(options), &local, debug)
                       : target()->NewWritableFile(*scratch(path), buffered(options), &local, debug);
  if (!status.ok()) return status;
  if (shared) {
    const std::lock_guard lock(mutex_);
    shared_outputs_.insert(*name);
  }
  *result = std::make_unique<OutputFile>(primary_, *name, shared, std::move(local));
  return IOStatus::OK();
}

IOStatus RemoteFileSystem::ReopenWritableFile(const std::string& path, const rocksdb::FileOptions&,
                                              std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) {
  return read_only(path);
}

IOStatus RemoteFileSystem::ReuseWritableFile(const std::string& path, const std::string&, const rocksdb::FileOptions&,
                                             std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) {
  return read_only(path);
}

IOStatus RemoteFileSystem::NewRandomRWFile(const std::string& path, const rocksdb::FileOptions&,
                                           std::unique_ptr<rocksdb::FSRandomRWFile>*, IODebugContext*) {
  return read_only(path);
}

IOStatus RemoteFileSystem::NewMemoryMappedFileBuffer(const std::string& path,
                                                     std::unique_ptr<rocksdb::MemoryMappedFileBuffer>*) {
  return read_only(path);
}

IOStatus RemoteFileSystem::NewDirectory(const std::string&, const IOOptions&,
                                        std::unique_ptr<rocksdb::FSDirectory>* result, IODebugContext*) {
  *result = std::make_unique<NoDirectory>();
  return IOStatus::OK();
}

IOStatus RemoteFileSystem::FileExists(const std::string& path, const IOOptions& options, IODebugContext* debug) {
  if (path == folders_.database || path == folders_.output) return IOStatus::OK();
  if (const auto here = scratch(path)) return target()->FileExists(*here, options, debug);
  std::uint64_t bytes = 0;
  const auto name = remote(path);
  if (!name) return IOStatus::NotFound(path);
  IOStatus status = size_of(*name, &bytes);
  return status.IsPathNotFound() ? IOStatus::NotFound(path) : status;
}

IOStatus RemoteFileSystem::GetChildren(const std::string& path, const IOOptions&, std::vector<std::string>* result,
                                       IODebugContext*) {
  result->clear();
  if (path != folders_.database) return IOStatus::OK();
  if (auto status = refresh(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, bytes] : sizes_) result->push_back(name);
  return IOStatus::OK();
}

IOStatus RemoteFileSystem::GetChildrenFileAttributes(const std::string& path, const IOOptions& options,
                                                     std::vector<rocksdb::FileAttributes>* result,
                                                     IODebugContext* debug) {
  std::vector<std::string> names;
  result->clear();
  if (auto status = GetChildren(path, options, &names, debug); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  for (const auto& name : names) result->push_back({.name = name, .size_bytes = sizes_[name]});
  return IOStatus::OK();
}

IOStatus RemoteFileSystem::DeleteFile(const std::string& path, const IOOptions& options, IODebugContext* debug) {
  const auto here = scratch(path);
  return here ? target()->DeleteFile(*here, options, debug) : read_only(path);
}

IOStatus RemoteFileSystem::Truncate(const std::string& path, size_t, const IOOptions&, IODebugContext*) {
  return read_only(path);
}

IOStatus RemoteFileSystem::CreateDir(const std::string&, const IOOptions&, IODebugContext*) { return IOStatus::OK(); }

IOStatus RemoteFileSystem::CreateDirIfMissing(const std::string&, const IOOptions&, IODebugContext*) {
  return IOStatus::OK();
}

IOStatus RemoteFileSystem::DeleteDir(const std::string& path, const IOOptions&, IODebugContext*) {
  return read_only(path);
}

IOStatus RemoteFileSystem::GetFileSize(const std::string& path, const IOOptions& options, std::uint64_t* bytes,
                                       IODebugContext* debug) {
  if (const auto here = scratch(path)) return target()->GetFileSize(*here, options, bytes, debug);
  const auto name = remote(path);
  return name ? size_of(*name, bytes) : absent(path);
}

IOStatus RemoteFileSystem::GetFileModificationTime(const std::string& path, const IOOptions&, std::uint64_t*,
                                                   IODebugContext*) {
  return IOStatus::NotSupported("file times are not available to a job", path);
}

IOStatus RemoteFileSystem::RenameFile(const std::string& from, const std::string&, const IOOptions&, IODebugContext*) {
  return read_only(from);
}

IOStatus RemoteFileSystem::LinkFile(const std::string& from, const std::string&, const IOOptions&, IODebugContext*) {
  return read_only(from);
}

IOStatus RemoteFileSystem::LockFile(const std::string&, const IOOptions&, rocksdb::FileLock** lock, IODebugContext*) {
  *lock = new NoLock;
  return IOStatus::OK();
}

IOStatus RemoteFileSystem::UnlockFile(rocksdb::FileLock* lock, const IOOptions&, IODebugContext*) {
  delete lock;
  return IOStatus::OK();
}

IOStatus RemoteFileSystem::NewLogger(const std::string&, const IOOptions&, std::shared_ptr<rocksdb::Logger>* result,
                                     IODebugContext*) {
  *result = std::make_shared<NoLogger>();
  return IOStatus::OK();
}

IOStatus RemoteFileSystem::GetAbsolutePath(const std::string& path, const IOOptions&, std::string* result,
                                           IODebugContext*) {
  *result = path;
  return IOStatus::OK();
}

IOStatus RemoteFileSystem::GetFreeSpace(const std::string&, const IOOptions& options, std::uint64_t* bytes,
                                        IODebugContext* debug) {
  return target()->GetFreeSpace(folders_.scratch, options, bytes, debug);
}

IOStatus RemoteFileSystem::IsDirectory(const std::string& path, const IOOptions&, bool* is_directory, IODebugContext*) {
  *is_directory = path == folders_.database || path == folders_.output;
  return IOStatus::OK();
}

}  // namespace eco
