// Recovery after a broken connection.
//
// An operation whose connection breaks has failed. It is not retried, because the server may have performed it. The
// session then waits for the server, at most reconnect_ms. If the server is back, the operation is BUSY and the run
// continues; otherwise it is ERROR and the run ends. An interruption (system/interruption.h) ends every wait.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include "contract/adapter.h"

namespace edgejoule::driver {

// Maximum time of a wait between two checks for an interruption.
constexpr std::chrono::milliseconds interruption_poll{100};

// A message for Database::incidents().
inline constexpr const char* server_was_restarted = "the server was restarted";

class LostServer : public std::runtime_error {
 public:
  LostServer(const std::string& message, bool timed_out) : std::runtime_error(message), timed_out_(timed_out) {}
  [[nodiscard]] bool timed_out() const { return timed_out_; }

 private:
  bool timed_out_;
};

// Shared by the sessions of a database.
struct ServerCounters {
  std::atomic<std::uint64_t> connections_lost = 0;  // includes time-outs
  std::atomic<std::uint64_t> timeouts = 0;
  std::atomic<std::uint64_t> reconnections = 0;

  void add_to(std::map<std::string, std::string>& stats) const {
    stats["client.connections_lost"] = std::to_string(connections_lost);
    stats["client.timeouts"] = std::to_string(timeouts);
    stats["client.reconnections"] = std::to_string(reconnections);
  }
};

// Connects within that time. Throws DatabaseError or LostServer while the server is away.
using ConnectWithin = std::function<void(std::uint64_t time_limit_ms)>;

// The operation's status and error message.
struct Recovery {
  Status status;
  std::string message;
};
[[nodiscard]] Recovery recover(const LostServer& lost, std::uint64_t reconnect_ms, ServerCounters& counters,
                               const ConnectWithin& connect);

// The server answers but is not ready: it loads its data or recovers.
class NotReady : public DatabaseError {
  using DatabaseError::DatabaseError;
};

// Connects. Waits at most reconnect_ms for a server that is not ready. Throws any other failure at once.
void connect_when_ready(std::uint64_t reconnect_ms, const std::function<void()>& connect);

}  // namespace edgejoule::driver
