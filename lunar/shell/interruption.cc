#include "interruption.h"

#include <poll.h>

#include <cerrno>
#include <csignal>

namespace shell::interruption {
namespace {

volatile std::sig_atomic_t came = 0;
bool armed = false, delivered = false;

}  // namespace

void listen() {
  struct sigaction action {};
  action.sa_handler = [](int) { came = 1; };  // without SA_RESTART: a wait ends
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool pending() { return came != 0; }

void clear() {
  came = 0;
  delivered = false;
}

bool wait_to_read(int descriptor) {
  sigset_t interrupt, others;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, &others);  // only ppoll lets it through: it cannot come between check and wait
  sigdelset(&others, SIGINT);
  pollfd readable{descriptor, POLLIN, 0};
  while (came == 0 && ppoll(&readable, 1, nullptr, &others) < 0 && errno == EINTR) {
  }
  sigprocmask(SIG_SETMASK, &others, nullptr);
  return came == 0;
}

bool fail_now() {
  if (!armed || came == 0 || delivered) return false;
  return delivered = true;
}

Armed::Armed() { armed = true; }
Armed::~Armed() { armed = false; }

}  // namespace shell::interruption
