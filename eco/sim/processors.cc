#include "processors.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "check.h"

namespace eco::sim {

void Processors::advance(Node& node) {
  const double passed = state_.now_s - node.now_s;
  if (passed <= 0) return;
  node.now_s = state_.now_s;
  work(node, passed);
  node.busy_core_s += node.busy * passed;
  if (node.app.workload != nullptr) operate(node, passed);
}

void Processors::work(Node& node, double passed) {
  const double w = node.tier->power.busy_core_w;
  Energy& energy = node.out.energy;
  for (Task& task : node.tasks) {
    const double done = node.share * task.pace * passed;
    task.left -= done;
    switch (task.kind) {
      case Task::Kind::flush:
        energy.flush += w * done;
        break;
      case Task::Kind::compaction:
        energy.compaction += w * done;
        break;
      case Task::Kind::job:
        energy.others_jobs += w * done;
        state_.jobs[task.job].cpu_s += done;
        break;
      case Task::Kind::serve:
      case Task::Kind::verify:
        energy.serving += w * done;
        break;
    }
  }
}

void Processors::operate(Node& node, double passed) {
  Application& app = node.app;
  const double w = node.tier->power.busy_core_w;
  node.out.energy.application += w * (app.threads_cores + app.readers_cores) * passed;
  const double operations = app.operations_s * passed, puts = operations * app.workload->put;
  node.out.writes += puts;
  node.out.reads += operations - puts + app.reads_s * passed;
  app.memtable += puts * app.entry_bytes, app.written_bytes += puts * app.entry_bytes;
  if (node.writes.stopped())
    node.out.stopped_s += passed;
  else if (app.waits_for_flush)
    node.out.memtable_s += passed;
  else if (node.writes.delayed())
    node.out.delayed_s += passed * app.asleep;
  node.level0_s += node.database.level0_files() * passed;
}

double Processors::cost_of_operation(const Node& node) {
  const Workload& workload = *node.app.workload;
  const Costs& costs = node.tier->costs;
  const double files = node.database.level0_files();
  return workload.put * (costs.put_s + costs.put_s_per_byte * node.app.entry_bytes) +
         workload.get * (costs.get_s + costs.get_s_per_file * files) +
         workload.seek * (costs.seek_s + costs.seek_s_per_file * files);
}

double Processors::offered(const Node& node) const {
  const Workload& workload = *node.app.workload;
  if (const auto& steps = workload.rate_steps_ops_s; !steps.empty())
    return steps[static_cast<std::size_t>(state_.now_s / workload.step_s) % steps.size()];
  if (workload.rate_ops_s == 0) return never;
  const double turns = state_.now_s / workload.swing_period_s + node.app.swing_phase;
  return workload.rate_ops_s * (1 + workload.swing * std::sin(2 * std::numbers::pi * turns));
}

void Processors::allocate(std::size_t i) {
  Node& node = state_.nodes[i];
  Application& app = node.app;
  const double cores = node.tier->cores;
  double threads = 0, readers = 0, wanted = 0, free_rate = 0, cost = 0;
  if (app.workload != nullptr) {
    cost = cost_of_operation(node);
    readers = app.workload->reader_threads;
    const bool writes = app.workload->put > 0;
    const bool blocked = writes && (node.writes.stopped() || app.waits_for_flush);
    threads = blocked ? 0 : app.workload->threads;
    free_rate = std::min(offered(node), threads / cost);
    double rate = free_rate;
    if (writes && node.writes.delayed())
      rate = std::min(rate, node.writes.delayed_rate() / (app.entry_bytes * app.workload->put));
    wanted = std::min(threads, rate * cost);
  }
  double greedy = readers;
  for (const Task& task : node.tasks) greedy += task.pace;
  const double fair = std::min(1.0, cores / std::max(1e-9, greedy + threads));
  app.threads_cores = std::min(wanted, threads * fair);
  node.share = greedy > 0 ? std::min(1.0, (cores - app.threads_cores) / greedy) : 1;
  app.readers_cores = readers * node.share;
  node.busy = app.threads_cores + greedy * node.share;
  double next = never;
  if (app.workload != nullptr) {
    app.operations_s = cost > 0 ? app.threads_cores / cost : 0;
    const double could = std::min(free_rate, threads * fair / cost);
    app.asleep = could > 0 ? std::max(0.0, 1 - app.operations_s / could) : 0;
    const double read_s = node.tier->costs.get_s + node.tier->costs.get_s_per_file * node.database.level0_files();
    app.reads_s = readers > 0 ? app.readers_cores / read_s : 0;
    const double bytes_s = app.operations_s * app.workload->put * app.entry_bytes;
    if (bytes_s > 0) next = std::max(0.0, app.capacity - app.memtable) / bytes_s;
  }
  for (const Task& task : node.tasks) next = std::min(next, std::max(0.0, task.left) / (node.share * task.pace));
  state_.push(state_.now_s + next, Event::Kind::server, i, ++node.version);
}

std::optional<Task> Processors::take_done(Node& node, std::size_t& from) {
  constexpr double nothing_s = 1e-9;
  while (from < node.tasks.size() && node.tasks[from].left > nothing_s) ++from;
  if (from >= node.tasks.size()) return std::nullopt;
  const Task task = node.tasks[from];
  node.tasks.erase(node.tasks.begin() + static_cast<std::ptrdiff_t>(from));
  return task;
}

void Processors::drop(Node& node, std::size_t job) {
  std::erase_if(node.tasks, [job](const Task& task) { return task.kind != Task::Kind::flush && task.job == job; });
}

void Processors::start(Node& node, Task::Kind kind, std::size_t job, double work, double pace) {
  ECO_CHECK(pace > 0, job, pace);
  node.tasks.push_back({kind, job, work, work, state_.now_s, pace});
}

}  // namespace eco::sim
