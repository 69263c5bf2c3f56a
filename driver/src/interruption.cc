#include "interruption.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace edgejoule::driver {
namespace {

constexpr int interrupted_status = 130;
constexpr std::array<int, 3> interrupting = {SIGINT, SIGTERM, SIGHUP};
std::atomic<int> received = 0;
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");

void receive(int signal) {
  if (received.exchange(signal) != 0) _exit(interrupted_status);
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
  action.sa_flags = SA_RESTART;  // a database's system calls are not to fail for it
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

int interruption() { return received.load(); }

std::string_view interruption_name() {
  switch (received.load()) {
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
