#include "interruption.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace edgejoule::driver {
namespace {

constexpr int interrupted_status = 130;
std::atomic<int> received = 0;
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");

void receive(int signal) {
  if (received.exchange(signal) != 0) _exit(interrupted_status);
}

}  // namespace

void catch_interruptions() {
  struct sigaction action {};
  action.sa_handler = receive;
  action.sa_flags = SA_RESTART;  // a database's system calls are not to fail for it
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int interruption() { return received.load(); }

}  // namespace edgejoule::driver
