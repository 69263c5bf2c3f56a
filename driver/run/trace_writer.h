// Writes the trace of a run: what the sessions of its clients are asked for, from when the run says it begins.
//
// A line is written before its operation is carried out, under one lock, so that times grow in the file; the recording
// therefore costs each operation some 100 ns and the clients wait for each other. The bytes of a row that is read are
// not known then, and stay empty. A batch is as many lines as it has records.
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
  // Makes the file, or empties it. Throws UsageError.
  explicit TraceWriter(std::string path);

  // Times count from here; what came before is not written.
  void start();

  // A session that does what the other does and records it. The writer must outlive it.
  [[nodiscard]] std::unique_ptr<Session> recording(std::unique_ptr<Session> session);

  // Throws RunFailure when the file cannot be written.
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
  std::string text_;  // not written yet
};

}  // namespace edgejoule::driver
