// A database, a worker process, and between them a wire whose messages a test may alter.
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

// The constructor also removes the folders of killed processes.
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

// A proxy before a worker that passes everything on except for a test's changes.
class Wire final : public proto::Worker::Service {
 public:
  // The fate of a message; jobs are numbered from 0.
  enum class Fate : std::uint8_t {
    pass,
    drop,  // it is lost
    hang,  // this and all later messages are lost, and the stream stays open
    cut,   // the stream breaks
  };
  using ToWorker = std::function<Fate(int job, proto::FromPrimary&)>;
  using ToPrimary = std::function<Fate(int job, proto::FromWorker&)>;

  // data_channels: tables may use a data connection, which passes through here too.
  explicit Wire(const std::string& worker, ToPrimary to_primary = {}, ToWorker to_worker = {},
                bool data_channels = true);
  ~Wire() override;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] int jobs() const { return jobs_; }
  // Numbers of messages with bytes of tables, on streams and on data connections.
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

// Places every job at one address, also after failures.
class StubbornPlacer final : public Placer {
 public:
  explicit StubbornPlacer(std::string address, double local_s = 0) : address_(std::move(address)), local_s_(local_s) {}
  [[nodiscard]] proto::Placement place(const proto::PlaceRequest& request) override;
  void report(const proto::JobReport& report) override;
  // local_s: duration of a local compaction; 0: unknown.
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

// A database and its expected content.
class Bed {
 public:
  // options: with the service already attached.
  Bed(std::string path, rocksdb::Options options);
  ~Bed();
  Bed(const Bed&) = delete;
  Bed& operator=(const Bed&) = delete;

  [[nodiscard]] rocksdb::DB& db() { return *db_; }
  // Puts and deletes at random, and records the expected content.
  void write(int operations, std::uint64_t seed, int keys = 5000, std::size_t value_bytes = 100);
  void flush();
  // Waits until no compaction is left.
  void settle();
  void reopen(const rocksdb::Options& options);

  struct Difference {
    std::uint64_t lost = 0, stale = 0, back = 0;  // back: deleted, yet present
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
