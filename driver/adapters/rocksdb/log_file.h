// RocksDB's own LOG, written with the C library. RocksDB's writer of it asserts, in builds with assertions as Debian's,
// when it is used again after a write that failed: a full disk would kill the process instead of failing the write.
#pragma once

#include <rocksdb/env.h>

#include <cstdio>
#include <memory>
#include <string>

namespace edgejoule::driver {

class LogFile final : public rocksdb::Logger {
 public:
  // Goes on at the end of the file LOG in the directory; without a file where that cannot be written. What cannot be
  // written later is left out.
  LogFile(const std::string& directory, rocksdb::InfoLogLevel level);

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override;

 private:
  struct Close {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
  };

  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace edgejoule::driver
