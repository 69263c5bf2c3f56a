// Writes RocksDB's LOG with the C library, in RocksDB's form: time, thread, text. RocksDB's own writer fails an
// assertion, in builds that have them as Debian's, if it is used after a failed write. A full disk would then kill the
// process instead of failing the database's write.
#pragma once

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <rocksdb/env.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <memory>
#include <string>

namespace edgejoule::driver {

class LogFile final : public rocksdb::Logger {
 public:
  // Appends to the file LOG in the directory, or writes nothing if it cannot be opened. Lines that cannot be written
  // are dropped.
  LogFile(const std::string& directory, rocksdb::InfoLogLevel level);

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override;

 private:
  struct Close {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
  };

  std::unique_ptr<std::FILE, Close> file_;
};

inline LogFile::LogFile(const std::string& directory, rocksdb::InfoLogLevel level)
    : Logger(level), file_(std::fopen((directory + "/LOG").c_str(), "ae")) {}

inline void LogFile::Logv(const char* format, va_list arguments) {
  if (!file_) return;
  constexpr std::size_t line_bytes_max = 8192;
  char text[line_bytes_max];
  if (std::vsnprintf(text, sizeof text, format, arguments) < 0) return;
  timeval now{};
  gettimeofday(&now, nullptr);
  const auto line =
      fmt::format("{:%Y/%m/%d-%H:%M:%S}.{:06} {} {}\n", fmt::localtime(now.tv_sec), now.tv_usec, gettid(), text);
  static_cast<void>(std::fwrite(line.data(), 1, line.size(), file_.get()));
  static_cast<void>(std::fflush(file_.get()));
}

}  // namespace edgejoule::driver
