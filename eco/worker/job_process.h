// A job's process: started, limited, spoken to, ended.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "message_pipe.h"
#include "tcp.h"

namespace eco {

class JobProcess {
 public:
  struct Limits {
    int nice = 0;
    std::string cgroup;
    double cpu_s_max = 0;
  };

  // connection: its data connection; invalid: it has none. Throws std::runtime_error.
  JobProcess(std::vector<std::string> command, const std::string& scratch, Fd connection, const Limits& limits);
  // Kills it if it still runs, and waits for it.
  ~JobProcess();
  JobProcess(const JobProcess&) = delete;
  JobProcess& operator=(const JobProcess&) = delete;

  [[nodiscard]] MessagePipe& pipe() { return *pipe_; }
  void kill();
  // How it ended: "exit 3", "signal 9 (Killed)". Kills what has not ended after its pipe was closed.
  [[nodiscard]] std::string wait();

 private:
  pid_t pid_ = -1;
  std::unique_ptr<MessagePipe> pipe_;
};

// What that process does: one compaction, so that RocksDB crashes, leaks or hangs without its server.
// Runs the job that the socket `fd` tells, with outputs in the folder `scratch`, and answers there. data_fd: its data
// connection; negative: it has none. Returns the process's exit code; does not return when the primary is gone.
[[nodiscard]] int run_job(int fd, int data_fd, const std::string& scratch);

}  // namespace eco
