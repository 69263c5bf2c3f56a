// Where the outputs of a job arrive: DATABASE/eco-staging/JOB, on the database's file system, so that RocksDB installs
// them by renaming. RocksDB takes no notice of the folder; its live files never lie in it.
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
  // Of one job. bytes_max: more is no plausible output.
  Staging(std::shared_ptr<rocksdb::FileSystem> files, const std::string& database, const std::string& job,
          std::uint64_t bytes_max);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  // Makes the folder.
  [[nodiscard]] rocksdb::IOStatus begin();
  // The next bytes of a file, in order. Where they were its last, `complete` gets its name.
  [[nodiscard]] rocksdb::IOStatus receive(const std::string& name, std::uint64_t offset, const rocksdb::Slice& data,
                                          bool last, std::string* complete);
  // A file that the worker wrote here itself, by a shared folder.
  [[nodiscard]] rocksdb::IOStatus adopt(const std::string& name, std::uint64_t bytes);
  // An empty file, by which a worker knows the folder.
  [[nodiscard]] rocksdb::IOStatus make(const std::string& name);
  void remove(const std::string& name);
  // Of a complete file: on the disk for good. Another thread may call it while others are received.
  [[nodiscard]] rocksdb::IOStatus sync(const std::string& name, bool adopted = false);
  [[nodiscard]] bool all_complete() const { return open_.empty(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  // that it received

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

// Removes what failed jobs left in a database's staging folder: the folders of all jobs but those named. Returns how
// many files it removed.
std::size_t clean_staging(rocksdb::FileSystem& files, const std::string& database, const std::set<std::string>& keep);

}  // namespace eco
