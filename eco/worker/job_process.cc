#include "job_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace eco {
namespace {

constexpr int child_fd = 3, child_data_fd = 4;

// Copies a descriptor above the child's fixed numbers: dup2 onto itself would keep close-on-exec, and onto another one
// still needed would lose it.
Fd above(int fd) {
  Fd copy(fcntl(fd, F_DUPFD_CLOEXEC, child_data_fd + 1));
  if (!copy) throw std::runtime_error(fmt::format("a job's descriptor: {}", std::strerror(errno)));
  return copy;
}

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

class SpawnAttributes {
 public:
  SpawnAttributes() {
    posix_spawnattr_init(&attributes_);
    // Shields the job from Ctrl-C; the worker ends its jobs.
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  posix_spawnattr_t* get() { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

void limit(pid_t pid, const JobProcess::Limits& limits) {
  if (limits.nice != 0 &&
      setpriority(PRIO_PROCESS, static_cast<id_t>(pid), getpriority(PRIO_PROCESS, 0) + limits.nice) != 0)
    throw std::runtime_error(fmt::format("nice {}: {}", limits.nice, std::strerror(errno)));
  if (!limits.cgroup.empty()) {
    std::ofstream processes(limits.cgroup + "/cgroup.procs");
    if (!(processes << pid << std::flush))
      throw std::runtime_error(limits.cgroup + ": a job's process cannot be put into this cgroup");
  }
  if (limits.cpu_s_max > 0) {
    const auto seconds = static_cast<rlim_t>(std::ceil(limits.cpu_s_max));
    const rlimit bound{.rlim_cur = seconds, .rlim_max = seconds};
    if (prlimit(pid, RLIMIT_CPU, &bound, nullptr) != 0)
      throw std::runtime_error(fmt::format("the limit of {} CPU seconds: {}", seconds, std::strerror(errno)));
  }
}

}  // namespace

JobProcess::JobProcess(std::vector<std::string> command, const std::string& scratch, Fd connection,
                       const Limits& limits) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::runtime_error(fmt::format("socketpair: {}", std::strerror(errno)));
  pipe_ = std::make_unique<MessagePipe>(ends[0]);
  const Fd child_end(ends[1]), from = above(ends[1]);
  Fd data_from;
  SpawnActions actions;
  posix_spawn_file_actions_adddup2(actions.get(), from.get(), child_fd);
  command.insert(command.end(), {"--fd", std::to_string(child_fd), "--scratch", scratch});
  if (connection) {
    data_from = above(connection.get());
    posix_spawn_file_actions_adddup2(actions.get(), data_from.get(), child_data_fd);
    command.insert(command.end(), {"--data-fd", std::to_string(child_data_fd)});
  }
  std::vector<char*> arguments;
  for (auto& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  SpawnAttributes attributes;
  const int error = posix_spawn(&pid_, arguments[0], actions.get(), attributes.get(), arguments.data(), environ);
  if (error != 0) throw std::runtime_error(fmt::format("{}: {}", command[0], std::strerror(error)));
  try {
    limit(pid_, limits);
  } catch (...) {
    kill();
    (void)wait();
    throw;
  }
}

JobProcess::~JobProcess() {
  kill();
  if (pid_ > 0) (void)wait();
}

void JobProcess::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

std::string JobProcess::wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
  if (WIFSIGNALED(status)) return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exit {}", WEXITSTATUS(status));
}

}  // namespace eco
