#include "scheduler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "check.h"
#include "messages.h"

namespace eco {
namespace {

constexpr std::size_t options_logged = 6;

}  // namespace

void log_options(const Decision& decision, const std::vector<Server>& servers, std::size_t home,
                 proto::LoggedDecision& log) {
  std::vector<const Option*> kept;
  for (const Option& option : decision.options) kept.push_back(&option);
  const auto rank = [&](const Option* option) {
    const int first = option->server == home ? 0 : decision.offload && option->server == decision.target ? 1 : 2;
    return std::tuple(first, !option->available, option->cost_j);
  };
  const auto end = kept.begin() + static_cast<std::ptrdiff_t>(std::min(options_logged, kept.size()));
  std::ranges::partial_sort(kept.begin(), end, kept.end(), {}, rank);
  for (auto option = kept.begin(); option != end; ++option) {
    auto& line = *log.add_options();
    line.set_server(servers[(*option)->server].name);
    line.set_time_s((*option)->time_s.mean);
    line.set_energy_j((*option)->energy_j);
    line.set_cost_j((*option)->cost_j);
    line.set_available((*option)->available);
    line.set_stalls((*option)->stalls);
  }
}

std::string new_token() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw std::system_error(errno, std::generic_category(), "getrandom");
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

proto::Placement Scheduler::place(const proto::PlaceRequest& request, const Policy& policy, bool shadow, double now_s,
                                  double alive_s, proto::LoggedDecision& log) {
  const std::scoped_lock lock(mutex_);
  proto::Placement placement;
  placement.set_shadow(shadow);
  const auto& servers = tracker_.servers(now_s, alive_s);
  const auto home = tracker_.find(request.server());
  if (!home) {
    placement.set_reason(fmt::format("{} is not in the server table", request.server()));
    return placement;
  }
  const Request asked = request_of(request);
  const Decision decision = decide(policy, asked, servers, *home);
  ECO_CHECK(decision.options.size() == servers.size(), decision.options.size(), servers.size());
  log_options(decision, servers, *home, log);
  placement.set_reason(decision.reason);
  placement.set_local_s(decision.options[*home].time_s.upper());
  if (!decision.offload) return placement;

  const Server& target = servers[decision.target];
  const double expected_s = decision.options[decision.target].time_s.upper();
  placement.set_offload(true);
  placement.set_server(target.name);
  placement.set_address(target.address);
  placement.set_expected_s(expected_s);
  placement.set_token(new_token());
  if (!shadow) tracker_.placed(target.name, placement.token(), request.job(), expected_s, now_s);
  return placement;
}

}  // namespace eco
