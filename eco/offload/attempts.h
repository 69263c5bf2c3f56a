// Launches jobs at workers, waits for them, gives them up and reports them to the placer. Records which workers refuse
// a database's jobs and whether a worker's data port is reachable. Thread-safe.
#pragma once

#include <grpcpp/channel.h>
#include <rocksdb/listener.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backoff.h"
#include "eco.h"
#include "eco.pb.h"
#include "learning.h"
#include "monitor.h"
#include "portable.h"
#include "remote_job.h"
#include "statistics.h"

namespace eco {

class Attempts {
 public:
  // One job as RocksDB offers it. number: of its compaction; several jobs can be parts of one compaction.
  struct Ask {
    std::string id, database;
    int number = 0;
  };
  // The jobs of one compaction that workers tried, once RocksDB has ended the compaction.
  struct Ended {
    bool elsewhere = false;  // a worker tried at least one
    std::vector<proto::JobReport> reports;
  };

  // release: RocksDB's. Throws std::runtime_error if the TLS files cannot be read.
  Attempts(const Settings& settings, Learning& learning, std::string release);

  // Adds the workers to avoid, and whether the database's last job used a shared folder.
  void describe(proto::PlaceRequest& request, const std::string& database) const;
  // Starts a job at the worker that the placer chose. Throws NotOffloadable or another exception.
  void launch(const Ask& ask, const proto::Placement& placement, const PortableJob& job, TextForm form,
              const Begun& begun, const std::string& text);
  // Waits until a job ends. False: RocksDB must compact it locally.
  [[nodiscard]] bool wait(const std::string& id, std::string& result);
  void give_up_all(const char* why);
  [[nodiscard]] Ended ended(const std::string& database, const rocksdb::CompactionJobInfo& info);
  // Removes the staging folders in a database's directory that belong to no current job.
  void clean(rocksdb::FileSystem& files, const std::string& database);

  // Changes the statistics, one thread at a time.
  template <typename Change>
  void count(Change change) {
    const std::lock_guard lock(mutex_);
    change(statistics_);
  }
  [[nodiscard]] Statistics statistics() const {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Tracked {
    std::string database, address;
    int number = 0;
    std::shared_ptr<rocksdb::FileSystem> files;
    std::shared_ptr<rocksdb::Logger> log;
    std::shared_ptr<RemoteJob> remote;  // nullptr: the job has ended
    proto::JobReport report;
    bool accepted = false;  // its result is valid; RocksDB is installing it
  };

  [[nodiscard]] RemoteJob::Order order_of(const std::string& database, const PortableJob& job, TextForm form,
                                          const Begun& begun) const;
  [[nodiscard]] std::optional<std::string> shared_folder(const rocksdb::FileSystem& files,
                                                         const std::string& database) const;
  [[nodiscard]] std::shared_ptr<grpc::Channel> channel(const std::string& address);
  [[nodiscard]] std::string data_host(const std::string& address);
  [[nodiscard]] bool first_of(const std::string& database);
  void begin(const std::string& id, const std::string& server, RemoteJob::Order order, Tracked tracked);

  [[nodiscard]] std::shared_ptr<RemoteJob> remote_of(const std::string& id);
  [[nodiscard]] Tracked settle(const std::string& id, const RemoteJob::Outcome& outcome);
  void report_failure(const std::string& id, const RemoteJob::Outcome& outcome, Tracked& job);
  // The caller holds mutex_.
  void tally(Tracked& tracked, const RemoteJob::Outcome& outcome);
  void waste(Tracked& tracked, const RemoteJob::Outcome& outcome);
  // A job in the table is at a worker or its result is accepted, never both; what has ended is at most what was asked.
  void check_invariants() const;

  const Settings& settings_;
  Learning& learning_;
  std::string release_;
  std::shared_ptr<grpc::ChannelCredentials> credentials_;

  mutable std::mutex mutex_;
  Statistics statistics_;
  std::map<std::string, Tracked> jobs_;              // by id
  std::set<std::pair<std::string, int>> fell_back_;  // local compactions still to come
  std::map<std::string, Backoff> refusals_;          // by database: workers that refused the options of its jobs
  std::set<std::string> shared_;                     // databases whose last job used a shared folder
  std::set<std::string> seen_;                       // databases with a job so far
  std::map<std::string, std::shared_ptr<grpc::Channel>> channels_;  // by address
  std::map<std::string, Clock::time_point> data_refused_;           // by address
};

}  // namespace eco
