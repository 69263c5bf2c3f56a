// Runs `ecod worker` as an operator does, on a free loopback port.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace eco {

class WorkerProcess {
 public:
  // file_kib_max: limit on the jobs' file sizes, which acts as a full disk; 0: none.
  WorkerProcess(std::string ecod, std::string scratch, std::vector<std::string> arguments = {}, int file_kib_max = 0);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Processes of its jobs.
  [[nodiscard]] std::vector<pid_t> jobs() const;
  // CPU time, including ended jobs.
  [[nodiscard]] double cpu_s() const;
  void kill();
  // Kills it and starts another at its address.
  void restart();
  // Removes the file size limit.
  void make_room();

 private:
  void start(const std::string& listen);

  std::string ecod_, scratch_;
  std::vector<std::string> arguments_;
  int file_kib_max_;
  int lifeline_ = -1;  // its standard input, whose end stops it even if this process crashes
  pid_t pid_ = -1;
  int port_ = 0;
};

}  // namespace eco
