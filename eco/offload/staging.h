// Receives the outputs of a job in DATABASE/eco-staging/JOB. The folder is on the database's file system, so that
// RocksDB installs the tables by renaming. RocksDB ignores the folder, and its live files are never in it.
#pragma once

#include <rocksdb/file_system.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace eco {

[[nodiscard]] std::string staging_root(const std::string& database);

class Staging {
 public:
  // For one job. bytes_max: limit of plausible output.
  Staging(std::shared_ptr<rocksdb::FileSystem> files, const std::string& database, const std::string& job,
          std::uint64_t bytes_max);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  // Creates the folder.
  [[nodiscard]] rocksdb::IOStatus begin();
  // Appends the next bytes of a file. If they are its last, sets `complete` to its name.
  [[nodiscard]] rocksdb::IOStatus receive(const std::string& name, std::uint64_t offset, const rocksdb::Slice& data,
                                          bool last, std::string* complete);
  // Adopts a file that the worker wrote here itself through a shared folder.
  [[nodiscard]] rocksdb::IOStatus adopt(const std::string& name, std::uint64_t bytes);
  // Creates an empty file by which a worker recognizes the folder.
  [[nodiscard]] rocksdb::IOStatus make(const std::string& name);
  void remove(const std::string& name);
  // Syncs a complete file to disk. Another thread may call it during receive().
  [[nodiscard]] rocksdb::IOStatus sync(const std::string& name, bool adopted = false);
  [[nodiscard]] bool all_complete() const { return open_.empty(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  // received so far

 private:
  [[nodiscard]] static bool is_output(const std::string& name);

  struct Open {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    std::uint64_t bytes = 0;
  };

  std::shared_ptr<rocksdb::FileSystem> files_;
  std::string root_, folder_;
  std::uint64_t bytes_ = 0, bytes_shared_ = 0, bytes_max_;
  std::map<std::string, Open> open_;
  std::set<std::string> complete_;
};

// Removes the staging folders of all jobs except `keep`. Returns the number of files removed.
std::size_t clean_staging(rocksdb::FileSystem& files, const std::string& database, const std::set<std::string>& keep);

}  // namespace eco
