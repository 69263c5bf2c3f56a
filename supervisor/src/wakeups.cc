#include "wakeups.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "clock.h"

namespace edgejoule::supervisor {
namespace {

constexpr std::array<int, 4> stop_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::size_t mark_bytes_max = 200;
// Capacity of a FIFO: all that the command can have written before its exit.
constexpr std::size_t pipe_bytes = 1 << 16;

// The command must not inherit the ignored signals of the caller (Python ignores SIGPIPE, nohup SIGHUP).
void reset_dispositions() {
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  for (int signal = 1; signal <= SIGRTMAX; ++signal) ::sigaction(signal, &by_default, nullptr);
  ::signal(SIGPIPE, SIG_IGN);  // a closed reader is an error of write()
}

}  // namespace

Wakeups::Wakeups() {
  reset_dispositions();
  sigset_t handled;
  ::sigemptyset(&handled);
  ::sigaddset(&handled, SIGCHLD);
  for (const int signal : stop_signals) ::sigaddset(&handled, signal);
  ::sigprocmask(SIG_SETMASK, &handled, nullptr);
  signals_ = ::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
  // Without pidfd_open (Linux before 5.3), the closed report pipe is the only sign that the parent has ended.
  parent_ = static_cast<int>(::syscall(SYS_pidfd_open, ::getppid(), 0));
}

Wakeups::~Wakeups() {
  ::close(signals_);
  if (parent_ >= 0) ::close(parent_);
}

void Wakeups::wait(std::optional<std::int64_t> timeout_ns) {
  enum : std::size_t { signals, parent, report, marks, input };
  // The writing end of a pipe gets POLLERR, which poll always reports, when the reader closes.
  std::array<pollfd, 5> sources{{{signals_, POLLIN, 0},
                                 {parent_, POLLIN, 0},
                                 {watched_.report, 0, 0},
                                 {watched_.marks, POLLIN, 0},
                                 {watched_.input, POLLIN, 0}}};
  timespec timeout{};
  if (timeout_ns) timeout = {static_cast<time_t>(*timeout_ns / second_ns), static_cast<long>(*timeout_ns % second_ns)};
  if (::ppoll(sources.data(), sources.size(), timeout_ns ? &timeout : nullptr, nullptr) <= 0) return;
  if (sources[marks].revents != 0) read_marks(monotonic_ns());
  if (sources[signals].revents != 0) read_signals();
  if (sources[input].revents != 0) read_input();
  if (sources[parent].revents != 0) {
    ask_to_stop("the process that started the supervisor has ended", 0);
    parent_ = (::close(parent_), -1);
  }
  if ((sources[report].revents & (POLLERR | POLLNVAL)) != 0) {
    ask_to_stop("the reader of the reports has ended", 0);
    watched_.report = -1;
  }
}

std::vector<Mark> Wakeups::take_marks() { return std::exchange(marks_, {}); }

void Wakeups::read_signals() {
  signalfd_siginfo info;
  while (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal != SIGCHLD) ask_to_stop("SIG" + std::string(::sigabbrev_np(signal)), signal);
  }
}

void Wakeups::read_marks(std::int64_t arrived_ns) {
  std::array<char, pipe_bytes> text;
  const ssize_t length = ::read(watched_.marks, text.data(), text.size());
  for (ssize_t at = 0; at < length; ++at) {
    const char c = text[static_cast<std::size_t>(at)];
    if (c == '\n') {
      marks_.push_back({arrived_ns, std::exchange(mark_text_, {})});
    } else if (mark_text_.size() < mark_bytes_max) {
      mark_text_ += c;
    }
  }
}

void Wakeups::read_input() {
  std::array<char, 4096> ignored;
  const ssize_t length = ::read(watched_.input, ignored.data(), ignored.size());
  if (length > 0 || (length < 0 && (errno == EINTR || errno == EAGAIN))) return;
  input_ended_ = true;
  watched_.input = -1;
}

void Wakeups::ask_to_stop(std::string reason, int signal) {
  if (stop_) return;
  stop_ = std::move(reason);
  stop_signal_ = signal;
}

}  // namespace edgejoule::supervisor
