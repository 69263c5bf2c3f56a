// A client thread's connection to a server, made anew when it breaks.
#pragma once

#include <string>
#include <string_view>

#include "lost_server.h"

namespace edgejoule::driver {

class ServerSession : public Session {
 public:
  [[nodiscard]] std::string error() const final { return error_; }

 protected:
  // The counters outlive the session. reconnect_ms: how long a lost server is waited for.
  ServerSession(std::uint64_t reconnect_ms, ServerCounters& counters)
      : reconnect_ms_(reconnect_ms), counters_(counters) {}

  // Does the operation, which returns a Status. When the connection breaks it has failed, and the connection is made
  // anew.
  template <typename Operation>
  Status guarded(std::string_view operation, std::string_view key, Operation operate) {
    try {
      return operate();
    } catch (const LostServer& lost) {
      return recovered(lost, operation, key);
    }
  }

  std::string error_;  // of the last operation that failed

 private:
  // What was prepared on the connection before is gone. Throws DatabaseError.
  virtual void connect(std::uint64_t time_limit_ms) = 0;

  Status recovered(const LostServer& lost, std::string_view operation, std::string_view key);

  const std::uint64_t reconnect_ms_;
  ServerCounters& counters_;
};

}  // namespace edgejoule::driver
