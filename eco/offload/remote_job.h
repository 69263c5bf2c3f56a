// The primary's side of one job at a worker: stream, outputs and their verification. When wait() returns, the job has
// ended with a verified result or a reason.
#pragma once

#include <grpcpp/channel.h>
#include <rocksdb/options.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "eco.pb.h"
#include "patience.h"
#include "staging.h"
#include "verification.h"

namespace eco {

class RemoteJob {
 public:
  struct Order {
    std::shared_ptr<grpc::Channel> worker;
    std::string data_host;  // host of the data connection; empty: everything goes over the stream
    bool tls = false;       // the stream uses TLS; the data connection must too
    proto::Start start;     // RemoteJob adds the output folder and the proof of a shared one
    std::shared_ptr<rocksdb::FileSystem> files;
    std::string database;
    std::string staging;  // name of its folder below the staging root
    std::uint64_t input_bytes = 0;
    Patience::Limits limits;
    Expectation expected;           // RemoteJob adds the folder
    TextForm form{};                // of the result
    rocksdb::Options table_format;  // for reading the outputs
  };
  struct Outcome {
    std::string failure;        // empty: the result may be installed
    std::string result;         // RocksDB's text
    proto::Result worker;       // the worker's report of its cost
    bool cancelled = false;     // cancel() ended it, not a failure
    bool job_refused = false;   // the worker cannot honour the job's options
    bool data_refused = false;  // no data connection could be opened; the stream carried the tables
    double wall_s = 0, home_cpu_s = 0;
    std::uint64_t bytes_moved = 0, bytes_shared = 0;  // over streams, through a shared folder
  };

  // Starts the job. Throws only std::system_error (no thread available).
  explicit RemoteJob(Order order);
  ~RemoteJob();
  RemoteJob(const RemoteJob&) = delete;
  RemoteJob& operator=(const RemoteJob&) = delete;

  [[nodiscard]] Outcome wait();
  // Makes wait() return soon.
  void cancel(const std::string& why);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace eco
