#include "children.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

#include "clock.h"
#include "process_tree.h"

namespace edgejoule::supervisor {
namespace {

constexpr std::int64_t term_grace_ns = second_ns;
constexpr std::int64_t kill_interval_ns = second_ns / 50;  // repeated, to kill processes started meanwhile
constexpr std::int64_t kill_limit_ns = 10 * second_ns;

std::string names_of_descendants() {
  std::string names;
  for (const pid_t process : descendants(::getpid())) {
    names += (names.empty() ? "" : ", ") + std::to_string(process) + " (" + process_name(process) + ")";
  }
  return names;
}

}  // namespace

Children::Children(Wakeups& wakeups) : wakeups_(wakeups) {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
    throw std::system_error(errno, std::generic_category(), "PR_SET_CHILD_SUBREAPER");
  }
}

void Children::begin(pid_t command) {
  command_ = command;
  exit_.reset();
  usage_ = {};
  counting_ = true;
}

void Children::reap() {
  int status = 0;
  rusage used{};
  // The command is checked before its orphans, because its end is the end of the measured interval.
  if (command_ > 0 && !exit_ && ::wait4(command_, &status, WNOHANG, &used) == command_)
    count_end(command_, status, used);
  pid_t child = 0;
  while ((child = ::wait4(-1, &status, WNOHANG, &used)) > 0) count_end(child, status, used);
  any_left_ = child == 0;
  if (counting_ && exit_) {
    counting_ = false;
    if (any_left_) usage_.add(usage_of_descendants(::getpid()));
  }
}

void Children::count_end(pid_t child, int status, const rusage& used) {
  if (child == command_ && !exit_) {
    exit_ = Exit{monotonic_ns(), {}, {}};
    if (WIFEXITED(status)) exit_->code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) exit_->signal = WTERMSIG(status);
  }
  if (counting_) usage_.add(used);
}

int Children::end_all() {
  reap();
  if (!any_left_) return 0;
  const int ended = signal_all(SIGTERM);
  signal_all(SIGCONT);  // a stopped process handles SIGTERM only after it continues
  if (wait_for_all(term_grace_ns)) return ended;
  const std::int64_t limit_ns = monotonic_ns() + kill_limit_ns;
  do {
    signal_all(SIGKILL);
    if (wait_for_all(kill_interval_ns)) return ended;
  } while (monotonic_ns() < limit_ns);
  throw std::runtime_error("processes of the command cannot be killed: " + names_of_descendants());
}

int Children::signal_all(int signal) {
  const std::vector<pid_t> processes = descendants(::getpid());
  for (const pid_t process : processes) ::kill(process, signal);
  return static_cast<int>(processes.size());
}

bool Children::wait_for_all(std::int64_t time_ns) {
  const std::int64_t deadline_ns = monotonic_ns() + time_ns;
  for (;;) {
    reap();
    if (!any_left_) return true;
    const std::int64_t left_ns = deadline_ns - monotonic_ns();
    if (left_ns <= 0) return false;
    wakeups_.wait(left_ns);
  }
}

}  // namespace edgejoule::supervisor
