// A connection that broke, and the way back to it.
//
// An operation whose connection breaks has failed: whether the server did it is unknown, so it is not tried again. The
// session then waits for the server, at most reconnect_ms long. When it is back the operation is BUSY and the run goes
// on; else it is ERROR and the run ends. An interruption (system/interruption.h) ends every wait.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include "contract/adapter.h"

namespace edgejoule::driver {

// How long a wait for a server may go on without a look whether an interruption came.
constexpr std::chrono::milliseconds interruption_look{100};

// Of Database::incidents().
inline constexpr const char* server_was_restarted = "the server was restarted";

class LostServer : public std::runtime_error {
 public:
  LostServer(const std::string& words, bool timed_out) : std::runtime_error(words), timed_out_(timed_out) {}
  [[nodiscard]] bool timed_out() const { return timed_out_; }

 private:
  bool timed_out_;
};

// Shared by the sessions of a database.
struct ServerCounters {
  std::atomic<std::uint64_t> connections_lost = 0;  // time-outs included
  std::atomic<std::uint64_t> timeouts = 0;
  std::atomic<std::uint64_t> reconnections = 0;

  void add_to(std::map<std::string, std::string>& stats) const {
    stats["client.connections_lost"] = std::to_string(connections_lost);
    stats["client.timeouts"] = std::to_string(timeouts);
    stats["client.reconnections"] = std::to_string(reconnections);
  }
};

// Connects, within so many ms. Throws DatabaseError or LostServer while the server is away.
using ConnectWithin = std::function<void(std::uint64_t time_limit_ms)>;

// Status of the operation, and what to say of it.
struct Recovery {
  Status status;
  std::string words;
};
[[nodiscard]] Recovery recover(const LostServer& lost, std::uint64_t reconnect_ms, ServerCounters& counters,
                               const ConnectWithin& connect);

// The server is there and does not serve yet: it loads its data, or recovers.
class NotReady : public DatabaseError {
  using DatabaseError::DatabaseError;
};

// Connects. A server that is not ready is waited for, at most reconnect_ms long; any other failure is thrown at once.
void connect_when_ready(std::uint64_t reconnect_ms, const std::function<void()>& connect);

}  // namespace edgejoule::driver
