// Records the operations of a run as a trace.
//
// Each line is written before its operation, under one lock, so that times grow in the file. Recording therefore adds
// about 100 ns to each operation, and clients wait for each other. The size of a read is unknown at that time and stays
// empty. A batch is recorded as one line per record.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include "contract/adapter.h"
#include "trace.h"

namespace edgejoule::driver {

class TraceWriter {
 public:
  // Creates or empties the file. Throws UsageError.
  explicit TraceWriter(std::string path);

  // Sets the origin of time. Earlier operations are not recorded.
  void start();

  // Wraps a session so that its calls are recorded. The writer must outlive the result.
  [[nodiscard]] std::unique_ptr<Session> recording(std::unique_ptr<Session> session);

  // Throws RunFailure if the file cannot be written.
  void line(TraceOperation operation, std::string_view key, std::optional<std::uint64_t> size);
  void finish();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void write_out();

  std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  std::atomic<bool> recording_ = false;
  std::mutex mutex_;
  std::uint64_t begin_ns_ = 0;
  std::string text_;  // not yet written
};

}  // namespace edgejoule::driver
