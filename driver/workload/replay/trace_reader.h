// Reads a trace line by line in constant memory. The file may be compressed by gzip.
#pragma once

#include <zlib.h>

#include <memory>
#include <string>
#include <vector>

#include "run/trace.h"

namespace edgejoule::driver {

class TraceReader {
 public:
  // Opens the file and checks its first line. Throws UsageError.
  explicit TraceReader(std::string path);

  // The next line; nullptr at the end. Throws UsageError with file, line and the expected form.
  const TraceLine* next();

  [[nodiscard]] std::uint64_t lines() const { return line_ - 1; }  // read so far, without the header

 private:
  struct CloseGzip {
    void operator()(gzFile file) const { gzclose(file); }
  };

  [[noreturn]] void refuse(const std::string& why) const;
  bool next_text(std::string_view& text);
  void fill();
  [[nodiscard]] std::uint64_t time_ns(std::string_view text) const;
  [[nodiscard]] TraceOperation operation(std::string_view text) const;
  [[nodiscard]] std::string_view key(std::string_view text);
  [[nodiscard]] std::optional<std::uint64_t> size(std::string_view text) const;

  std::string path_;
  std::unique_ptr<gzFile_s, CloseGzip> file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // first byte in the buffer that is not yet used
  std::size_t end_ = 0;
  bool ended_ = false;
  std::uint64_t line_ = 0;  // number of the last line returned
  TraceLine current_{};
  std::string decoded_;
};

}  // namespace edgejoule::driver
