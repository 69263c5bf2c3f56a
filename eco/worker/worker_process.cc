#include "worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace eco {

WorkerProcess::WorkerProcess(std::string ecod, std::string scratch, std::vector<std::string> arguments,
                             int file_kib_max)
    : ecod_(std::move(ecod)),
      scratch_(std::move(scratch)),
      arguments_(std::move(arguments)),
      file_kib_max_(file_kib_max) {
  start("127.0.0.1:0");
}

void WorkerProcess::restart() {
  kill();
  start(address());
}

void WorkerProcess::make_room() {
  file_kib_max_ = 0;
  restart();
}

void WorkerProcess::start(const std::string& listen) {
  std::vector<std::string> arguments{ecod_, "worker", "--while-stdin", "--listen", listen, "--scratch", scratch_};
  arguments.insert(arguments.end(), arguments_.begin(), arguments_.end());
  if (file_kib_max_ > 0) {
    // With the signal ignored a write fails, as on a full disk.
    const std::string script =
        "trap '' XFSZ; ulimit -f " + std::to_string(2 * file_kib_max_) + "; exec \"$@\"";  // in 512 bytes
    arguments.insert(arguments.begin(), {"/bin/sh", "-c", script, "sh"});
  }
  std::vector<char*> raw;
  for (auto& argument : arguments) raw.push_back(argument.data());
  raw.push_back(nullptr);
  int ends[2], life[2];
  if (pipe2(ends, O_CLOEXEC) != 0 || pipe2(life, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  if (lifeline_ >= 0) close(lifeline_);
  lifeline_ = life[1];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, life[0], 0);
  const int error = posix_spawn(&pid_, raw[0], &actions, nullptr, raw.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]), close(life[0]);
  if (error != 0) throw std::runtime_error(ecod_ + " does not start");
  std::string line;
  for (char c = 0; read(ends[0], &c, 1) == 1 && c != '\n';) line += c;
  close(ends[0]);
  const auto space = line.rfind(' ');
  if (space == std::string::npos) throw std::runtime_error(ecod_ + " does not listen");
  port_ = std::stoi(line.substr(space + 1));
}

WorkerProcess::~WorkerProcess() {
  if (lifeline_ >= 0) close(lifeline_);
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

void WorkerProcess::kill() {
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::vector<pid_t> WorkerProcess::jobs() const {
  std::vector<pid_t> found;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task")) {
    std::ifstream children(thread.path() / "children");
    for (pid_t child = 0; children >> child;) found.push_back(child);
  }
  return found;
}

double WorkerProcess::cpu_s() const {
  std::ifstream stat("/proc/" + std::to_string(pid_) + "/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 1));  // from field 3 on
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double ticks = 0;
  for (long each = 0, i = 0; i < 4 && fields >> each; ++i) ticks += static_cast<double>(each);
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace eco
