// Gives RocksDB the primary's database as a read-only FileSystem, and takes the outputs of the job.
//
// | path | effect |
// |---|---|
// | DATABASE/name | read from the primary, SSTs with a read-ahead of 2 MB; the write-ahead log is absent |
// | DATABASE/*.sst | if this server sees the folder: read there; from the primary if that fails |
// | OUTPUT/name | written to the scratch folder and sent to the primary at once; or written to the shared folder |
// | others | folders are empty, files are absent, nothing is written |
//
// RocksDB's log is dropped: a job's result has the reason of a failure.
#pragma once

#include <rocksdb/file_system.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "primary_link.h"
#include "shared_folder.h"

namespace eco {

class RemoteFileSystem : public rocksdb::FileSystemWrapper {
 public:
  struct Folders {
    std::string database;  // path in the job's input
    std::string output;    // path for the job's result
    std::string scratch;   // local path
  };

  // shared: the database's folder as this server sees it; nullptr: not visible.
  RemoteFileSystem(PrimaryLink& primary, Folders folders, std::unique_ptr<SharedFolder> shared = nullptr);

  [[nodiscard]] const char* Name() const override { return "eco.RemoteFileSystem"; }

  rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                        rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* result,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* result,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomRWFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewMemoryMappedFileBuffer(const std::string& path,
                                              std::unique_ptr<rocksdb::MemoryMappedFileBuffer>* result) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus FileExists(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetChildren(const std::string& path, const rocksdb::IOOptions& options,
                                std::vector<std::string>* result, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetChildrenFileAttributes(const std::string& path, const rocksdb::IOOptions& options,
                                              std::vector<rocksdb::FileAttributes>* result,
                                              rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Truncate(const std::string& path, size_t bytes, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus CreateDir(const std::string& path, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus CreateDirIfMissing(const std::string& path, const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteDir(const std::string& path, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetFileSize(const std::string& path, const rocksdb::IOOptions& options, std::uint64_t* bytes,
                                rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetFileModificationTime(const std::string& path, const rocksdb::IOOptions& options,
                                            std::uint64_t* time, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus LockFile(const std::string& path, const rocksdb::IOOptions& options, rocksdb::FileLock** lock,
                             rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus UnlockFile(rocksdb::FileLock* lock, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewLogger(const std::string& path, const rocksdb::IOOptions& options,
                              std::shared_ptr<rocksdb::Logger>* result, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetAbsolutePath(const std::string& path, const rocksdb::IOOptions& options, std::string* result,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetFreeSpace(const std::string& path, const rocksdb::IOOptions& options, std::uint64_t* bytes,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus IsDirectory(const std::string& path, const rocksdb::IOOptions& options, bool* is_directory,
                                rocksdb::IODebugContext* debug) override;

 private:
  // The file's name if the path is directly in this folder.
  [[nodiscard]] static std::optional<std::string> name_in(const std::string& folder, const std::string& path);
  [[nodiscard]] std::optional<std::string> remote(const std::string& path) const;
  [[nodiscard]] std::optional<std::string> scratch(const std::string& path);
  // Invalid: cannot be read there.
  [[nodiscard]] Fd shared_table(const std::string& name, std::uint64_t bytes) const;
  [[nodiscard]] rocksdb::IOStatus refresh();
  [[nodiscard]] rocksdb::IOStatus size_of(const std::string& name, std::uint64_t* bytes);

  PrimaryLink& primary_;
  Folders folders_;
  std::unique_ptr<SharedFolder> shared_;
  std::mutex mutex_;
  std::set<std::string> shared_outputs_;
  std::map<std::string, std::uint64_t> sizes_;  // of the database's files, from the last listing
};

}  // namespace eco
