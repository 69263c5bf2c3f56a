#include "child_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "system/interruption.h"
#include "system/system.h"

namespace edgejoule::driver {
namespace {

constexpr int poll_ms = 100;

void tell_parent(int messages, std::string_view message) {
  while (!message.empty()) {
    const auto written = write(messages, message.data(), message.size());
    if (written <= 0) return;
    message.remove_prefix(static_cast<std::size_t>(written));
  }
}

[[noreturn]] void work_in_child(const std::function<void()>& work, pid_t parent, int messages) {
  end_at_interruptions();
  int status = 0;
  try {
    die_with_parent(parent);
    work();
  } catch (const std::exception& error) {
    status = 1;
    tell_parent(messages, error.what());
  }
  _exit(status);
}

}  // namespace

void stop_when_interrupted() {
  if (interruption() != 0) throw Interrupted();
}

ChildProcess::ChildProcess(const std::function<void()>& work) {
  int ends[2];
  if (pipe2(ends, 0) != 0) throw std::system_error(errno, std::generic_category(), "pipe to a child process");
  std::fflush(nullptr);  // otherwise the child would write it, too
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) {
    close(ends[0]);
    work_in_child(work, parent, ends[1]);
  }
  const int failure = errno;
  close(ends[1]);
  messages_ = ends[0];
  if (process_ < 0) {
    close(messages_);
    throw std::system_error(failure, std::generic_category(), "start of a child process");
  }
}

ChildProcess::~ChildProcess() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  if (messages_ >= 0) close(messages_);
}

bool ChildProcess::alive() const {
  siginfo_t state{};
  return process_ > 0 && waitid(P_PID, static_cast<id_t>(process_), &state, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         state.si_pid == 0;
}

std::string ChildProcess::said() {
  std::string message;
  char buffer[1024];
  ssize_t got = 0;
  while ((got = read(messages_, buffer, sizeof buffer)) > 0) message.append(buffer, static_cast<std::size_t>(got));
  return message;
}

std::string ChildProcess::ended() {
  auto message = said();
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = -1;
  if (WIFSIGNALED(status)) return fmt::format("ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  if (status != 0 && message.empty()) return "failed without a message";
  return message;
}

std::string ChildProcess::wait(std::chrono::milliseconds limit) { return wait(limit, stop_when_interrupted); }

std::string ChildProcess::wait_through(std::chrono::milliseconds limit) {
  return wait(limit, [] {});
}

std::string ChildProcess::wait(std::chrono::milliseconds limit, const std::function<void()>& meanwhile) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  pollfd message{messages_, POLLIN, 0};
  // The pipe becomes readable when the child sends its message, at its end, and when the child ends.
  while (poll(&message, 1, poll_ms) <= 0) {
    meanwhile();
    if (std::chrono::steady_clock::now() < deadline) continue;
    kill(process_, SIGKILL);
    static_cast<void>(ended());
    return fmt::format("not done after {} s", std::chrono::duration_cast<std::chrono::seconds>(limit).count());
  }
  return ended();
}

}  // namespace edgejoule::driver
