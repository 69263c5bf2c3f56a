#include "interruption.h"

#include <csignal>

namespace shell::interruption {
namespace {

volatile std::sig_atomic_t came = 0;
bool armed = false, delivered = false;

}  // namespace

void listen() {
  struct sigaction action {};
  action.sa_handler = [](int) { came = 1; };  // without SA_RESTART: a read of the terminal ends
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool pending() { return came != 0; }

void clear() {
  came = 0;
  delivered = false;
}

bool fail_now() {
  if (!armed || came == 0 || delivered) return false;
  return delivered = true;
}

Armed::Armed() { armed = true; }
Armed::~Armed() { armed = false; }

}  // namespace shell::interruption
