// A file system that a test can make full.
#pragma once

#include <rocksdb/file_system.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace eco::test {

class FailingFiles final : public rocksdb::FileSystemWrapper {
 public:
  // is_full: called at each write to a file whose path contains `part`.
  FailingFiles(std::string part, std::function<bool()> is_full)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), part_(std::move(part)), is_full_(std::move(is_full)) {}

  [[nodiscard]] const char* Name() const override { return "FailingFiles"; }

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override {
    auto status = target()->NewWritableFile(path, options, result, debug);
    if (status.ok() && path.find(part_) != std::string::npos)
      *result = std::make_unique<File>(std::move(*result), is_full_);
    return status;
  }

 private:
  class File final : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    File(std::unique_ptr<rocksdb::FSWritableFile>&& file, std::function<bool()> is_full)
        : FSWritableFileOwnerWrapper(std::move(file)), is_full_(std::move(is_full)) {}
    using FSWritableFileOwnerWrapper::Append;
    rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override {
      if (is_full_()) return rocksdb::IOStatus::NoSpace("the disk is full");
      return FSWritableFileOwnerWrapper::Append(data, options, debug);
    }

   private:
    std::function<bool()> is_full_;
  };

  std::string part_;
  std::function<bool()> is_full_;
};

}  // namespace eco::test
