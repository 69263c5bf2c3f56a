// A client thread's connection to a server, with reconnection.
#pragma once

#include <string>
#include <string_view>

#include "lost_server.h"

namespace edgejoule::driver {

class ServerSession : public Session {
 public:
  [[nodiscard]] std::string error() const final { return error_; }

 protected:
  // The counters must outlive the session. reconnect_ms: how long to wait for a lost server.
  ServerSession(std::uint64_t reconnect_ms, ServerCounters& counters)
      : reconnect_ms_(reconnect_ms), counters_(counters) {}

  // Performs the operation, which returns a Status. If the connection breaks, the operation has failed, and the session
  // reconnects.
  template <typename Operation>
  Status guarded(std::string_view operation, std::string_view key, Operation operate) {
    try {
      return operate();
    } catch (const LostServer& lost) {
      return recovered(lost, operation, key);
    }
  }

  std::string error_;  // of the last failed operation

 private:
  // Reconnects; prepared statements are lost. Throws DatabaseError.
  virtual void connect(std::uint64_t time_limit_ms) = 0;

  Status recovered(const LostServer& lost, std::string_view operation, std::string_view key);

  const std::uint64_t reconnect_ms_;
  ServerCounters& counters_;
};

}  // namespace edgejoule::driver
