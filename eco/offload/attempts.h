// The jobs at workers: launched, waited for, given up, and reported to the placer. Also what they teach about workers:
// which refuse a database's jobs, and how their data is reached. Thread-safe.
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
  // One job of RocksDB's; number: of its compaction, which several jobs may be parts of.
  struct Ask {
    std::string id, database;
    int number = 0;
  };
  // What is known of a compaction's jobs at workers when RocksDB has ended it.
  struct Ended {
    bool elsewhere = false;  // a worker tried one of them
    std::vector<proto::JobReport> reports;
  };

  // release: RocksDB's. Throws std::runtime_error: TLS files cannot be read.
  Attempts(const Settings& settings, Learning& learning, std::string release);

  // Fills in which workers to avoid, and whether the database's last job went by a shared folder.
  void describe(proto::PlaceRequest& request, const std::string& database) const;
  // Begins a job at the worker that the placer chose. Throws NotOffloadable, or whatever else goes wrong.
  void launch(const Ask& ask, const proto::Placement& placement, const PortableJob& job, TextForm form,
              const Begun& begun, const std::string& text);
  // Waits for a job's end. False: RocksDB is to compact it.
  [[nodiscard]] bool wait(const std::string& id, std::string& result);
  void give_up_all(const char* why);
  [[nodiscard]] Ended ended(const std::string& database, const rocksdb::CompactionJobInfo& info);
  // The janitor: removes the folders in a database's directory that no job of now owns.
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
    std::shared_ptr<RemoteJob> remote;  // none: it is over
    proto::JobReport report;
    bool accepted = false;  // RocksDB is installing it
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
  // mutex_ is held by the caller of these.
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
  std::set<std::pair<std::string, int>> fell_back_;  // until RocksDB has compacted them
  std::map<std::string, Backoff> refusals_;          // by database: of workers that refused its jobs for their options
  std::set<std::string> shared_;                     // databases whose last job went by a shared folder
  std::set<std::string> seen_;                       // databases
  std::map<std::string, std::shared_ptr<grpc::Channel>> channels_;  // by address
  std::map<std::string, Clock::time_point> data_refused_;           // by address
};

}  // namespace eco
