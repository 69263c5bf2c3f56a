// Serves the files of a database's folder that a compaction needs, by name. Never serves the write-ahead log or another
// folder.
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
  // Answer a worker's request. False: the folder cannot be read, or the request exceeds any legitimate one.
  [[nodiscard]] bool answer(const proto::List& list, proto::FromPrimary& answer) const;
  [[nodiscard]] bool answer(const proto::Read& read, proto::FromPrimary& answer);
  // Sends the answer and adds its bytes to `bytes`. False: as above, or the channel broke.
  [[nodiscard]] bool answer(const proto::Read& read, DataChannel& channel, std::uint64_t& bytes);

 private:
  [[nodiscard]] rocksdb::FSRandomAccessFile* open(const std::string& name);
  // Descriptor for sendfile; -1: not a plain file, or missing.
  [[nodiscard]] int open_plain(const std::string& name);

  std::shared_ptr<rocksdb::FileSystem> files_;
  std::string database_;
  std::map<std::string, std::unique_ptr<rocksdb::FSRandomAccessFile>> open_;
  std::map<std::string, Fd> plain_;
};

}  // namespace eco
