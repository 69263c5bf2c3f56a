#include "watching_env.h"

#include <memory>

namespace edgejoule::driver {
namespace {

thread_local bool in_background = false;

class WatchedTable final : public leveldb::RandomAccessFile {
 public:
  WatchedTable(leveldb::RandomAccessFile* file, LevelDbIo& io) : file_(file), io_(io) {}

  leveldb::Status Read(std::uint64_t offset, std::size_t count, leveldb::Slice* result, char* scratch) const override {
    if (in_background) io_.background_read_bytes.fetch_add(count, std::memory_order_relaxed);
    return file_->Read(offset, count, result, scratch);
  }

 private:
  const std::unique_ptr<leveldb::RandomAccessFile> file_;
  LevelDbIo& io_;
};

class WatchedLog final : public leveldb::WritableFile {
 public:
  WatchedLog(leveldb::WritableFile* file, LevelDbIo& io) : file_(file), io_(io) {}

  leveldb::Status Append(const leveldb::Slice& data) override {
    const leveldb::Status status = file_->Append(data);
    if (status.ok()) io_.log_write_bytes.fetch_add(data.size(), std::memory_order_relaxed);
    return status;
  }
  leveldb::Status Close() override { return file_->Close(); }
  leveldb::Status Flush() override { return file_->Flush(); }
  leveldb::Status Sync() override {
    const leveldb::Status status = file_->Sync();
    if (status.ok()) io_.log_syncs.fetch_add(1, std::memory_order_relaxed);
    return status;
  }

 private:
  const std::unique_ptr<leveldb::WritableFile> file_;
  LevelDbIo& io_;
};

}  // namespace

leveldb::Status WatchingEnv::NewRandomAccessFile(const std::string& name, leveldb::RandomAccessFile** file) {
  const leveldb::Status status = target()->NewRandomAccessFile(name, file);
  if (status.ok()) *file = std::make_unique<WatchedTable>(*file, io_).release();
  return status;
}

leveldb::Status WatchingEnv::NewWritableFile(const std::string& name, leveldb::WritableFile** file) {
  const leveldb::Status status = target()->NewWritableFile(name, file);
  if (status.ok() && name.ends_with(".log")) *file = std::make_unique<WatchedLog>(*file, io_).release();
  return status;
}

void WatchingEnv::Schedule(void (*function)(void* arg), void* arg) {
  {
    const std::lock_guard lock(mutex_);
    ++outstanding_;
  }
  // LevelDB's Env passes only a plain pointer to its thread, which takes ownership.
  target()->Schedule(&WatchingEnv::run, std::make_unique<Work>(Work{this, function, arg}).release());
}

void WatchingEnv::run(void* work) {
  const std::unique_ptr<Work> own(static_cast<Work*>(work));
  in_background = true;
  own->function(own->arg);
  in_background = false;
  own->env->finished();
}

void WatchingEnv::finished() {
  const std::lock_guard lock(mutex_);
  --outstanding_;
  // Notify under the lock: a waiter may destroy this Env as soon as it wakes.
  if (outstanding_ == 0) idle_.notify_all();
}

void WatchingEnv::wait_until_idle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return outstanding_ == 0; });
}

bool WatchingEnv::wait_until_idle(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return idle_.wait_until(lock, deadline, [this] { return outstanding_ == 0; });
}

}  // namespace edgejoule::driver
