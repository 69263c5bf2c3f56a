// The worker of a server: takes jobs of other servers' databases and runs each in a process of its own. Needs no
// federation: `ecod worker`.
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
  std::string method;  // "measured", "counted" or "modelled"; empty: not known
};

struct FinishedJob {
  std::string job;
  Job features;
  Cost cost;
  double network_s = 0, cpu_s = 0;
  std::uint64_t bytes_moved = 0;
  std::string error;  // empty: it compacted
};

struct WorkerOptions {
  std::string listen = "127.0.0.1:0";  // port 0: a free one
  int data_port = 0;                   // for the jobs' tables, at the same host; 0: a free one
  TlsFiles tls{};                      // without it only loopback is listened to
  std::uint32_t slots = 1;             // jobs at a time
  std::uint32_t queue_max = 8;         // jobs that wait for a slot; further ones are refused
  std::string scratch{};               // folder of its own, on a disk with room for the outputs of all slots
  int nice = 0;                        // of the jobs' processes, added to this one's
  std::string cgroup{};                // folder of a cgroup (v2) that the jobs' processes are put into; empty: none
  double job_cpu_s_max = 0;            // a job that used more is ended; 0: no limit
  SharedDirectories shared{};          // the primaries' folders that this server sees
  std::string token{};                 // what a job must bring; empty: none
  std::vector<std::string>
      command{};  // of a job's process, "--fd N --scratch FOLDER" is added; empty: this program, "job"

  // Why a job is refused; empty: it is taken. Any thread.
  std::function<std::string(const proto::Start&)> admit{};
  // What the job drew beyond idle. Any thread.
  std::function<Energy(double cpu_s, double compute_s, std::uint64_t bytes_moved)> energy_of{};
  // Any thread.
  std::function<void(const FinishedJob&)> finished{};
};

class Worker {
 public:
  // Listens when it returns. Throws std::runtime_error: the address or the scratch folder cannot be had, or another
  // worker uses the folder. What is left there of an earlier one is removed.
  explicit Worker(WorkerOptions options);
  // Ends its jobs.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  [[nodiscard]] int port() const;
  [[nodiscard]] std::uint32_t jobs() const;  // that run or wait
  // Takes no further jobs; those that run go on.
  void drain(bool on);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace eco
