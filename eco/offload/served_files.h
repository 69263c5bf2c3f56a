// What a worker may read of a database: the files of its folder that a compaction needs, by name. Never the write-ahead
// log, never another folder.
#pragma once

#include <rocksdb/file_system.h>

#include <map>
#include <memory>
#include <string>

#include "data_channel.h"
#include "eco.pb.h"

namespace eco {

class ServedFiles {
 public:
  static constexpr std::uint64_t read_bytes_max = 4 << 20;

  ServedFiles(std::shared_ptr<rocksdb::FileSystem> files, std::string database)
      : files_(std::move(files)), database_(std::move(database)) {}

  [[nodiscard]] static bool serves(const std::string& name);
  // The answers to a worker's question. False: the folder cannot be read, or more is asked for than ever needed.
  [[nodiscard]] bool answer(const proto::List& list, proto::FromPrimary& answer) const;
  [[nodiscard]] bool answer(const proto::Read& read, proto::FromPrimary& answer);
  // Sends it, and adds up the bytes. False: the channel broke, too.
  [[nodiscard]] bool answer(const proto::Read& read, DataChannel& channel, std::uint64_t& bytes);

 private:
  [[nodiscard]] rocksdb::FSRandomAccessFile* open(const std::string& name);
  // The file for the kernel to read; -1: it is no plain file, or not there.
  [[nodiscard]] int open_plain(const std::string& name);

  std::shared_ptr<rocksdb::FileSystem> files_;
  std::string database_;
  std::map<std::string, std::unique_ptr<rocksdb::FSRandomAccessFile>> open_;
  std::map<std::string, Fd> plain_;
};

}  // namespace eco
