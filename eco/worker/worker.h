// Accepts jobs of other servers' databases and runs each in a separate process. Works without a federation: `ecod
// worker`.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "compaction_model.h"
#include "credentials.h"
#include "eco.pb.h"
#include "shared_folder.h"

namespace eco {

struct Energy {
  double joules = 0;
  std::string method;  // "measured", "counted" or "modelled"; empty: unknown
};

struct FinishedJob {
  std::string job;
  Job features;
  Cost cost;
  double network_s = 0, cpu_s = 0;
  std::uint64_t bytes_moved = 0;
  std::string error;  // empty: success
};

struct WorkerOptions {
  std::string listen = "127.0.0.1:0";  // port 0: a free port
  int data_port = 0;                   // for tables, on the same host; 0: a free port
  TlsFiles tls{};                      // without files it listens on loopback only
  std::uint32_t slots = 1;             // jobs at the same time
  std::uint32_t queue_max = 8;         // jobs that wait for a slot; further ones are refused
  std::string scratch{};               // exclusive folder; needs space for the outputs of all slots
  int nice = 0;                        // added to this process's nice value for jobs
  std::string cgroup{};                // cgroup folder (v2) for the jobs' processes; empty: none
  double job_cpu_s_max = 0;            // limit per job; 0: none
  SharedDirectories shared{};          // primaries' directories that this server sees
  std::string token{};                 // that a job must present; empty: none
  std::vector<std::string>
      command{};  // starts a job's process, with "--fd N --scratch FOLDER" appended; empty: this program, "job"

  // Returns why a job is refused; empty: accepted. Any thread.
  std::function<std::string(const proto::Start&)> admit{};
  // Energy of a job above idle. Any thread.
  std::function<Energy(double cpu_s, double compute_s, std::uint64_t bytes_moved)> energy_of{};
  // Any thread.
  std::function<void(const FinishedJob&)> finished{};
};

class Worker {
 public:
  // Listens when the constructor returns, and removes what an earlier worker left in the scratch folder. Throws
  // std::runtime_error if the address or the folder is not available, or another worker uses the folder.
  explicit Worker(WorkerOptions options);
  // Ends its jobs.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  [[nodiscard]] int port() const;
  [[nodiscard]] std::uint32_t jobs() const;  // running or waiting
  // Refuses new jobs; running jobs continue.
  void drain(bool on);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace eco
