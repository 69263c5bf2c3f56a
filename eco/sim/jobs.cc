#include "jobs.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "check.h"

namespace eco::sim {
namespace {

double work_of(const Node& node, const Job& job) {
  const Costs& costs = node.tier->costs_of(job.features.codec);
  const Amount in = job.compaction.inputs();
  return job.noise *
         (costs.compaction_s + costs.compaction_s_per_entry * in.entries + costs.compaction_s_per_byte * in.bytes +
          costs.compaction_s_per_output_byte * job.compaction.output.bytes);
}

double residual_j(const Node& home, const Job& job) {
  const Costs& costs = home.tier->costs;
  return home.tier->power.busy_core_w *
         (job.compaction.inputs().bytes * costs.transfer_s_per_byte +
          job.compaction.output.bytes * (costs.transfer_s_per_byte + costs.verify_s_per_byte));
}

}  // namespace

void Jobs::done(std::size_t i, const Task& task) {
  Node& node = state_.nodes[i];
  switch (task.kind) {
    case Task::Kind::flush:
      ECO_CHECK(task.kind != Task::Kind::flush, i);  // flushes are no jobs
      return;
    case Task::Kind::compaction:
      placement_.learn(node, node.model, state_.jobs[task.job], state_.now_s - task.begun_s, task.work);
      return install(i, task.job);
    case Task::Kind::job:
      placement_.learn(node, node.guest, state_.jobs[task.job], state_.now_s - task.begun_s, task.work);
      node.guest_learnt_s = state_.now_s;
      node.out.jobs_taken += 1;
      return part_done(task.job, true);
    case Task::Kind::serve:
      return;
    case Task::Kind::verify:
      node.residual.learn(state_.jobs[task.job].features, {.compute_s = state_.now_s - task.begun_s,
                                                           .energy_j = residual_j(node, state_.jobs[task.job])});
      return part_done(task.job, false);
  }
}

void Jobs::level0_changed(std::size_t i) {
  Node& node = state_.nodes[i];
  node.out.level0_max = std::max(node.out.level0_max, node.database.level0_files());
  node.writes.observe(node.database);
  while (node.database.running() < node.database.running_max()) {
    const auto compaction = node.database.pick();
    if (!compaction) break;
    compact(i, *compaction);
  }
}

void Jobs::compact(std::size_t i, const Compaction& compaction) {
  Node& node = state_.nodes[i];
  Job job;
  job.home = job.target = i, job.asked_s = state_.now_s;
  job.compaction = compaction;
  const Amount in = compaction.inputs();
  job.features = {.input_bytes = static_cast<std::uint64_t>(in.bytes),
                  .input_entries = static_cast<std::uint64_t>(in.entries),
                  .codec = node.app.workload->codec};
  job.noise = std::exp(state_.spec.noise * node.dice.normal());
  state_.jobs.push_back(std::move(job));
  const std::size_t id = state_.jobs.size() - 1;
  if (compaction.level == 0) placement_.decide_place(id);
  Job& placed = state_.jobs[id];
  placement_.predict(placed);
  if (placed.placed)
    state_.push(state_.now_s + state_.spec.placement_s * placed.slow, Event::Kind::place, id);
  else
    processors_.start(node, Task::Kind::compaction, id, work_of(node, placed));
}

void Jobs::install(std::size_t i, std::size_t id) {
  Node& node = state_.nodes[i];
  Job& job = state_.jobs[id];
  node.database.install(job.compaction);
  if (job.compaction.level == 0) node.out.compactions += 1;
  if (job.placed) node.out.away.push_back({.took_s = state_.now_s - job.asked_s, .slow = job.met_slow});
  level0_changed(i);
}

void Jobs::begin_elsewhere(std::size_t id) {
  Job& job = state_.jobs[id];
  Node& target = state_.nodes[job.target];
  if (job.cancelled || job.over) return;
  if (target.worker_down) {
    job.cancelled = true;
    state_.push(state_.now_s + state_.spec.heartbeat_s, Event::Kind::lost, id);
  } else if (target.slots_used >= target.tier->slots) {
    target.queue.push_back(id);
  } else {
    ++target.slots_used;
    job.running = true;
    send(id, false);
  }
}

void Jobs::send(std::size_t id, bool back) {
  Job& job = state_.jobs[id];
  const double bytes = back ? job.compaction.output.bytes : job.compaction.inputs().bytes;
  // A slow worker reads and sends slowly, while it computes.
  const double rate_max = job.slow > 1 ? bytes / (job.slow * work_there(job)) : never;
  const std::size_t flow = links_.add(id, back, rate_max);
  (back ? job.back : job.in) = flow;
  Node& home = state_.nodes[job.home];
  const Costs& costs = home.tier->costs;
  processors_.advance(home);
  if (back)
    processors_.start(home, Task::Kind::verify, id, bytes * (costs.transfer_s_per_byte + costs.verify_s_per_byte));
  else
    processors_.start(home, Task::Kind::serve, id, bytes * costs.transfer_s_per_byte);
  processors_.allocate(job.home);
  const std::size_t from = state_.flows[flow].from, to = state_.flows[flow].to;
  links_.share(from, to);
  if (!back && job.slow > 1) compute(id);
}

double Jobs::work_there(const Job& job) const {
  const Node& target = state_.nodes[job.target];
  const double bytes = job.compaction.inputs().bytes + job.compaction.output.bytes;
  return work_of(target, job) + target.tier->costs.worker_s + bytes * target.tier->costs.worker_s_per_byte;
}

void Jobs::compute(std::size_t id) {
  const Job& job = state_.jobs[id];
  Node& target = state_.nodes[job.target];
  processors_.advance(target);
  processors_.start(target, Task::Kind::job, id, work_there(job), 1 / job.slow);
  processors_.allocate(job.target);
  send(id, true);
}

void Jobs::part_done(std::size_t id, bool at_worker) {
  Job& job = state_.jobs[id];
  const std::size_t home = job.home, target = job.target;
  if (at_worker) --job.at_worker;
  const bool worker_is_done = at_worker && job.at_worker == 0, all_done = --job.in_all == 0;
  if (worker_is_done) {
    leave(target, id);
    if (const auto patience = state_.patience.find(id); patience != state_.patience.end()) patience->second.received();
  }
  if (!all_done) return;
  job.over = true;
  state_.patience.erase(id);
  state_.nodes[home].out.bytes_moved += job.moved;
  processors_.advance(state_.nodes[home]);
  install(home, id);
  processors_.allocate(home);
}

double Jobs::computed_part(std::size_t id) const {
  const Node& target = state_.nodes[state_.jobs[id].target];
  for (const Task& task : target.tasks)
    if (task.kind == Task::Kind::job && task.job == id) {
      const double left = task.left - target.share * task.pace * (state_.now_s - target.now_s);
      return task.work > 0 ? 1 - std::max(0.0, left) / task.work : 1;
    }
  return state_.jobs[id].cpu_s > 0 ? 1 : 0;
}

double Jobs::done_part(std::size_t id) const {
  const Job& job = state_.jobs[id];
  const double link_bytes_s =
      std::min(state_.nodes[job.home].tier->link_bytes_s, state_.nodes[job.target].tier->link_bytes_s);
  const double in_s = job.compaction.inputs().bytes / link_bytes_s;
  const double rest_s = std::max({job.predicted.compute_s.mean, job.compaction.output.bytes / link_bytes_s, 1e-3});
  const double rest = std::min(computed_part(id), links_.arrived_part(job.back));
  return (in_s * links_.arrived_part(job.in) + rest_s * rest) / (in_s + rest_s);
}

void Jobs::poll(std::size_t id) {
  if (state_.jobs[id].over) return;
  if (!state_.jobs[id].cancelled) {
    Patience& patience = state_.patience.at(id);
    const double done = done_part(id);
    const auto part = [done](double bytes) { return static_cast<std::uint64_t>(done * bytes); };
    patience.progressed(state_.now_s, part(state_.jobs[id].compaction.inputs().bytes),
                        part(state_.jobs[id].compaction.output.bytes));
    if (!patience.exhausted(state_.now_s).empty()) {
      state_.nodes[state_.jobs[id].home].out.given_up += 1;
      return fail(id);
    }
  }
  state_.push(state_.now_s + poll_s, Event::Kind::poll, id);
}

void Jobs::abandon(std::size_t id) {
  ECO_CHECK(!state_.jobs[id].over, id);
  const std::size_t home = state_.jobs[id].home, target = state_.jobs[id].target;
  processors_.advance(state_.nodes[home]), processors_.advance(state_.nodes[target]);
  for (const std::size_t at : {home, target}) Processors::drop(state_.nodes[at], id);
  const auto flows = state_.nodes[target].flows;
  for (const std::size_t flow : flows)
    if (state_.flows[flow].job == id) links_.end(flow);
  std::erase(state_.nodes[target].queue, id);
  if (state_.jobs[id].running)
    leave(target, id);
  else
    std::erase(state_.nodes[target].taken, id);
  Job& job = state_.jobs[id];
  job.over = true;
  state_.patience.erase(id);
  ServerOutcome& out = state_.nodes[home].out;
  out.bytes_moved += job.moved, out.wasted_bytes += job.moved, out.wasted_cpu_s += job.cpu_s;
  processors_.allocate(home), processors_.allocate(target);
}

void Jobs::fail(std::size_t id) {
  ECO_CHECK(state_.jobs[id].placed && state_.jobs[id].target != state_.jobs[id].home, id, state_.jobs[id].target);
  abandon(id);
  Job& job = state_.jobs[id];
  Node& home = state_.nodes[job.home];
  home.out.fell_back += 1;
  job.target = job.home;
  placement_.predict(job);
  processors_.advance(home);
  processors_.start(home, Task::Kind::compaction, id, work_of(home, job));
  processors_.allocate(job.home);
}

void Jobs::arrived(std::size_t id) {
  const Flow flow = state_.flows[id];
  links_.end(id);
  if (flow.returns) return part_done(flow.job, true);
  if (state_.jobs[flow.job].slow <= 1) compute(flow.job);
}

void Jobs::worker_lost(std::size_t server) {
  Node& node = state_.nodes[server];
  processors_.advance(node);
  std::erase_if(node.tasks, [](const Task& task) { return task.kind == Task::Kind::job; });
  processors_.allocate(server);
  for (const std::size_t id : node.taken) {
    state_.jobs[id].cancelled = true, state_.jobs[id].running = false;
    Node& home = state_.nodes[state_.jobs[id].home];
    processors_.advance(home);
    Processors::drop(home, id);
    processors_.allocate(state_.jobs[id].home);
    state_.push(state_.now_s + state_.spec.heartbeat_s, Event::Kind::lost, id);
  }
  const auto flows = node.flows;
  for (const std::size_t id : flows)
    if (state_.jobs[state_.flows[id].job].target == server) links_.end(id);
  node.taken.clear(), node.queue.clear();
  node.slots_used = 0;
}

void Jobs::leave(std::size_t i, std::size_t id) {
  Node& node = state_.nodes[i];
  std::erase(node.taken, id);
  state_.jobs[id].running = false;
  ECO_CHECK(node.slots_used > 0, i, id);
  --node.slots_used;
  while (node.slots_used < node.tier->slots && !node.queue.empty()) {
    const std::size_t next = node.queue.front();
    node.queue.erase(node.queue.begin());
    ++node.slots_used;
    state_.jobs[next].running = true;
    send(next, false);
  }
}

}  // namespace eco::sim
