#include "server_session.h"

#include <fmt/format.h>

namespace edgejoule::driver {

Status ServerSession::recovered(const LostServer& lost, std::string_view operation, std::string_view key) {
  const auto recovery =
      recover(lost, reconnect_ms_, counters_, [this](std::uint64_t time_limit_ms) { connect(time_limit_ms); });
  error_ = fmt::format("{} of key {}: {}", operation, key, recovery.message);
  return recovery.status;
}

}  // namespace edgejoule::driver
