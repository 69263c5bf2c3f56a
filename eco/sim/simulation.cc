#include "simulation.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <queue>

#include "state.h"

namespace eco::sim {
namespace {

constexpr double settled_jobs = 20;  // prediction errors count from here on
constexpr double look_s = 0.05;      // between two looks at a job elsewhere, as libeco has it
constexpr char release[] = "8.3.2";

class Simulation {
 public:
  Simulation(const Spec& spec, const Policy& policy, std::uint64_t seed) : spec_(spec), policy_(policy), seed_(seed) {
    for (std::size_t i = 0; i < spec.servers.size(); ++i) add(spec.servers[i], i);
    for (std::size_t i = 0; i < spec.faults.size(); ++i) push(spec.faults[i].at_s, Event::Kind::fault, i);
  }

  Outcome run() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) allocate(i);
    while (!events_.empty() && events_.top().at_s <= spec_.duration_s) {
      const Event event = events_.top();
      events_.pop();
      now_s_ = event.at_s;
      handle(event);
    }
    now_s_ = spec_.duration_s;
    return finish();
  }

 private:
  // --- set-up and end ---

  void add(const ServerSpec& server, std::size_t i) {
    nodes_.emplace_back(spec_, server, seed_, i);
    Node& node = nodes_.back();
    node.out.name = server.name, node.out.tier = node.tier->name;
    next_memtable(node);
    node.app.swing_phase = node.dice.uniform();
    Server entry;
    entry.name = server.name, entry.address = "simulated:" + server.name, entry.rocksdb = release;
    entry.cores = node.tier->cores, entry.link_bytes_s = node.tier->link_bytes_s, entry.slots = node.tier->slots;
    entry.power = node.tier->power, entry.energy_weight = server.energy_weight;
    if (server.battery >= 0) entry.battery = server.battery;
    table_.push_back(std::move(entry));
    push(spec_.beat_s * node.dice.uniform(), Event::Kind::beat, i);
  }

  Outcome finish() {
    outcome_.policy = name_of(policy_), outcome_.seed = seed_, outcome_.duration_s = spec_.duration_s;
    for (Node& node : nodes_) {
      advance(node);
      node.out.energy.idle = node.tier->power.idle_w * spec_.duration_s;
      node.out.level0_mean = node.level0_s / spec_.duration_s;
      outcome_.servers.push_back(std::move(node.out));
    }
    return std::move(outcome_);
  }

  // --- events ---

  void push(double at_s, Event::Kind kind, std::size_t id, std::uint32_t version = 0) {
    if (at_s < never) events_.push({at_s, order_++, kind, version, id});
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case Event::Kind::server:
        if (event.version != nodes_[event.id].version) return;
        step(event.id);
        break;
      case Event::Kind::beat:
        beat(event.id);
        break;
      case Event::Kind::flow:
        if (event.version != flows_[event.id].version || flows_[event.id].over) return;
        arrived(event.id);
        break;
      case Event::Kind::place:
        begin_elsewhere(event.id);
        break;
      case Event::Kind::look:
        look(event.id);
        break;
      case Event::Kind::lost:
        if (!jobs_[event.id].over) fail(event.id);
        break;
      case Event::Kind::silence:
        if (nodes_[event.id].worker_down) table_[event.id].alive = false;
        break;
      case Event::Kind::fault:
        strike(spec_.faults[event.id]);
        break;
    }
    ++outcome_.events;
  }

  // --- a server's processor and application, between events ---

  void advance(Node& node) {
    const double passed = now_s_ - node.now_s;
    if (passed <= 0) return;
    node.now_s = now_s_;
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
          jobs_[task.job].cpu_s += done;
          break;
        case Task::Kind::serve:
        case Task::Kind::verify:
          energy.serving += w * done;
          break;
      }
    }
    node.busy_core_s += node.busy * passed;
    Application& app = node.app;
    if (app.workload == nullptr) return;
    energy.application += w * (app.threads_cores + app.readers_cores) * passed;
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

  [[nodiscard]] static double cost_of_operation(const Node& node) {
    const Workload& workload = *node.app.workload;
    const Costs& costs = node.tier->costs;
    const double files = node.database.level0_files();
    return workload.put * (costs.put_s + costs.put_s_per_byte * node.app.entry_bytes) +
           workload.get * (costs.get_s + costs.get_s_per_file * files) +
           workload.seek * (costs.seek_s + costs.seek_s_per_file * files);
  }

  [[nodiscard]] double offered(const Node& node) const {
    const Workload& workload = *node.app.workload;
    if (const auto& steps = workload.rate_steps_ops_s; !steps.empty())
      return steps[static_cast<std::size_t>(now_s_ / workload.step_s) % steps.size()];
    if (workload.rate_ops_s == 0) return never;
    const double turns = now_s_ / workload.swing_period_s + node.app.swing_phase;
    return workload.rate_ops_s * (1 + workload.swing * std::sin(2 * std::numbers::pi * turns));
  }

  // Shares the cores anew, and says when something ends.
  void allocate(std::size_t i) {
    Node& node = nodes_[i];
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
    push(now_s_ + next, Event::Kind::server, i, ++node.version);
  }

  // Something ended, or the memtable is full.
  void step(std::size_t i) {
    Node& node = nodes_[i];
    advance(node);
    constexpr double nothing_s = 1e-9;
    for (std::size_t t = 0; t < node.tasks.size();) {
      if (node.tasks[t].left > nothing_s) {
        ++t;
        continue;
      }
      const Task task = node.tasks[t];
      node.tasks.erase(node.tasks.begin() + static_cast<std::ptrdiff_t>(t));
      done(i, task);
    }
    if (node.app.workload != nullptr && node.app.memtable >= node.app.capacity * (1 - 1e-9)) switch_memtable(node);
    allocate(i);
  }

  void start(Node& node, Task::Kind kind, std::size_t job, double work, double pace = 1) {
    node.tasks.push_back({kind, job, work, work, now_s_, pace});
  }

  void done(std::size_t i, const Task& task) {
    Node& node = nodes_[i];
    switch (task.kind) {
      case Task::Kind::flush:
        return flushed(i);
      case Task::Kind::compaction:
        learn(node, node.model, jobs_[task.job], now_s_ - task.begun_s, task.work);
        return install(i, task.job);
      case Task::Kind::job:
        learn(node, node.guest, jobs_[task.job], now_s_ - task.begun_s, task.work);
        node.guest_learnt_s = now_s_;
        node.out.jobs_taken += 1;
        return part_done(task.job, true);
      case Task::Kind::serve:
        return;
      case Task::Kind::verify:
        node.residual.learn(jobs_[task.job].features,
                            {.compute_s = now_s_ - task.begun_s, .energy_j = residual_j(node, jobs_[task.job])});
        return part_done(task.job, false);
    }
  }

  [[nodiscard]] static double residual_j(const Node& home, const Job& job) {
    const Costs& costs = home.tier->costs;
    return home.tier->power.busy_core_w *
           (job.compaction.inputs().bytes * costs.transfer_s_per_byte +
            job.compaction.output.bytes * (costs.transfer_s_per_byte + costs.verify_s_per_byte));
  }

  // --- memtables ---

  void next_memtable(Node& node) {
    Application& app = node.app;
    app.memtable = 0;
    if (app.workload == nullptr) return;
    const auto& sizes = app.workload->value_bytes;
    const auto choice = static_cast<std::size_t>(node.dice.uniform() * static_cast<double>(sizes.size()));
    app.entry_bytes = app.workload->key_bytes + sizes[choice];
    const Costs& costs = node.tier->costs;
    app.capacity = spec_.database.write_buffer_bytes * (1 - costs.memtable_unused) * app.entry_bytes /
                   (app.entry_bytes + costs.memtable_bytes_per_entry);
  }

  void switch_memtable(Node& node) {
    Application& app = node.app;
    app.waits_for_flush = static_cast<double>(app.full.size()) + 1 >= spec_.database.max_write_buffer_number;
    if (app.waits_for_flush) return;
    app.full.push_back({app.memtable * app.workload->stored, app.memtable / app.entry_bytes});
    next_memtable(node);
    if (app.full.size() == 1) flush(node);
  }

  void flush(Node& node) {
    const Amount& memtable = node.app.full.front();
    const Costs& costs = node.tier->costs_of(node.app.workload->codec);
    start(node, Task::Kind::flush, 0,
          costs.flush_s_per_entry * memtable.entries +
              costs.flush_s_per_byte * memtable.bytes / node.app.workload->stored);
  }

  void flushed(std::size_t i) {
    Node& node = nodes_[i];
    Application& app = node.app;
    node.database.add_file(app.full.front());
    app.full.erase(app.full.begin());
    if (!app.full.empty()) flush(node);
    if (app.waits_for_flush) switch_memtable(node);
    level0_changed(i);
  }

  void level0_changed(std::size_t i) {
    Node& node = nodes_[i];
    node.out.level0_max = std::max(node.out.level0_max, node.database.level0_files());
    node.writes.look(node.database);
    while (node.database.running() < node.database.running_max()) {
      const auto compaction = node.database.pick();
      if (!compaction) break;
      compact(i, *compaction);
    }
  }

  // --- compactions ---

  static double work_of(const Node& node, const Job& job) {
    const Costs& costs = node.tier->costs_of(job.features.codec);
    const Amount in = job.compaction.inputs();
    return job.noise *
           (costs.compaction_s + costs.compaction_s_per_entry * in.entries + costs.compaction_s_per_byte * in.bytes +
            costs.compaction_s_per_output_byte * job.compaction.output.bytes);
  }

  void compact(std::size_t i, const Compaction& compaction) {
    Node& node = nodes_[i];
    Job job;
    job.home = job.target = i, job.asked_s = now_s_;
    job.compaction = compaction;
    const Amount in = compaction.inputs();
    job.features = {.input_bytes = static_cast<std::uint64_t>(in.bytes),
                    .input_entries = static_cast<std::uint64_t>(in.entries),
                    .codec = node.app.workload->codec};
    job.noise = std::exp(spec_.noise * node.dice.normal());
    jobs_.push_back(std::move(job));
    const std::size_t id = jobs_.size() - 1;
    if (compaction.level == 0) decide_place(id);
    Job& placed = jobs_[id];
    predict(placed);
    if (placed.placed)
      push(now_s_ + spec_.placement_s * placed.slow, Event::Kind::place, id);
    else
      start(node, Task::Kind::compaction, id, work_of(node, placed));
  }

  [[nodiscard]] Request request_of(const Node& node, const Job& job) const {
    const DatabaseOptions& options = spec_.database;
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

  void decide_place(std::size_t id) {
    Job& job = jobs_[id];
    Node& home = nodes_[job.home];
    timespec before{}, after{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    const Request request = request_of(home, job);
    const Decision decision = decide(policy_, request, table_, job.home);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    outcome_.decision_us.push_back(static_cast<float>(static_cast<double>(after.tv_sec - before.tv_sec) * 1e6 +
                                                      static_cast<double>(after.tv_nsec - before.tv_nsec) * 1e-3));
    ++outcome_.decisions;
    const bool near_stall = decision.options[job.home].stalls;
    home.out.near_stall += near_stall;
    if (!decision.offload) return;
    home.out.offloaded += 1, home.out.near_stall_offloaded += near_stall;
    place(id, decision);
  }

  void place(std::size_t id, const Decision& decision) {
    Job& job = jobs_[id];
    Node& target = nodes_[decision.target];
    const Estimate& expected = decision.options[decision.target].time_s;
    job.target = decision.target, job.placed = true;
    job.until_s = now_s_ + expected.mean;
    Server& entry = table_[job.target];  // what was placed counts at once
    entry.jobs += 1;
    entry.jobs_s = std::max(entry.jobs_s, job.until_s - now_s_);
    target.taken.push_back(id);
    if (target.slow_share > 0 && target.dice.uniform() < target.slow_share)
      job.slow = target.slow_factor, job.met_slow = true;
    const double usual_s = usual(decision.options[job.home].time_s.upper(), expected.upper());
    const Patience::Limits limits{.heartbeat_s = never, .usual_s = usual_s};  // worker_down tells the loss
    patience_.emplace(id, Patience(limits, job.features.input_bytes, now_s_));
    push(now_s_ + look_s, Event::Kind::look, id);
  }

  // By the table, where it was placed.
  void predict(Job& job) const {
    const Server& server = table_[job.target];
    const Prediction own = server.model.predict(job.features);
    job.predicted = job.target == job.home ? own : predict_guest(server.guest, server.model, job.features);
    job.jobs_before = own.observations + server.guest.predict(job.features).observations;
  }

  void learn(Node& node, CompactionModel& model, const Job& job, double took_s, double work) {
    const Cost cost{.compute_s = took_s, .energy_j = work * node.tier->power.busy_core_w};
    if (job.jobs_before >= settled_jobs) {
      node.out.time.add(job.predicted.compute_s.mean, cost.compute_s);
      node.out.job_energy.add(job.predicted.energy_j.mean, cost.energy_j);
    }
    if (spec_.records)
      outcome_.jobs.push_back({.server = node.out.name,
                               .home = nodes_[job.home].out.name,
                               .at_s = now_s_,
                               .jobs_before = job.jobs_before,
                               .input_bytes = static_cast<double>(job.features.input_bytes),
                               .input_entries = static_cast<double>(job.features.input_entries),
                               .took_s = cost.compute_s,
                               .energy_j = cost.energy_j,
                               .predicted_s = job.predicted.compute_s.mean,
                               .predicted_j = job.predicted.energy_j.mean});
    model.learn(job.features, cost);
  }

  void install(std::size_t i, std::size_t id) {
    Node& node = nodes_[i];
    Job& job = jobs_[id];
    node.database.install(job.compaction);
    if (job.compaction.level == 0) node.out.compactions += 1;
    if (job.placed) node.out.away.push_back({.took_s = now_s_ - job.asked_s, .slow = job.met_slow});
    level0_changed(i);
  }

  // --- jobs elsewhere ---

  void begin_elsewhere(std::size_t id) {
    Job& job = jobs_[id];
    Node& target = nodes_[job.target];
    if (job.cancelled || job.over) return;
    if (target.worker_down) {
      job.cancelled = true;
      push(now_s_ + spec_.heartbeat_s, Event::Kind::lost, id);
    } else if (target.slots_used >= target.tier->slots) {
      target.queue.push_back(id);
    } else {
      ++target.slots_used;
      job.running = true;
      send(id, false);
    }
  }

  // Inputs to the worker, or outputs back.
  void send(std::size_t id, bool back) {
    Job& job = jobs_[id];
    const double bytes = back ? job.compaction.output.bytes : job.compaction.inputs().bytes;
    // A slow worker reads and sends slowly, while it computes.
    const double rate_max = job.slow > 1 ? bytes / (job.slow * work_there(job)) : never;
    const std::size_t from = back ? job.target : job.home, to = back ? job.home : job.target;
    flows_.push_back({.from = from,
                      .to = to,
                      .job = id,
                      .bytes = bytes,
                      .left = bytes,
                      .rate_max = rate_max,
                      .since_s = now_s_,
                      .returns = back});
    const std::size_t flow = flows_.size() - 1;
    (back ? job.back : job.in) = flow;
    nodes_[from].flows.push_back(flow), nodes_[to].flows.push_back(flow);
    ++nodes_[from].flows_out, ++nodes_[to].flows_in;
    Node& home = nodes_[job.home];
    const Costs& costs = home.tier->costs;
    advance(home);
    if (back)
      start(home, Task::Kind::verify, id, bytes * (costs.transfer_s_per_byte + costs.verify_s_per_byte));
    else
      start(home, Task::Kind::serve, id, bytes * costs.transfer_s_per_byte);
    allocate(job.home);
    share_links(from, to);
    if (!back && job.slow > 1) compute(id);
  }

  [[nodiscard]] double work_there(const Job& job) const {
    const Node& target = nodes_[job.target];
    const double bytes = job.compaction.inputs().bytes + job.compaction.output.bytes;
    return work_of(target, job) + target.tier->costs.worker_s + bytes * target.tier->costs.worker_s_per_byte;
  }

  // At its worker.
  void compute(std::size_t id) {
    const Job& job = jobs_[id];
    Node& target = nodes_[job.target];
    advance(target);
    start(target, Task::Kind::job, id, work_there(job), 1 / job.slow);
    allocate(job.target);
    send(id, true);
  }

  // Of a job that runs elsewhere.
  void part_done(std::size_t id, bool at_worker) {
    Job& job = jobs_[id];
    const std::size_t home = job.home, target = job.target;
    if (at_worker) --job.at_worker;
    const bool worker_is_done = at_worker && job.at_worker == 0, all_done = --job.in_all == 0;
    if (worker_is_done) {
      leave(target, id);
      if (const auto patience = patience_.find(id); patience != patience_.end()) patience->second.received();
    }
    if (!all_done) return;
    job.over = true;
    patience_.erase(id);
    nodes_[home].out.bytes_moved += job.moved;
    advance(nodes_[home]);
    install(home, id);
    allocate(home);
  }

  // --- jobs that are given up

  // As libeco: without a local compaction to compare with, twice what it takes there; below a second it is noise.
  static double usual(double local_s, double expected_s) {
    const double usual_s = local_s > 0 ? std::max(local_s, expected_s) : 2 * expected_s;
    return usual_s > 0 ? std::max(1.0, usual_s) : 0;
  }

  [[nodiscard]] double arrived_part(std::size_t flow) const {
    if (flow == none) return 0;
    const Flow& f = flows_[flow];
    const double left = f.over ? 0 : std::max(0.0, f.left - f.rate * (now_s_ - f.since_s));
    return f.bytes > 0 ? 1 - left / f.bytes : 1;
  }

  [[nodiscard]] double computed_part(std::size_t id) const {
    const Node& target = nodes_[jobs_[id].target];
    for (const Task& task : target.tasks)
      if (task.kind == Task::Kind::job && task.job == id) {
        const double left = task.left - target.share * task.pace * (now_s_ - target.now_s);
        return task.work > 0 ? 1 - std::max(0.0, left) / task.work : 1;
      }
    return jobs_[id].cpu_s > 0 ? 1 : 0;
  }

  // What the worker tells of its progress. A real one reads, computes and sends all the time: here each part counts by
  // the time that it is expected to take.
  [[nodiscard]] double done_part(std::size_t id) const {
    const Job& job = jobs_[id];
    const double link_bytes_s = std::min(nodes_[job.home].tier->link_bytes_s, nodes_[job.target].tier->link_bytes_s);
    const double in_s = job.compaction.inputs().bytes / link_bytes_s;
    const double rest_s = std::max({job.predicted.compute_s.mean, job.compaction.output.bytes / link_bytes_s, 1e-3});
    const double rest = std::min(computed_part(id), arrived_part(job.back));
    return (in_s * arrived_part(job.in) + rest_s * rest) / (in_s + rest_s);
  }

  void look(std::size_t id) {
    if (jobs_[id].over) return;
    if (!jobs_[id].cancelled) {
      Patience& patience = patience_.at(id);
      const double done = done_part(id);
      const auto part = [done](double bytes) { return static_cast<std::uint64_t>(done * bytes); };
      patience.progressed(now_s_, part(jobs_[id].compaction.inputs().bytes), part(jobs_[id].compaction.output.bytes));
      if (!patience.exhausted(now_s_).empty()) {
        nodes_[jobs_[id].home].out.given_up += 1;
        return fail(id);
      }
    }
    push(now_s_ + look_s, Event::Kind::look, id);
  }

  // Ends a job elsewhere at both sides; what it took was in vain.
  void abandon(std::size_t id) {
    const std::size_t home = jobs_[id].home, target = jobs_[id].target;
    advance(nodes_[home]), advance(nodes_[target]);
    const auto of_it = [id](const Task& task) { return task.kind != Task::Kind::flush && task.job == id; };
    for (const std::size_t at : {home, target}) std::erase_if(nodes_[at].tasks, of_it);
    const auto flows = nodes_[target].flows;
    for (const std::size_t flow : flows)
      if (flows_[flow].job == id) end(flow);
    std::erase(nodes_[target].queue, id);
    if (jobs_[id].running)
      leave(target, id);
    else
      std::erase(nodes_[target].taken, id);
    Job& job = jobs_[id];
    job.over = true;
    patience_.erase(id);
    ServerOutcome& out = nodes_[home].out;
    out.bytes_moved += job.moved, out.wasted_bytes += job.moved, out.wasted_cpu_s += job.cpu_s;
    allocate(home), allocate(target);
  }

  // The job elsewhere brings nothing: it is compacted at home.
  void fail(std::size_t id) {
    abandon(id);
    Job& job = jobs_[id];
    Node& home = nodes_[job.home];
    home.out.fell_back += 1;
    job.target = job.home;
    predict(job);
    advance(home);
    start(home, Task::Kind::compaction, id, work_of(home, job));
    allocate(job.home);
  }

  void advance(Flow& flow) {
    const double moved = std::min(flow.left, flow.rate * (now_s_ - flow.since_s));
    jobs_[flow.job].moved += moved;
    flow.since_s = now_s_;
    flow.left -= moved;
    Node &from = nodes_[flow.from], &to = nodes_[flow.to];
    from.bytes_out += moved, to.bytes_in += moved;
    from.out.energy.network += moved * from.tier->power.transfer_j_per_byte;
    to.out.energy.network += moved * to.tier->power.transfer_j_per_byte;
  }

  void share_links(std::size_t a, std::size_t b) {
    for (const std::size_t end : {a, b})
      for (const std::size_t id : nodes_[end].flows) {
        Flow& flow = flows_[id];
        const Node &from = nodes_[flow.from], &to = nodes_[flow.to];
        const double rate = std::min({from.tier->link_bytes_s / static_cast<double>(from.flows_out),
                                      to.tier->link_bytes_s / static_cast<double>(to.flows_in), flow.rate_max});
        if (rate == flow.rate) continue;
        advance(flow);
        flow.rate = rate;
        push(now_s_ + (rate > 0 ? flow.left / rate : never), Event::Kind::flow, id, ++flow.version);
      }
  }

  void end(std::size_t id) {
    Flow& flow = flows_[id];
    advance(flow);
    flow.over = true;
    for (const std::size_t at : {flow.from, flow.to}) std::erase(nodes_[at].flows, id);
    --nodes_[flow.from].flows_out, --nodes_[flow.to].flows_in;
    share_links(flow.from, flow.to);
  }

  void arrived(std::size_t id) {
    const Flow flow = flows_[id];
    end(id);
    if (flow.returns) return part_done(flow.job, true);
    if (jobs_[flow.job].slow <= 1) compute(flow.job);
  }

  // The job's slot is free for the next.
  void leave(std::size_t i, std::size_t id) {
    Node& node = nodes_[i];
    std::erase(node.taken, id);
    jobs_[id].running = false;
    --node.slots_used;
    while (node.slots_used < node.tier->slots && !node.queue.empty()) {
      const std::size_t next = node.queue.front();
      node.queue.erase(node.queue.begin());
      ++node.slots_used;
      jobs_[next].running = true;
      send(next, false);
    }
  }

  void strike(const Fault& fault) {
    Node& node = nodes_[fault.server];
    switch (fault.kind) {
      case Fault::Kind::worker_up:
        node.worker_down = false;
        return;
      case Fault::Kind::drain:
        node.draining = true;
        return;
      case Fault::Kind::worker_down:
        break;
    }
    node.worker_down = true;
    push(now_s_ + spec_.alive_s, Event::Kind::silence, fault.server);
    advance(node);
    std::erase_if(node.tasks, [](const Task& task) { return task.kind == Task::Kind::job; });
    allocate(fault.server);
    for (const std::size_t id : node.taken) {
      jobs_[id].cancelled = true, jobs_[id].running = false;
      Node& home = nodes_[jobs_[id].home];
      advance(home);
      std::erase_if(home.tasks, [id](const Task& task) { return task.kind != Task::Kind::flush && task.job == id; });
      allocate(jobs_[id].home);
      push(now_s_ + spec_.heartbeat_s, Event::Kind::lost, id);
    }
    const auto flows = node.flows;
    for (const std::size_t id : flows)
      if (jobs_[flows_[id].job].target == fault.server) end(id);
    node.taken.clear(), node.queue.clear();
    node.slots_used = 0;
  }

  // --- what a server tells ---

  void beat(std::size_t i) {
    Node& node = nodes_[i];
    advance(node);
    for (const std::size_t id : node.flows) advance(flows_[id]);
    if (now_s_ - node.guest_learnt_s > guest_memory_s) node.guest = CompactionModel();
    const double passed = now_s_ - node.beat_s;
    const double written = node.app.written_bytes - node.beat_written;
    if (node.input.known() && passed > 0) node.out.input.add(node.input.bytes_s(), written / passed);
    if (spec_.records && node.input.known() && passed > 0)
      outcome_.looks.push_back({.server = node.out.name,
                                .at_s = now_s_,
                                .bytes_s = written / passed,
                                .predicted_bytes_s = node.input.bytes_s()});
    node.input.observe(now_s_, static_cast<std::uint64_t>(node.app.written_bytes));
    if (!node.worker_down) tell(node, table_[i], passed);
    node.beat_s = now_s_, node.busy_core_s = 0, node.bytes_in = node.bytes_out = 0;
    node.beat_written = node.app.written_bytes;
    allocate(i);  // the offered rate moves on
    push(now_s_ + spec_.beat_s, Event::Kind::beat, i);
  }

  void tell(const Node& node, Server& entry, double passed) const {
    entry.alive = true, entry.draining = node.draining;
    entry.model = node.model, entry.guest = node.guest, entry.residual = node.residual;
    entry.jobs = static_cast<std::uint32_t>(node.taken.size());
    entry.jobs_s = 0;
    for (const std::size_t id : node.taken) entry.jobs_s = std::max(entry.jobs_s, jobs_[id].until_s - now_s_);
    if (passed <= 0) return;
    entry.busy_cores = node.busy_core_s / passed;
    entry.network_bytes_s = std::max(node.bytes_in, node.bytes_out) / passed;
  }

  const Spec& spec_;
  Policy policy_;
  std::uint64_t seed_;
  double now_s_ = 0;
  std::uint64_t order_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Node> nodes_;
  std::vector<Server> table_;
  std::vector<Job> jobs_;
  std::map<std::size_t, Patience> patience_;  // by job elsewhere
  std::vector<Flow> flows_;
  Outcome outcome_;
};

}  // namespace

Outcome simulate(const Spec& spec, const Policy& policy, std::uint64_t seed) {
  return Simulation(spec, policy, seed).run();
}

}  // namespace eco::sim
