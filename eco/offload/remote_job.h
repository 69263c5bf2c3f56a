// One job at a worker, seen from the primary: the stream, the outputs, their verification. It has ended, with a
// verified result or a reason, when wait() returns.
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
    std::string data_host;  // where its data connection would be; empty: all goes over the stream
    bool tls = false;       // of the stream; the data connection has to have it, too
    proto::Start start;     // its output folder is filled in, and how the worker knows a shared one
    std::shared_ptr<rocksdb::FileSystem> files;
    std::string database;
    std::string staging;  // name of its folder there
    std::uint64_t input_bytes = 0;
    Patience::Limits limits;
    Expectation expected;           // its folder is filled in
    TextForm form{};                // of the result
    rocksdb::Options table_format;  // to read the outputs with
  };
  struct Outcome {
    std::string failure;        // empty: the result may be installed
    std::string result;         // RocksDB's text
    proto::Result worker;       // what it took there
    bool cancelled = false;     // by cancel(), before anything else failed
    bool job_refused = false;   // the worker cannot do it as the options of the job want it
    bool data_refused = false;  // its data connection could not be opened: it went over the stream
    double wall_s = 0, home_cpu_s = 0;
    std::uint64_t bytes_moved = 0, bytes_shared = 0;  // by streams, by a shared folder
  };

  // Begins. Throws only std::system_error (no thread can be had).
  explicit RemoteJob(Order order);
  ~RemoteJob();
  RemoteJob(const RemoteJob&) = delete;
  RemoteJob& operator=(const RemoteJob&) = delete;

  [[nodiscard]] Outcome wait();
  // wait() returns soon.
  void cancel(const std::string& why);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace eco
