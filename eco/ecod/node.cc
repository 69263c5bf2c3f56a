#include "node.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>

#include "clock.h"
#include "messages.h"

namespace eco {
namespace {

constexpr std::size_t unsent_max = 1000;

std::string why_ambiguous(const proto::ServerState& state) {
  return fmt::format("two servers have this name ({} and {}): they get no jobs until one is renamed", state.address(),
                     state.twin_address());
}

SchedulerOptions scheduler_options(const Config& config) {
  const double beat_s = static_cast<double>(config.federation.beat_ms) * 1e-3;
  return {.alive_s = static_cast<double>(config.federation.alive_ms) * 1e-3,
          .placed_s = std::max(2.0, 4 * beat_s),
          .forget_s = static_cast<double>(config.federation.forget_ms) * 1e-3};
}

// Whether the policy keeps a compaction at home without asking the master. here: predicted by home's own model.
bool stays_unasked(PolicyKind kind, const Option& here) {
  const bool unknown = here.time_s.mean <= 0;
  switch (kind) {
    case PolicyKind::local:
      return true;
    case PolicyKind::eco:
    case PolicyKind::eco_local:
      return unknown || !here.stalls;
    case PolicyKind::edgepilot:
    case PolicyKind::eco_global:
    case PolicyKind::eco_plus:
      return unknown;
    case PolicyKind::static_server:
      return false;
  }
  return false;
}

}  // namespace

Node::Node(const Config& config, Federation& federation, StateFile& state, Clock now_s)
    : config_(config),
      federation_(federation),
      state_(state),
      now_s_(std::move(now_s)),
      scheduler_(scheduler_options(config)),
      configured_(policy_of(config)),
      configured_shadow_(config.policy.shadow),
      beat_(static_cast<std::uint64_t>(unix_time_s() * 1e3)),
      instance_(new_token()) {
  const auto saved = state.get();
  model_.set_state(models_in(saved.models()));
  guest_.set_state(models_in(saved.guest()));
  guest_learnt_s_ = now_s_();
  residual_.set_state(models_in(saved.residual()));
  overhead_.set_state(models_in(saved.overhead()));
  local_only_here_ = saved.local_only_here();
  const PowerModel power(config.power);
  power_ = power.power(), power_method_ = power.method();
}

void Node::set_policy(const Config& config) {
  const std::scoped_lock lock(mutex_);
  configured_ = policy_of(config);
  configured_shadow_ = config.policy.shadow;
}

void Node::count(const std::function<void(NodeCounts&)>& change) {
  const std::scoped_lock lock(mutex_);
  change(counts_);
}

NodeCounts Node::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

std::pair<Power, std::string> Node::power() const {
  const std::scoped_lock lock(mutex_);
  return {power_, power_method_};
}

proto::ServerState Node::own_state(const Telemetry& telemetry) {
  const WorkerLoad load = worker_();
  proto::ServerState state;
  state.set_name(config_.name);
  state.set_instance(instance_);
  state.set_address(load.address);
  state.set_rocksdb(load.rocksdb);
  state.set_slots(load.slots);
  state.set_jobs(load.jobs);
  state.set_jobs_s(load.jobs_s);
  for (const auto& token : load.tokens) state.add_tokens(token);
  state.set_cores(telemetry.cores.value_or(1));
  if (telemetry.busy_cores) state.set_busy_cores(*telemetry.busy_cores);
  if (telemetry.link_bytes_s) state.set_link_bytes_s(*telemetry.link_bytes_s);
  if (telemetry.network_bytes_s) state.set_network_bytes_s(*telemetry.network_bytes_s);
  if (telemetry.power_w) state.set_power_w(*telemetry.power_w);
  if (telemetry.battery) state.set_battery(*telemetry.battery);
  state.set_busy_core_w(telemetry.power.busy_core_w);
  state.set_idle_w(telemetry.power.idle_w);
  state.set_transfer_j_per_byte(telemetry.power.transfer_j_per_byte);
  state.set_power_method(telemetry.power_method);
  state.set_energy_weight(config_.power.energy_weight);
  state.set_core_speed(telemetry.core_speed);

  const std::scoped_lock lock(mutex_);
  power_ = telemetry.power, power_method_ = telemetry.power_method;
  if (now_s_() - guest_learnt_s_ > guest_memory_s) guest_ = CompactionModel();
  set_models(*state.mutable_models(), model_);
  set_models(*state.mutable_guest(), guest_);
  set_models(*state.mutable_residual(), residual_);
  set_models(*state.mutable_overhead(), overhead_);
  state.set_beat(++beat_);
  set_settings_in_force(state);
  state.set_epoch(epoch_);
  return state;
}

// The caller holds mutex_.
void Node::set_settings_in_force(proto::ServerState& state) const {
  state.set_draining(std::ranges::find(settings_.drained(), config_.name) != settings_.drained().end());
  state.set_settings_revision(settings_.revision());
  state.set_local_only(settings_.local_only() || local_only_here_);
  state.set_local_only_here(local_only_here_);
}

void Node::beat(const Telemetry& telemetry) {
  const auto own = own_state(telemetry);
  scheduler_.with_tracker([&](Tracker& tracker) { tracker.heard(own, now_s_()); });
  federation_.beat(own);
  const auto standing = federation_.standing();
  if (standing.master) {
    epoch_ = std::max(epoch_.load(), standing.epoch);
    const std::scoped_lock lock(mutex_);
    // After it is deposed, and until another master appears, its own table is the last one.
    master_ = {
        .name = config_.name, .at_s = now_s_(), .policy = message_of(configured_, configured_shadow_), .silent = true};
  }
  send_reports();
  warn_of_twins();
}

// Warns once for each name that two ecods use.
void Node::warn_of_twins() {
  const auto lines = scheduler_.with_tracker([&](Tracker& tracker) {
    (void)tracker.servers(now_s_(), scheduler_.alive_s());
    return tracker.lines(now_s_());
  });
  std::set<std::string> twins;
  for (const auto& line : lines)
    if (!line.state.twin_address().empty()) {
      twins.insert(line.state.name());
      if (!twins_.contains(line.state.name())) spdlog::warn("{}: {}", line.state.name(), why_ambiguous(line.state));
    }
  twins_ = std::move(twins);
}

Node::InForce Node::in_force() const {
  const bool master = federation_.standing().master;
  const std::scoped_lock lock(mutex_);
  InForce now{.policy = configured_, .shadow = configured_shadow_};
  if (!master && !master_.policy.name().empty())
    now.policy = policy_of(master_.policy), now.shadow = master_.policy.shadow();
  if (!settings_.policy().empty()) {
    if (const auto named = policy_named(settings_.policy())) {
      now.policy.kind = named->kind;
      now.policy.target = named->target;
    }
  }
  if (settings_.has_shadow()) now.shadow = settings_.shadow();
  now.local_only = settings_.local_only() || local_only_here_;
  return now;
}

bool Node::master_is_heard() const {
  const std::scoped_lock lock(mutex_);
  return !master_.name.empty() && !master_.silent && now_s_() - master_.at_s <= scheduler_.alive_s();
}

double Node::last_table_alive_s() {
  const double age_max_s = static_cast<double>(config_.federation.table_age_max_ms) * 1e-3;
  const auto heard_s =
      scheduler_.with_tracker([&](const Tracker& tracker) { return tracker.last_heard_s(config_.name); });
  return scheduler_.alive_s() + (heard_s ? std::min(age_max_s, now_s_() - *heard_s) : 0);
}

proto::Placement Node::stay(std::string reason) const {
  proto::Placement placement;
  placement.set_reason(std::move(reason));
  placement.set_decided_by(config_.name);
  placement.set_epoch(epoch_);
  return placement;
}

// The paper's Local System: stays local without asking the master if no stall is near or nothing is known.
std::optional<proto::Placement> Node::stay_by_own_model(const proto::PlaceRequest& request, const Policy& policy,
                                                        proto::LoggedDecision& log) const {
  std::vector<Server> alone(1);
  {
    const std::scoped_lock lock(mutex_);
    alone[0].name = config_.name, alone[0].model = model_;
  }
  const Request asked = request_of(request);
  const Decision decision = decide(policy, asked, alone, 0);
  const Option& here = decision.options[0];
  if (!stays_unasked(policy.kind, here)) return std::nullopt;
  auto placement = stay(decision.reason);
  placement.set_local_s(here.time_s.upper());
  log_options(decision, alone, 0, log);
  return placement;
}

proto::Placement Node::decide_here(const proto::PlaceRequest& request, const InForce& in_force, double alive_s,
                                   const std::string& decided_by, std::uint64_t epoch, proto::LoggedDecision& log) {
  auto placement = scheduler_.place(request, in_force.policy, in_force.shadow, now_s_(), alive_s, log);
  placement.set_decided_by(decided_by);
  placement.set_epoch(epoch);
  return placement;
}

Result<proto::Placement> Node::ask_master(const proto::PlaceRequest& request, double timeout_s) {
  auto answer =
      federation_.place(request, std::min(timeout_s, static_cast<double>(config_.federation.place_timeout_ms) * 1e-3));
  if (answer && answer->epoch() < epoch_) {
    count([](NodeCounts& counts) { ++counts.stale_refused; });
    return Error{fmt::format("{} answered as the master of epoch {}, but the epoch is now {}", answer->decided_by(),
                             answer->epoch(), epoch_.load())};
  }
  return answer;
}

proto::Placement Node::place_somehow(const proto::PlaceRequest& request, double timeout_s, proto::LoggedDecision& log) {
  const InForce now = in_force();
  if (now.local_only) return stay("the kill switch is on");
  {
    const std::scoped_lock lock(mutex_);
    if (const double left_s = backoff_.all_left_s(now_s_()); left_s > 0)
      return stay(fmt::format("jobs failed at several workers in a row: offloading pauses for {:.0f} s", left_s));
  }
  const auto standing = federation_.standing();
  if (standing.master) {
    auto placement = decide_here(request, now, scheduler_.alive_s(), config_.name, standing.epoch, log);
    count([](NodeCounts& counts) { ++counts.placements_by_master; });
    return placement;
  }
  if (auto placement = stay_by_own_model(request, now.policy, log)) return *placement;
  std::string why = "no known master";
  if (master_is_heard()) {
    const auto placement = ask_master(request, timeout_s);
    if (placement) {
      count([](NodeCounts& counts) { ++counts.placements_by_master; });
      return *placement;
    }
    why = placement.error();
    const std::scoped_lock lock(mutex_);
    master_.silent = true;
    ++counts_.federation_errors;
  }
  double table_age_s = 0;
  {
    const std::scoped_lock lock(mutex_);
    table_age_s = now_s_() - master_.at_s;
    ++counts_.placements_without_master;
  }
  const double age_max_s = static_cast<double>(config_.federation.table_age_max_ms) * 1e-3;
  if (table_age_s > age_max_s)
    return stay(fmt::format("{}, and no server table from the last {:.0f} s", why, age_max_s));
  auto placement = decide_here(request, now, last_table_alive_s(), config_.name + " (without the master)", epoch_, log);
  placement.set_reason(fmt::format("{} ({})", placement.reason(), why));
  return placement;
}

proto::Placement Node::place(proto::PlaceRequest request, double timeout_s) {
  const double began_s = now_s_();
  request.set_server(config_.name);
  std::string avoided;
  for (const auto& name : request.avoid()) avoided += fmt::format("; {} refused jobs of this database", name);
  {
    const std::scoped_lock lock(mutex_);
    for (auto& name : backoff_.avoided(began_s)) {
      avoided += fmt::format("; {} gets {}", name, backoff_reason(name));
      request.add_avoid(std::move(name));
    }
  }
  proto::LoggedDecision log;
  log.set_at_s(unix_time_s());
  auto placement = place_somehow(request, timeout_s, log);
  if (!placement.offload()) placement.set_reason(placement.reason() + avoided);
  if (placement.offload() && !placement.shadow()) {
    const std::scoped_lock lock(mutex_);
    backoff_.began(placement.server(), now_s_());
  }
  const double took_s = now_s_() - began_s;
  spdlog::debug("job {}: {} ({}, epoch {}, {:.3f} ms){}", request.job(), placement.reason(), placement.decided_by(),
                placement.epoch(), took_s * 1e3, placement.shadow() ? ", shadow" : "");
  *log.mutable_request() = request;
  *log.mutable_placement() = placement;
  log.mutable_placement()->clear_token();
  log.set_took_s(took_s);
  log_.add(std::move(log));
  count([&](NodeCounts& counts) {
    const bool goes = placement.offload() && !placement.shadow();
    ++(goes ? counts.offloads : counts.locals);
    counts.decision_s += took_s;
  });
  return placement;
}

void Node::learn(const Job& job, const Cost& cost) {
  const std::scoped_lock lock(mutex_);
  model_.learn(job, cost);
}

void Node::learn_guest(const Job& job, const Cost& cost) {
  const std::scoped_lock lock(mutex_);
  guest_.learn(job, cost);
  guest_learnt_s_ = now_s_();
}

// Learns what this server adds to an offloaded job, waits included, because only this server sees them.
void Node::learn_remote(const proto::JobReport& report) {
  if (report.home_cpu_s() <= 0 || report.compute_s() <= 0) return;  // not reported
  double link_bytes_s = 0;
  scheduler_.with_tracker([&](Tracker& tracker) {
    const auto& servers = tracker.servers(now_s_(), scheduler_.alive_s());
    for (const auto& name : {config_.name, report.server()}) {
      const auto at = tracker.find(name);
      if (!at || servers[*at].link_bytes_s <= 0) continue;
      link_bytes_s = link_bytes_s > 0 ? std::min(link_bytes_s, servers[*at].link_bytes_s) : servers[*at].link_bytes_s;
    }
  });
  constexpr double least_s = 1e-3;  // the model ignores 0
  const auto moved = static_cast<double>(report.bytes_moved() + report.bytes_shared());
  const double link_s = link_bytes_s > 0 ? moved / link_bytes_s : 0;
  const double added_s = std::max(least_s, report.wall_s() - report.compute_s() - link_s);
  const Job job = staying(job_of(report.features()), report.tls(), report.bytes_shared() > 0);
  const std::scoped_lock lock(mutex_);
  residual_.learn(job, {.compute_s = report.home_cpu_s(), .energy_j = report.home_cpu_s() * power_.busy_core_w});
  overhead_.learn(job, {.compute_s = added_s});
}

Prediction Node::predict_guest(const proto::JobFeatures& features) const {
  const std::scoped_lock lock(mutex_);
  return eco::predict_guest(guest_, model_, job_of(features));
}

void Node::learn_reachability(const proto::JobReport& report) {
  const std::string& outcome = report.outcome();
  const std::scoped_lock lock(mutex_);
  if (outcome == "installed") return backoff_.succeeded(report.server());
  const bool failed = outcome.starts_with("fell back");
  if (!failed || report.cancelled() || report.job_refused()) return;
  backoff_.failed(report.server(), report.wasted_s(), now_s_());
  spdlog::warn("{} gets no jobs for {:.0f} s: {}", report.server(), backoff_.left_s(report.server(), now_s_()),
               outcome);
}

// The caller holds mutex_.
std::string Node::backoff_reason(const std::string& server) const {
  return fmt::format("no jobs for {:.0f} s: {} jobs failed there in a row", backoff_.left_s(server, now_s_()),
                     backoff_.failures(server));
}

// Logs a job that the application kept without asking, so that the operator sees the reason.
void Node::log_kept(const proto::JobReport& report) {
  proto::LoggedDecision log;
  log.set_at_s(unix_time_s());
  log.mutable_request()->set_server(config_.name);
  log.mutable_request()->set_job(report.job());
  *log.mutable_request()->mutable_features() = report.features();
  log.mutable_placement()->set_reason("the application does not offload it: " + report.kept());
  log.mutable_placement()->set_decided_by("the application");
  log_.add(std::move(log));
}

void Node::report(proto::JobReport report) {
  if (!report.kept().empty()) return log_kept(report);
  // A report without a time carries only the outcome.
  if (report.outcome() == "local" && report.wall_s() > 0) {
    const double joules = report.energy_j() > 0 ? report.energy_j() : report.cpu_s() * power().first.busy_core_w;
    learn(job_of(report.features()),
          {.compute_s = report.compute_s() > 0 ? report.compute_s() : report.wall_s(), .energy_j = joules});
    report.set_energy_j(joules);
  }
  if (report.server().empty()) report.set_server(config_.name);
  if (report.server() != config_.name) learn_reachability(report);
  if (report.outcome() == "installed" && report.server() != config_.name) learn_remote(report);
  spdlog::debug("job {}: {} on {}, {:.3f} s", report.job(), report.outcome(), report.server(), report.wall_s());
  log_.report(report);
  count([&](NodeCounts& counts) {
    ++counts.reports;
    if (report.outcome().starts_with("fell back")) ++counts.fell_back;
    counts.bytes_moved += report.bytes_moved(), counts.bytes_shared += report.bytes_shared();
    if (report.bytes_shared() > 0) ++counts.jobs_shared;
  });
  if (report.server() == config_.name && !report.outcome().starts_with("fell back")) return;
  if (federation_.standing().master) return heard_report(report);
  {
    const std::scoped_lock lock(mutex_);
    unsent_.push_back(std::move(report));
    if (unsent_.size() > unsent_max) unsent_.pop_front();
  }
  send_reports();
}

// Reports that cannot reach a master are sent with a later beat.
void Node::send_reports() {
  while (master_is_heard()) {
    proto::JobReport next;
    {
      const std::scoped_lock lock(mutex_);
      if (unsent_.empty()) return;
      next = std::move(unsent_.front());
      unsent_.pop_front();
    }
    if (federation_.report(next)) continue;
    const std::scoped_lock lock(mutex_);
    ++counts_.federation_errors;
    unsent_.push_front(std::move(next));
    return;
  }
}

Result<> Node::save() {
  CompactionModel model, guest, residual, overhead;
  {
    const std::scoped_lock lock(mutex_);
    model = model_, guest = guest_, residual = residual_, overhead = overhead_;
  }
  return state_.change([&](proto::SavedState& state) {
    set_models(*state.mutable_models(), model);
    set_models(*state.mutable_guest(), guest);
    set_models(*state.mutable_residual(), residual);
    set_models(*state.mutable_overhead(), overhead);
  });
}

// --- Member

void Node::heard_server(const proto::ServerState& state) {
  scheduler_.with_tracker([&](Tracker& tracker) {
    if (state.name() == config_.name)
      tracker.heard_namesake(state, now_s_());
    else
      tracker.heard(state, now_s_());
  });
}

void Node::heard_gone(const std::string& server) {
  scheduler_.with_tracker([&](Tracker& tracker) { tracker.left(server, now_s_()); });
}

Result<proto::Placement> Node::place_for(const proto::PlaceRequest& request) {
  const auto standing = federation_.standing();
  if (!standing.master) return Error{fmt::format("{} is not the master", config_.name)};
  const InForce now = in_force();
  if (now.local_only) {
    auto placement = stay("the kill switch is on");
    placement.set_epoch(standing.epoch);
    return placement;
  }
  const double began_s = now_s_();
  proto::LoggedDecision log;
  log.set_at_s(unix_time_s());
  auto placement = decide_here(request, now, scheduler_.alive_s(), config_.name, standing.epoch, log);
  *log.mutable_request() = request;
  *log.mutable_placement() = placement;
  log.mutable_placement()->clear_token();
  log.set_took_s(now_s_() - began_s);
  log_.add(std::move(log));
  count([](NodeCounts& counts) { ++counts.decided_for_others; });
  return placement;
}

void Node::heard_report(const proto::JobReport& report) {
  log_.report(report);
  scheduler_.with_tracker([&](Tracker& tracker) { tracker.ended(report.job()); });
}

proto::Table Node::table(bool with_servers) {
  const auto standing = federation_.standing();
  proto::Table table;
  table.set_master(config_.name);
  table.set_epoch(standing.epoch);
  {
    const std::scoped_lock lock(mutex_);
    *table.mutable_policy() = message_of(configured_, configured_shadow_);
    *table.mutable_settings() = settings_;
  }
  scheduler_.with_tracker([&](Tracker& tracker) {
    (void)tracker.servers(now_s_(), scheduler_.alive_s());
    table.set_servers_alive(static_cast<std::uint32_t>(tracker.alive()));
    if (!with_servers) return;
    for (auto& line : tracker.lines(now_s_())) {
      if (line.state.has_left_s()) {
        auto& left = *table.add_servers();
        left.set_name(line.state.name()), left.set_left_s(line.state.left_s());
        left.set_age_s(1e9);  // for an ecod of an earlier release, which does not know left_s
        continue;
      }
      if (line.state.age_s() > scheduler_.alive_s()) continue;
      line.state.clear_tokens();
      *table.add_servers() = std::move(line.state);
    }
  });
  table.set_has_servers(with_servers);
  return table;
}

bool Node::heard_table(const proto::Table& table) {
  {
    const std::scoped_lock lock(mutex_);
    if (table.epoch() < epoch_) {
      ++counts_.stale_refused;
      return false;
    }
    if (table.master() != master_.name) spdlog::info("{} is the master, epoch {}", table.master(), table.epoch());
    epoch_ = table.epoch();
    master_ = {.name = table.master(), .at_s = now_s_(), .policy = table.policy(), .silent = false};
  }
  heard_settings(table.settings());
  for (const auto& state : table.servers()) heard_server(state);
  return true;
}

void Node::heard_settings(const proto::Settings& settings) {
  std::set<std::string> drained;
  {
    const std::scoped_lock lock(mutex_);
    if (!newer(settings, settings_)) return;
    if (settings.local_only() != settings_.local_only())
      spdlog::warn("the kill switch is {}", settings.local_only() ? "on: every server compacts for itself" : "off");
    settings_ = settings;
    drained = {settings.drained().begin(), settings.drained().end()};
  }
  scheduler_.with_tracker([&](Tracker& tracker) { tracker.drain(drained); });
}

proto::Settings Node::settings() const {
  const std::scoped_lock lock(mutex_);
  return settings_;
}

std::uint64_t Node::epoch_known() {
  std::uint64_t known = epoch_;
  scheduler_.with_tracker([&](const Tracker& tracker) {
    for (const auto& line : tracker.lines(now_s_())) known = std::max(known, line.state.epoch());
  });
  return known;
}

// --- For the operator

// A federation that lost its storage knows less than its members. The change starts from a revision that no member
// exceeds, so that all obey it.
proto::Settings Node::newest_settings(const proto::Settings& kept) {
  const proto::Settings own = settings();
  proto::Settings newest = newer(own, kept) ? own : kept;
  scheduler_.with_tracker([&](const Tracker& tracker) {
    for (const auto& line : tracker.lines(now_s_()))
      newest.set_revision(std::max(newest.revision(), line.state.settings_revision()));
  });
  return newest;
}

Result<> Node::change(const std::function<void(proto::Settings&)>& change) {
  std::string why;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto kept = federation_.settings();
    if (!kept) return Error{kept.error()};
    proto::Settings wanted = newest_settings(*kept);
    change(wanted);
    const auto changed = federation_.change(wanted);
    if (changed) {
      heard_settings(*changed);
      return Done{};
    }
    why = changed.error();
  }
  return Error{why};
}

bool Node::is_known(const std::string& server) {
  return scheduler_.with_tracker([&](const Tracker& tracker) { return tracker.find(server).has_value(); });
}

Result<> Node::set_policy(const proto::PolicyRequest& request) {
  const bool configured = request.policy() == "configured";
  const auto named = policy_named(request.policy());
  if (!request.policy().empty() && !configured && !named)
    return Error{fmt::format("no policy is named \"{}\"; expected {} or configured", request.policy(), policy_list())};
  if (named && named->kind == PolicyKind::static_server && !is_known(named->target))
    return Error{fmt::format("no server is named {}", named->target)};
  return change([&](proto::Settings& settings) {
    if (configured) settings.clear_policy(), settings.clear_shadow();
    if (!configured && !request.policy().empty()) settings.set_policy(request.policy());
    if (request.has_shadow()) settings.set_shadow(request.shadow());
  });
}

Result<> Node::drain(const proto::DrainRequest& request) {
  const auto& name = request.server();
  if (request.drain() && !is_known(name)) return Error{fmt::format("no server is named {}", name)};
  return change([&](proto::Settings& settings) {
    std::set<std::string> drained(settings.drained().begin(), settings.drained().end());
    if (request.drain())
      drained.insert(name);
    else
      drained.erase(name);
    settings.mutable_drained()->Assign(drained.begin(), drained.end());
  });
}

// Takes effect here at once, even if the others cannot be reached.
Result<> Node::kill(bool local_only) {
  if (local_only) {
    const std::scoped_lock lock(mutex_);
    local_only_here_ = true;
  }
  const auto changed = change([&](proto::Settings& settings) { settings.set_local_only(local_only); });
  const bool here = local_only && !changed;
  if (!changed && !local_only) return changed;
  {
    const std::scoped_lock lock(mutex_);
    local_only_here_ = here;
  }
  const auto saved = state_.change([&](proto::SavedState& state) { state.set_local_only_here(here); });
  if (here)
    return Error{fmt::format(
        "{0} compacts for itself now, but the other servers were unreachable: {1}. Repeat `ecoctl kill` when they "
        "are reachable, or run `ecoctl resume` on {0}",
        config_.name, changed.error())};
  return saved;
}

proto::FederationView Node::view() {
  const InForce now = in_force();
  const auto standing = federation_.standing();
  proto::FederationView view;
  view.set_server(config_.name);
  view.set_epoch(standing.master ? standing.epoch : epoch_.load());
  *view.mutable_policy() = message_of(now.policy, now.shadow);
  {
    const std::scoped_lock lock(mutex_);
    *view.mutable_settings() = settings_;
    view.set_local_only_here(local_only_here_);
    auto& jobs = *view.mutable_own_jobs();
    jobs.set_offloaded(counts_.offloads), jobs.set_fell_back(counts_.fell_back), jobs.set_shared(counts_.jobs_shared);
    jobs.set_bytes_moved(counts_.bytes_moved), jobs.set_bytes_shared(counts_.bytes_shared);
    view.set_table_age_s(standing.master ? 0 : now_s_() - master_.at_s);
    const bool heard =
        !master_.name.empty() && master_.name != config_.name && now_s_() - master_.at_s <= scheduler_.alive_s();
    view.set_master(standing.master ? config_.name : heard ? master_.name : "");
  }
  const double alive_s = standing.master ? scheduler_.alive_s() : last_table_alive_s();
  scheduler_.with_tracker([&](Tracker& tracker) {
    const auto& servers = tracker.servers(now_s_(), alive_s);
    auto lines = tracker.lines(now_s_());
    for (std::size_t i = 0; i < servers.size(); ++i) {
      auto& line = *view.add_servers();
      *line.mutable_state() = std::move(lines[i].state);
      line.set_placed(lines[i].placed);
      line.set_alive(servers[i].alive);
      line.set_why_not(why_not(servers[i], now.policy.busy_max));
      if (!line.state().twin_address().empty()) line.set_why_not(why_ambiguous(line.state()));
      if (line.state().has_left_s()) line.set_why_not(fmt::format("left {:.0f} s ago", line.state().left_s()));
      line.set_takes_jobs(servers[i].takes_jobs(now.policy.busy_max));
      const std::scoped_lock lock(mutex_);
      // The last beat may be older than a kill: a beat waits while NATS does not answer.
      if (servers[i].name == config_.name) set_settings_in_force(*line.mutable_state());
      const double left_s = backoff_.left_s(servers[i].name, now_s_());
      if (!line.takes_jobs() || left_s <= 0) continue;
      line.set_takes_jobs(false);
      line.set_why_not(backoff_reason(servers[i].name));
    }
  });
  return view;
}

}  // namespace eco
