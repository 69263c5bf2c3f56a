#include "tracker.h"

#include <algorithm>
#include <iterator>

#include "check.h"
#include "messages.h"

namespace eco {
namespace {

constexpr double namesake_memory_s = 30;
constexpr std::size_t shown_kept = 64;  // per server: more than run there at the same time

}  // namespace

void Tracker::heard(const proto::ServerState& state, double now_s) {
  if (state.has_left_s()) return left(state.name(), now_s - state.left_s());
  const auto [at, is_new] = index_.try_emplace(state.name(), entries_.size());
  if (is_new) entries_.emplace_back(), servers_.emplace_back();
  Entry& entry = entries_[at->second];
  const bool repeated = !is_new && state.address() == entry.state.address() && state.beat() == entry.state.beat();
  if (repeated) return;
  if (!is_new && state.instance() != entry.state.instance()) note_namesake(entry, state, entry.state, now_s);
  entry.state = state;
  entry.state.clear_age_s();
  entry.heard_s = now_s - state.age_s(), entry.left_at_s.reset();
  entry.ended = 0;
  const auto is_shown = [&](const Placed& placed) {
    return std::ranges::find(state.tokens(), placed.token) != state.tokens().end();
  };
  std::ranges::copy_if(entry.placed, std::back_inserter(entry.shown), is_shown);
  std::erase_if(entry.placed, is_shown);
  while (entry.shown.size() > shown_kept) entry.shown.pop_front();
  servers_[at->second] = server_of(state);
  refresh(at->second);
  if constexpr (debug_checks) check_invariants();
}

void Tracker::left(const std::string& name, double now_s) {
  const auto found = find(name);
  if (found && !entries_[*found].left_at_s) entries_[*found].left_at_s = now_s;
}

void Tracker::heard_namesake(const proto::ServerState& state, double now_s) {
  const auto found = find(state.name());
  if (found && state.instance() != entries_[*found].state.instance())
    note_namesake(entries_[*found], state, state, now_s);
}

// A restarted server has a new instance, and the old one falls silent. If an instance still beats after another was
// heard, two ecods exist. next: the other one from now on.
void Tracker::note_namesake(Entry& entry, const proto::ServerState& now, const proto::ServerState& next, double now_s) {
  if (now.instance() == entry.namesake.instance() && now.beat() > entry.namesake.beat()) entry.namesake_s = now_s;
  proto::ServerState other;
  other.set_instance(next.instance()), other.set_address(next.address()), other.set_beat(next.beat());
  entry.namesake = std::move(other);
}

// Address of the other ecod with this name; empty: none.
std::string Tracker::twin_of(const Entry& entry, double now_s) {
  if (now_s - entry.namesake_s > namesake_memory_s) return entry.state.twin_address();  // from the master's table
  return entry.namesake.address().empty() ? "an ecod without a worker" : entry.namesake.address();
}

void Tracker::drain(const std::set<std::string>& names) {
  drained_ = names;
  for (std::size_t i = 0; i < entries_.size(); ++i) refresh(i);
}

// Predicts the telemetry after the placed jobs have started and the ended ones are gone.
void Tracker::refresh(std::size_t i) {
  const Entry& entry = entries_[i];
  Server& server = servers_[i];
  const auto placed = static_cast<std::uint32_t>(entry.placed.size());
  const std::uint32_t ended = std::min(entry.ended, entry.state.jobs());
  server.jobs = entry.state.jobs() - ended + placed;
  server.jobs_s = entry.state.jobs() > ended ? entry.state.jobs_s() : 0;
  for (const Placed& job : entry.placed) server.jobs_s = std::max(server.jobs_s, job.expected_s);
  const double busy = std::max(0.0, busy_cores_of(entry.state) - ended);
  server.busy_cores = std::min(std::max(busy, server.cores), busy + placed);
  server.draining = entry.state.draining() || drained_.contains(server.name) || entry.ambiguous;
}

void Tracker::placed(const std::string& server, const std::string& token, const std::string& job, double expected_s,
                     double now_s) {
  const auto found = find(server);
  if (!found) return;
  entries_[*found].placed.push_back({token, job, now_s, expected_s});
  refresh(*found);
  if constexpr (debug_checks) check_invariants();
}

void Tracker::ended(const std::string& job) {
  const auto is_it = [&](const Placed& placed) { return placed.job == job; };
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const bool was_shown = std::erase_if(entries_[i].shown, is_it) > 0;
    if (was_shown) ++entries_[i].ended;
    if (was_shown || std::erase_if(entries_[i].placed, is_it) > 0) refresh(i);
  }
  if constexpr (debug_checks) check_invariants();
}

void Tracker::check_invariants() const {
  ECO_CHECK(index_.size() == entries_.size() && servers_.size() == entries_.size(), index_.size(), entries_.size(),
            servers_.size());
  for (const auto& [name, i] : index_) {
    ECO_CHECK(i < entries_.size() && servers_[i].name == name && entries_[i].state.name() == name, name, i);
    const Entry& entry = entries_[i];
    ECO_CHECK(entry.shown.size() <= shown_kept, name, entry.shown.size());
    ECO_CHECK(servers_[i].jobs <= entry.state.jobs() + entry.placed.size(), name, servers_[i].jobs, entry.state.jobs(),
              entry.placed.size());
    ECO_CHECK(servers_[i].jobs >= entry.placed.size(), name, servers_[i].jobs, entry.placed.size());
    for (const Placed& placed : entry.placed)
      ECO_CHECK(std::ranges::count(entry.placed, placed.token, &Placed::token) == 1, name, placed.job);
  }
}

void Tracker::drop_forgotten(double now_s) {
  const auto forgotten = [&](const Entry& entry) { return now_s - entry.heard_s > forget_s_; };
  if (std::ranges::none_of(entries_, forgotten)) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (forgotten(entries_[i])) {
      index_.erase(servers_[i].name);
      continue;
    }
    index_[servers_[i].name] = kept;
    if (kept != i) entries_[kept] = std::move(entries_[i]), servers_[kept] = std::move(servers_[i]);
    ++kept;
  }
  entries_.resize(kept), servers_.resize(kept);
}

const std::vector<Server>& Tracker::servers(double now_s, double alive_s) {
  drop_forgotten(now_s);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (const bool now = !twin_of(entry, now_s).empty(); now != entry.ambiguous) entry.ambiguous = now, refresh(i);
    servers_[i].alive = !entry.left_at_s && now_s - entry.heard_s <= alive_s;
    const std::size_t before = entry.placed.size();
    while (!entry.placed.empty() && now_s - entry.placed.front().at_s > placed_s_) entry.placed.pop_front();
    if (entry.placed.size() != before) refresh(i);
  }
  if constexpr (debug_checks) check_invariants();
  return servers_;
}

std::optional<std::size_t> Tracker::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? std::nullopt : std::optional(found->second);
}

std::size_t Tracker::alive() const {
  return static_cast<std::size_t>(std::ranges::count_if(servers_, [](const Server& server) { return server.alive; }));
}

std::optional<double> Tracker::last_heard_s(const std::string& but) const {
  std::optional<double> last_s;
  for (const Entry& entry : entries_)
    if (entry.state.name() != but) last_s = std::max(last_s.value_or(entry.heard_s), entry.heard_s);
  return last_s;
}

std::vector<Tracker::Line> Tracker::lines(double now_s) const {
  std::vector<Line> out;
  for (const Entry& entry : entries_) {
    auto& line = out.emplace_back(Line{entry.state, static_cast<std::uint32_t>(entry.placed.size())});
    line.state.set_age_s(std::max(0.0, now_s - entry.heard_s));
    if (entry.left_at_s) line.state.set_left_s(std::max(0.0, now_s - *entry.left_at_s));
    line.state.set_twin_address(twin_of(entry, now_s));
    line.state.set_draining(line.state.draining() || drained_.contains(line.state.name()));
  }
  return out;
}

std::string why_not(const Server& server, double busy_max) {
  if (!server.alive) return "silent";
  if (server.draining) return "draining";
  if (server.address.empty()) return "no worker";
  if (server.jobs >= server.slots) return "its slots are taken";
  if (server.busy_cores > busy_max * server.cores) return "its cores are busy";
  if (server.link_bytes_s <= 0) return "link speed unknown";
  if (server.network_bytes_s > busy_max * server.link_bytes_s) return "its link is busy";
  return "";
}

}  // namespace eco
