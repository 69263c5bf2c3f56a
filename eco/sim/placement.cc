#include "placement.h"

#include <time.h>

#include <algorithm>

#include "check.h"

namespace eco::sim {
namespace {

constexpr double settled_jobs = 20;  // prediction errors count after this many jobs

// As in libeco: without a local time for comparison, twice the expected time; times below a second are noise.
double usual(double local_s, double expected_s) {
  const double usual_s = local_s > 0 ? std::max(local_s, expected_s) : 2 * expected_s;
  return usual_s > 0 ? std::max(1.0, usual_s) : 0;
}

}  // namespace

Request Placement::request_of(const Node& node, const Job& job) const {
  const DatabaseOptions& options = state_.spec.database;
  const double input = node.input.bytes_s();
  return {.job = job.features,
          .level_zero = {.files = node.database.level0_files() + static_cast<double>(node.app.full.size()) +
                                  node.app.memtable / options.write_buffer_bytes,
                         .files_s = input / options.write_buffer_bytes,
                         .slowdown = options.level0_slowdown_writes_trigger,
                         .stop = options.level0_stop_writes_trigger,
                         .delayed = input > 0 ? std::max(0.0, 1 - node.writes.delayed_rate() / input) : 0,
                         .stall = options.stall_threshold,
                         .trigger = options.level0_file_num_compaction_trigger},
          .rocksdb = release};
}

void Placement::decide_place(std::size_t id) {
  Job& job = state_.jobs[id];
  Node& home = state_.nodes[job.home];
  timespec before{}, after{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  const Request request = request_of(home, job);
  const Decision decision = decide(state_.policy, request, state_.table, job.home);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
  state_.outcome.decision_us.push_back(static_cast<float>(static_cast<double>(after.tv_sec - before.tv_sec) * 1e6 +
                                                          static_cast<double>(after.tv_nsec - before.tv_nsec) * 1e-3));
  ++state_.outcome.decisions;
  const bool near_stall = decision.options[job.home].stalls;
  home.out.near_stall += near_stall;
  if (!decision.offload) return;
  home.out.offloaded += 1, home.out.near_stall_offloaded += near_stall;
  place(id, decision);
}

void Placement::place(std::size_t id, const Decision& decision) {
  Job& job = state_.jobs[id];
  Node& target = state_.nodes[decision.target];
  const Estimate& expected = decision.options[decision.target].time_s;
  ECO_CHECK(!job.placed && decision.target != job.home, id, decision.target, job.home);
  job.target = decision.target, job.placed = true;
  job.until_s = state_.now_s + expected.mean;
  Server& entry = state_.table[job.target];  // a placed job counts at once
  entry.jobs += 1;
  entry.jobs_s = std::max(entry.jobs_s, job.until_s - state_.now_s);
  target.taken.push_back(id);
  if (target.slow_share > 0 && target.dice.uniform() < target.slow_share)
    job.slow = target.slow_factor, job.met_slow = true;
  const double usual_s = usual(decision.options[job.home].time_s.upper(), expected.upper());
  const Patience::Limits limits{.heartbeat_s = never, .usual_s = usual_s};  // worker_down reports the loss
  state_.patience.emplace(id, Patience(limits, job.features.input_bytes, state_.now_s));
  state_.push(state_.now_s + poll_s, Event::Kind::poll, id);
}

void Placement::predict(Job& job) const {
  const Server& server = state_.table[job.target];
  const Prediction own = server.model.predict(job.features);
  job.predicted = job.target == job.home ? own : predict_guest(server.guest, server.model, job.features);
  job.jobs_before = own.observations + server.guest.predict(job.features).observations;
}

void Placement::learn(Node& node, CompactionModel& model, const Job& job, double took_s, double work) {
  const Cost cost{.compute_s = took_s, .energy_j = work * node.tier->power.busy_core_w};
  if (job.jobs_before >= settled_jobs) {
    node.out.time.add(job.predicted.compute_s.mean, cost.compute_s);
    node.out.job_energy.add(job.predicted.energy_j.mean, cost.energy_j);
  }
  if (state_.spec.records)
    state_.outcome.jobs.push_back({.server = node.out.name,
                                   .home = state_.nodes[job.home].out.name,
                                   .at_s = state_.now_s,
                                   .jobs_before = job.jobs_before,
                                   .input_bytes = static_cast<double>(job.features.input_bytes),
                                   .input_entries = static_cast<double>(job.features.input_entries),
                                   .took_s = cost.compute_s,
                                   .energy_j = cost.energy_j,
                                   .predicted_s = job.predicted.compute_s.mean,
                                   .predicted_j = job.predicted.energy_j.mean});
  model.learn(job.features, cost);
}

}  // namespace eco::sim
