#include "log_file.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/time.h>

#include <cstdarg>

namespace edgejoule::driver {
namespace {

constexpr std::size_t line_bytes_max = 8192;

}  // namespace

LogFile::LogFile(const std::string& directory, rocksdb::InfoLogLevel level)
    : Logger(level), file_(std::fopen((directory + "/LOG").c_str(), "ae")) {}

void LogFile::Logv(const char* format, va_list arguments) {
  if (!file_) return;
  char words[line_bytes_max];
  if (std::vsnprintf(words, sizeof words, format, arguments) < 0) return;
  timeval now{};
  gettimeofday(&now, nullptr);
  const auto line = fmt::format("{:%Y/%m/%d-%H:%M:%S}.{:06} {}\n", fmt::localtime(now.tv_sec), now.tv_usec, words);
  static_cast<void>(std::fwrite(line.data(), 1, line.size(), file_.get()));
  static_cast<void>(std::fflush(file_.get()));
}

}  // namespace edgejoule::driver
