// `ecod worker` as an operator starts it, on a free port of loopback.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace eco {

class WorkerProcess {
 public:
  // file_kib_max: its jobs write no larger files, as if the disk were full; 0: they do.
  WorkerProcess(std::string ecod, std::string scratch, std::vector<std::string> arguments = {}, int file_kib_max = 0);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // The processes of its jobs.
  [[nodiscard]] std::vector<pid_t> jobs() const;
  // Its CPU time, with that of the jobs that ended.
  [[nodiscard]] double cpu_s() const;
  void kill();
  // Killed, and another one at its address.
  void restart();
  // The disk has room again.
  void make_room();

 private:
  void start(const std::string& listen);

  std::string ecod_, scratch_;
  std::vector<std::string> arguments_;
  int file_kib_max_;
  int lifeline_ = -1;  // its standard input: it ends with this process, however that ends
  pid_t pid_ = -1;
  int port_ = 0;
};

}  // namespace eco
