#include "interruption.h"

#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "system.h"

namespace edgejoule::driver {
namespace {

constexpr int interrupted_status = 130;
constexpr std::uint64_t nap_ns_max =
    1'000'000'000;  // a signal just before the sleep, or in another thread, does not shorten it
constexpr std::array<int, 3> interrupting = {SIGINT, SIGTERM, SIGHUP};
std::atomic<int> own_state = 0;
std::atomic<int>* received = &own_state;
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");

void receive(int signal) {
  if (received->exchange(signal) != 0) _exit(interrupted_status);
}

void (*handler_of(int signal))(int) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler;
}

}  // namespace

void catch_interruptions() {
  struct sigaction action {};
  action.sa_handler = receive;
  action.sa_flags = SA_RESTART;  // a database's system calls must not fail with EINTR
  for (const int signal : interrupting) {
    if (signal == SIGHUP && handler_of(signal) == SIG_IGN) continue;
    sigaction(signal, &action, nullptr);
  }
}

void end_at_interruptions() {
  for (const int signal : interrupting) {
    if (handler_of(signal) == receive) ::signal(signal, SIG_DFL);
  }
}

void ignore_interruptions() {
  for (const int signal : interrupting) ::signal(signal, SIG_IGN);
}

int interruption() { return received->load(); }

std::atomic<int>& interruption_state() { return *received; }

void share_interruption_state(std::atomic<int>& of_program) { received = &of_program; }

void sleep_until(std::uint64_t monotonic_ns) {
  for (auto now_ns = now_monotonic_ns(); now_ns < monotonic_ns && interruption() == 0; now_ns = now_monotonic_ns()) {
    const auto nap_end_ns = std::min(monotonic_ns, now_ns + nap_ns_max);
    const timespec nap_end{static_cast<time_t>(nap_end_ns / 1'000'000'000U),
                           static_cast<long>(nap_end_ns % 1'000'000'000U)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &nap_end, nullptr);
  }
}

bool wait_for_line() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (interruption() == 0) {
    const int ready = poll(&input, 1, static_cast<int>(nap_ns_max / 1'000'000));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    char byte = 0;
    if (read(STDIN_FILENO, &byte, 1) != 1) return false;
    if (byte == '\n') return true;
  }
  return false;
}

std::string_view interruption_name() {
  switch (interruption()) {
    case 0:
      return "";
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    default:
      return "SIGHUP";
  }
}

}  // namespace edgejoule::driver
