// Starts, limits and ends the process of a job, and talks to it.
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

  // connection: the job's data connection, or invalid. Throws std::runtime_error.
  JobProcess(std::vector<std::string> command, const std::string& scratch, Fd connection, const Limits& limits);
  // Kills the process if it still runs, and waits for it.
  ~JobProcess();
  JobProcess(const JobProcess&) = delete;
  JobProcess& operator=(const JobProcess&) = delete;

  [[nodiscard]] MessagePipe& pipe() { return *pipe_; }
  void kill();
  // Returns how the process ended, "exit 3" or "signal 9 (Killed)". Kills it if it does not end after its pipe was
  // closed.
  [[nodiscard]] std::string wait();

 private:
  pid_t pid_ = -1;
  std::unique_ptr<MessagePipe> pipe_;
};

// The body of a job's process: one compaction, in isolation so that a crash, leak or hang of RocksDB does not affect
// the worker. Receives the job on the socket `fd`, answers there, and writes outputs to the folder `scratch`. data_fd:
// data connection, or negative. Returns the exit code; does not return if the primary is lost.
[[nodiscard]] int run_job(int fd, int data_fd, const std::string& scratch);

}  // namespace eco
