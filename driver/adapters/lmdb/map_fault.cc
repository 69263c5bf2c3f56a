#include "map_fault.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

namespace edgejoule::driver {
namespace {

std::string message;  // formatted in advance: a signal handler must not allocate
struct sigaction former;

void end_with_message(int signal, siginfo_t* info, void* /*context*/) {
  if (info->si_code != BUS_ADRERR) {  // not a fault of a mapped page
    ::signal(signal, SIG_DFL);
    raise(signal);
    return;
  }
  const auto written = write(STDERR_FILENO, message.data(), message.size());
  _exit(written < 0 ? 2 : 1);
}

}  // namespace

MapFaultMessage::MapFaultMessage(const std::string& text) {
  say(text);
  struct sigaction action {};
  action.sa_sigaction = end_with_message;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, &former);
}

void MapFaultMessage::say(const std::string& text) { message = fmt::format("edgejoule-driver: {}\n", text); }

MapFaultMessage::~MapFaultMessage() { sigaction(SIGBUS, &former, nullptr); }

}  // namespace edgejoule::driver
