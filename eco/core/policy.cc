#include "policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "check.h"

namespace eco {
namespace {

// In the order of policy_names.
constexpr PolicyKind kinds[] = {PolicyKind::local,     PolicyKind::edgepilot,  PolicyKind::eco,
                                PolicyKind::eco_local, PolicyKind::eco_global, PolicyKind::static_server,
                                PolicyKind::eco_plus};
static_assert(std::size(kinds) == policy_names.size());

// "static" of "static:SERVER".
constexpr std::string_view head_of(std::string_view name) { return name.substr(0, name.find(':')); }

constexpr double battery_low_weight = 10;

constexpr double guests_min = 3;  // with fewer guest jobs the server's own compactions predict better

double joule_weight(const Policy& policy, const Server& server) {
  const bool low = server.battery && *server.battery < policy.battery_low;
  return server.energy_weight * (low ? battery_low_weight : 1);
}

double upper_j(const Prediction& prediction) { return prediction.energy_j.upper(); }

// Power of a server while its application waits: idle power plus its busy cores.
double waiting_w(const Server& server) { return server.power.idle_w + server.power.busy_core_w * server.busy_cores; }

class Places {
 public:
  Places(const Policy& policy, const Request& request, const std::vector<Server>& servers, std::size_t home)
      : policy_(policy), request_(request), servers_(servers), home_(home) {}

  [[nodiscard]] std::vector<Option> options() const {
    std::vector<Option> all;
    all.reserve(servers_.size());
    const Prediction here = servers_[home_].model.predict(request_.job);
    for (std::size_t i = 0; i < servers_.size(); ++i) all.push_back(i == home_ ? at_home(here) : elsewhere(i, here));
    return all;
  }

 private:
  [[nodiscard]] Option at_home(const Prediction& here) const {
    Option option{.server = home_, .time_s = here.compute_s, .energy_j = here.energy_j.mean, .available = true};
    price(option, joule_weight(policy_, servers_[home_]) * upper_j(here), here.energy_j.mean);
    return option;
  }

  [[nodiscard]] Option elsewhere(std::size_t i, const Prediction& here) const {
    const Server &server = servers_[i], &home = servers_[home_];
    Prediction there = predict_guest(server.guest, server.model, request_.job);
    if (there.observations == 0) there = as_at_home(here, server);
    const double moved = 2.0 * static_cast<double>(request_.job.input_bytes);  // output is about as large
    const double link = std::min(server.link_bytes_s > 0 ? server.link_bytes_s - server.network_bytes_s : 0,
                                 home.link_bytes_s > 0 ? home.link_bytes_s - home.network_bytes_s : 0);
    Option option{.server = i, .time_s = there.compute_s};
    const bool queues = policy_.kind == PolicyKind::eco_plus;
    option.available = link > 0 && same_release(server.rocksdb, request_.rocksdb) &&
                       (queues ? server.reachable(policy_.busy_max) : server.takes_jobs(policy_.busy_max)) &&
                       std::ranges::find(request_.avoid, server.name) == request_.avoid.end();
    const double network_s = link > 0 ? moved / link : 0;
    const double wait_s = server.jobs < server.slots ? 0 : server.jobs_s;
    const Job at_home = staying(request_.job, request_.tls, request_.shared);
    const Estimate added_s = home.overhead.predict(at_home).compute_s;  // 0 until learnt from jobs
    option.time_s.mean += network_s + wait_s + added_s.mean;
    option.time_s.deviation = std::hypot(option.time_s.deviation, added_s.deviation);
    const Prediction stays = home.residual.predict(at_home);
    const double share = residual_share * (request_.tls ? residual_tls : 1);
    const double residual_j = stays.observations > 0 ? stays.energy_j.mean : share * here.energy_j.mean;
    const double home_j = residual_j + moved * home.power.transfer_j_per_byte;
    const double there_network_j = moved * server.power.transfer_j_per_byte;
    option.energy_j = there.energy_j.mean + there_network_j + home_j;
    price(option,
          joule_weight(policy_, server) * (upper_j(there) + there_network_j) + joule_weight(policy_, home) * home_j,
          residual_j);
    return option;
  }

  // Writing time that the compaction takes from the application: a home with more than busy_max of its cores in use has
  // no spare CPU time. computed_j: energy of the home's cores for the compaction.
  [[nodiscard]] double crowded_out_s(double computed_j) const {
    const Server& home = servers_[home_];
    if (home.cores <= 0 || home.power.busy_core_w <= 0 || policy_.busy_max >= 1) return 0;
    const double crowded = (home.busy_cores / home.cores - policy_.busy_max) / (1 - policy_.busy_max);
    return std::clamp(crowded, 0.0, 1.0) * computed_j / home.power.busy_core_w / home.cores;
  }

  // For a server without observations: home's prediction scaled by core speed and core power.
  [[nodiscard]] Prediction as_at_home(Prediction prediction, const Server& server) const {
    const Server& home = servers_[home_];
    const bool known = server.core_speed > 0 && home.core_speed > 0;
    const double longer = known ? home.core_speed / server.core_speed : 1;
    const double watts = home.power.busy_core_w > 0 ? server.power.busy_core_w * server.usable_core() /
                                                          (home.power.busy_core_w * home.usable_core())
                                                    : 1;
    prediction.compute_s.mean *= longer, prediction.compute_s.deviation *= longer;
    const double dearer = known ? longer * watts : 1;
    prediction.energy_j.mean *= dearer, prediction.energy_j.deviation *= dearer;
    return prediction;
  }

  void price(Option& option, double energy_j, double computed_j) const {
    const LevelZero& level_zero = request_.level_zero;
    const bool bound = policy_.kind == PolicyKind::eco_plus;
    const double time_s = bound ? option.time_s.upper() : option.time_s.mean;
    option.stalls = level_zero.stalls_within(time_s);
    option.lost_s = std::max(level_zero.lost_within(time_s), level_zero.behind() * time_s);
    const double full = level_zero.stop > 0 ? std::min(1.0, level_zero.files_after(time_s / 2) / level_zero.stop) : 0;
    const double lost_s = option.lost_s + crowded_out_s(computed_j);
    option.cost_j = energy_j + waiting_w(servers_[home_]) * (lost_s + policy_.read_weight * full * time_s);
  }

  const Policy& policy_;
  const Request& request_;
  const std::vector<Server>& servers_;
  std::size_t home_;
};

// Returns the candidate with the least measure; nullptr: no candidate.
template <typename Candidate, typename Measure>
const Option* least(const std::vector<Option>& options, Candidate candidate, Measure measure) {
  const Option* best = nullptr;
  for (const Option& option : options)
    if (candidate(option) && (best == nullptr || measure(option) < measure(*best))) best = &option;
  return best;
}

double time_of(const Option& option) { return option.time_s.mean; }
double energy_of(const Option& option) { return option.energy_j; }
double cost_of(const Option& option) { return option.cost_j; }

class Choice {
 public:
  Choice(const Policy& policy, const Request& request, const std::vector<Server>& servers, std::size_t home,
         Decision& decision)
      : policy_(policy), request_(request), servers_(servers), home_(home), decision_(decision) {}

  void make() {
    const Option& here = decision_.options[home_];
    const auto other = [&](const Option& o) { return o.server != home_ && o.available; };
    const auto faster = [&](const Option& o) { return other(o) && time_of(o) < time_of(here); };
    const auto no_stall = [&](const Option& o) { return other(o) && !o.stalls; };
    switch (policy_.kind) {
      case PolicyKind::local:
        return stay("the policy is local");
      case PolicyKind::static_server:
        return go(least(
                      decision_.options,
                      [&](const Option& o) { return other(o) && servers_[o.server].name == policy_.target; }, time_of),
                  "the policy names it",
                  is_known(policy_.target) ? policy_.target + " takes no job" : "no server is named " + policy_.target);
      case PolicyKind::edgepilot:
        return go(least(decision_.options, faster, time_of), "the fastest", "no available server is faster");
      case PolicyKind::eco_local:
        if (!here.stalls) return stay(no_stall_here());
        return go(least(decision_.options, faster, time_of), "a stall is near; the fastest",
                  "a stall is near, but no available server is faster");
      case PolicyKind::eco:
        if (!here.stalls) return stay(no_stall_here());
        return go(least(decision_.options, no_stall, energy_of), "a stall is near; the least energy that avoids it",
                  "a stall is near, but no available server avoids it");
      case PolicyKind::eco_global:
        return go(least(
                      decision_.options, [&](const Option& o) { return faster(o) && !o.stalls; }, energy_of),
                  "the least energy of those that are faster and avoid a stall",
                  "no available server is faster and avoids a stall");
      case PolicyKind::eco_plus: {
        const Option* best = least(
            decision_.options, [](const Option& o) { return o.available; }, cost_of);
        ECO_CHECK(best != nullptr);  // home is always available
        if (best->server == home_) return stay("the least cost is here");
        return go(best, "the least cost", "");
      }
    }
  }

 private:
  void stay(std::string reason) { decision_.reason = std::move(reason); }

  void go(const Option* option, std::string_view why, std::string otherwise) {
    if (option == nullptr) return stay(std::move(otherwise));
    ECO_CHECK(option->available && option->server != home_, option->server, home_);
    decision_.offload = true, decision_.target = option->server;
    decision_.reason = fmt::format("{}: {}", servers_[option->server].name, why);
  }

  [[nodiscard]] bool is_known(const std::string& name) const {
    return std::ranges::find(servers_, name, &Server::name) != servers_.end();
  }

  [[nodiscard]] std::string no_stall_here() const {
    const LevelZero& level_zero = request_.level_zero;
    const double time_s = decision_.options[home_].time_s.mean;
    return fmt::format("no stall is near: level 0 has {:.1f} of {:.0f} files, {:.1f} after {:.2f} s", level_zero.files,
                       level_zero.threshold(), level_zero.files_after(time_s), time_s);
  }

  const Policy& policy_;
  const Request& request_;
  const std::vector<Server>& servers_;
  std::size_t home_;
  Decision& decision_;
};

}  // namespace

std::string policy_list(std::string_view before_last) {
  return fmt::format("{}{}{}", fmt::join(policy_names.begin(), policy_names.end() - 1, ", "), before_last,
                     policy_names.back());
}

std::optional<Policy> policy_named(std::string_view name) {
  Policy policy;
  const auto colon = name.find(':');
  const auto found = std::ranges::find(policy_names, head_of(name), head_of);
  if (found == policy_names.end()) return std::nullopt;
  policy.kind = kinds[found - policy_names.begin()];
  if ((policy.kind == PolicyKind::static_server) != (colon != std::string_view::npos)) return std::nullopt;
  if (policy.kind == PolicyKind::static_server) policy.target = name.substr(colon + 1);
  if (policy.kind == PolicyKind::static_server && policy.target.empty()) return std::nullopt;
  return policy;
}

std::string name_of(const Policy& policy) {
  const auto* found = std::ranges::find(kinds, policy.kind);
  const std::string head(head_of(policy_names[static_cast<std::size_t>(found - std::begin(kinds))]));
  return policy.kind == PolicyKind::static_server ? head + ":" + policy.target : head;
}

Prediction predict_guest(const CompactionModel& guest, const CompactionModel& own, const Job& job) {
  const Prediction as_guest = guest.predict(job), as_own = own.predict(job);
  return as_guest.observations < guests_min && as_own.observations > 0 ? as_own : as_guest;
}

Job staying(Job job, bool tls, bool shared) {
  if (tls) job.codec += " over TLS";
  if (shared) job.codec += " through a shared folder";
  return job;
}

bool same_release(std::string_view a, std::string_view b) {
  const auto minor = [](std::string_view release) {
    const auto first = release.find('.');
    return first == std::string_view::npos ? release : release.substr(0, release.find('.', first + 1));
  };
  return !a.empty() && minor(a) == minor(b);
}

Decision decide(const Policy& policy, const Request& request, const std::vector<Server>& servers, std::size_t home) {
  ECO_CHECK(home < servers.size(), home, servers.size());
  Decision decision;
  decision.options = Places(policy, request, servers, home).options();
  for (std::size_t i = 0; i < servers.size(); ++i)
    ECO_CHECK(decision.options[i].server == i, i, decision.options[i].server);
  if (decision.options[home].time_s.mean <= 0 && policy.kind != PolicyKind::static_server &&
      policy.kind != PolicyKind::local) {
    decision.reason = "no compaction has been measured here yet";
    return decision;
  }
  Choice(policy, request, servers, home, decision).make();
  return decision;
}

}  // namespace eco
