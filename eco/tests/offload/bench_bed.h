// A real database, a real worker process, and between them a wire whose messages a test may alter.
#pragma once

#include <grpcpp/server.h>
#include <rocksdb/db.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data_port.h"
#include "eco.grpc.pb.h"
#include "eco.h"
#include "worker_process.h"

namespace eco::test {

// Those of processes that were killed are removed by the next one.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

class WorkerProcess : public eco::WorkerProcess {
 public:
  explicit WorkerProcess(const std::string& scratch, std::vector<std::string> arguments = {}, int file_kib_max = 0)
      : eco::WorkerProcess(ECO_ECOD, scratch, std::move(arguments), file_kib_max) {}
};

// Stands before a worker and passes everything on, except what a test alters.
class Wire final : public proto::Worker::Service {
 public:
  // What becomes of a message; one of a job has that job's number, from 0 on.
  enum class Fate : std::uint8_t {
    pass,
    drop,  // it is lost
    hang,  // it and all that follow are lost, and the stream stays open
    cut,   // the stream breaks
  };
  using ToWorker = std::function<Fate(int job, proto::FromPrimary&)>;
  using ToPrimary = std::function<Fate(int job, proto::FromWorker&)>;

  // data_channels: the jobs' tables may go beside the stream, through here as well.
  explicit Wire(const std::string& worker, ToPrimary to_primary = {}, ToWorker to_worker = {},
                bool data_channels = true);
  ~Wire() override;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] int jobs() const { return jobs_; }
  // Messages with bytes of tables, on the streams and beside them.
  [[nodiscard]] int on_streams() const { return on_streams_; }
  [[nodiscard]] int beside_streams() const { return beside_streams_; }

  grpc::Status Compact(grpc::ServerContext* context,
                       grpc::ServerReaderWriter<proto::FromWorker, proto::FromPrimary>* primary) override;

 private:
  class Relay;

  ToPrimary to_primary_;
  ToWorker to_worker_;
  std::string worker_host_;
  DataPort data_port_{"127.0.0.1", 0};
  bool data_channels_;
  std::unique_ptr<proto::Worker::Stub> worker_;
  std::atomic<int> jobs_{0}, on_streams_{0}, beside_streams_{0};
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// Every job goes to one address, however often it failed there.
class StubbornPlacer final : public Placer {
 public:
  explicit StubbornPlacer(std::string address, double local_s = 0) : address_(std::move(address)), local_s_(local_s) {}
  [[nodiscard]] proto::Placement place(const proto::PlaceRequest& request) override;
  void report(const proto::JobReport& report) override;
  // What a local compaction takes; 0: it is not known.
  void set_local_s(double local_s);
  [[nodiscard]] std::vector<proto::PlaceRequest> requests() const;
  [[nodiscard]] std::vector<proto::JobReport> reports() const;

 private:
  std::string address_;
  double local_s_;
  mutable std::mutex mutex_;
  std::vector<proto::PlaceRequest> requests_;
  std::vector<proto::JobReport> reports_;
};

// Small tables, so that level 0 is compacted often.
[[nodiscard]] rocksdb::Options small_tables();

// A database and what it must hold.
class Bed {
 public:
  // attach: sets the service of its options.
  Bed(std::string path, rocksdb::Options options);
  ~Bed();
  Bed(const Bed&) = delete;
  Bed& operator=(const Bed&) = delete;

  [[nodiscard]] rocksdb::DB& db() { return *db_; }
  // Puts and deletes at random, and remembers.
  void write(int operations, std::uint64_t seed, int keys = 5000, std::size_t value_bytes = 100);
  void flush();
  // Until nothing is compacted any more.
  void settle();
  void reopen(const rocksdb::Options& options);

  struct Difference {
    std::uint64_t lost = 0, stale = 0, back = 0;  // back: deleted, and there again
    bool operator==(const Difference&) const = default;
  };
  [[nodiscard]] Difference difference();
  [[nodiscard]] std::uint64_t background_errors() const { return *background_errors_; }

 private:
  void open(rocksdb::Options options);

  std::string path_;
  std::unique_ptr<rocksdb::DB> db_;
  std::map<std::string, std::string> expected_;
  std::map<std::string, bool> deleted_;
  std::shared_ptr<std::atomic<std::uint64_t>> background_errors_ = std::make_shared<std::atomic<std::uint64_t>>(0);
};

void PrintTo(const Bed::Difference& difference, std::ostream* out);

}  // namespace eco::test
