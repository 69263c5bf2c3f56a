#include "simulation.h"

#include "check.h"
#include "jobs.h"
#include "links.h"
#include "memtables.h"
#include "processors.h"
#include "state.h"

namespace eco::sim {
namespace {

// The event loop: sets up the servers, advances from event to event and collects the outcome.
class Simulation {
 public:
  Simulation(const Spec& spec, const Policy& policy, std::uint64_t seed) : state_(spec, policy), seed_(seed) {
    for (std::size_t i = 0; i < spec.servers.size(); ++i) add(spec.servers[i], i);
    for (std::size_t i = 0; i < spec.faults.size(); ++i) state_.push(spec.faults[i].at_s, Event::Kind::fault, i);
  }

  Outcome run() {
    for (std::size_t i = 0; i < state_.nodes.size(); ++i) processors_.allocate(i);
    while (!state_.events.empty() && state_.events.top().at_s <= state_.spec.duration_s) {
      const Event event = state_.events.top();
      state_.events.pop();
      ECO_CHECK(event.at_s >= state_.now_s, event.at_s, state_.now_s);
      state_.now_s = event.at_s;
      handle(event);
    }
    state_.now_s = state_.spec.duration_s;
    return finish();
  }

 private:
  void add(const ServerSpec& server, std::size_t i) {
    state_.nodes.emplace_back(state_.spec, server, seed_, i);
    Node& node = state_.nodes.back();
    node.out.name = server.name, node.out.tier = node.tier->name;
    memtables_.next(node);
    node.app.swing_phase = node.dice.uniform();
    Server entry;
    entry.name = server.name, entry.address = "simulated:" + server.name, entry.rocksdb = release;
    entry.cores = node.tier->cores, entry.link_bytes_s = node.tier->link_bytes_s, entry.slots = node.tier->slots;
    entry.power = node.tier->power, entry.energy_weight = server.energy_weight;
    if (server.battery >= 0) entry.battery = server.battery;
    state_.table.push_back(std::move(entry));
    state_.push(state_.spec.beat_s * node.dice.uniform(), Event::Kind::beat, i);
  }

  Outcome finish() {
    state_.outcome.policy = name_of(state_.policy), state_.outcome.seed = seed_,
    state_.outcome.duration_s = state_.spec.duration_s;
    for (Node& node : state_.nodes) {
      processors_.advance(node);
      node.out.energy.idle = node.tier->power.idle_w * state_.spec.duration_s;
      node.out.level0_mean = node.level0_s / state_.spec.duration_s;
      state_.outcome.servers.push_back(std::move(node.out));
    }
    return std::move(state_.outcome);
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case Event::Kind::server:
        if (event.version != state_.nodes[event.id].version) return;
        step(event.id);
        break;
      case Event::Kind::beat:
        beat(event.id);
        break;
      case Event::Kind::flow:
        if (event.version != state_.flows[event.id].version || state_.flows[event.id].over) return;
        jobs_.arrived(event.id);
        break;
      case Event::Kind::place:
        jobs_.begin_elsewhere(event.id);
        break;
      case Event::Kind::poll:
        jobs_.poll(event.id);
        break;
      case Event::Kind::lost:
        if (!state_.jobs[event.id].over) jobs_.fail(event.id);
        break;
      case Event::Kind::silence:
        if (state_.nodes[event.id].worker_down) state_.table[event.id].alive = false;
        break;
      case Event::Kind::fault:
        strike(state_.spec.faults[event.id]);
        break;
    }
    ++state_.outcome.events;
  }

  // A task ended, or the memtable is full.
  void step(std::size_t i) {
    Node& node = state_.nodes[i];
    processors_.advance(node);
    std::size_t from = 0;
    while (const auto task = Processors::take_done(node, from)) done(i, *task);
    if (node.app.workload != nullptr && node.app.memtable >= node.app.capacity * (1 - 1e-9))
      memtables_.switch_memtable(node);
    processors_.allocate(i);
  }

  void done(std::size_t i, const Task& task) {
    if (task.kind != Task::Kind::flush) return jobs_.done(i, task);
    memtables_.flushed(i);
    jobs_.level0_changed(i);
  }

  void strike(const Fault& fault) {
    Node& node = state_.nodes[fault.server];
    switch (fault.kind) {
      case Fault::Kind::worker_up:
        node.worker_down = false;
        return;
      case Fault::Kind::drain:
        node.draining = true;
        return;
      case Fault::Kind::worker_down:
        node.worker_down = true;
        state_.push(state_.now_s + state_.spec.alive_s, Event::Kind::silence, fault.server);
        jobs_.worker_lost(fault.server);
        return;
    }
  }

  void beat(std::size_t i) {
    Node& node = state_.nodes[i];
    processors_.advance(node);
    for (const std::size_t id : node.flows) links_.advance(state_.flows[id]);
    if (state_.now_s - node.guest_learnt_s > guest_memory_s) node.guest = CompactionModel();
    const double passed = state_.now_s - node.beat_s;
    const double written = node.app.written_bytes - node.beat_written;
    if (node.input.known() && passed > 0) node.out.input.add(node.input.bytes_s(), written / passed);
    if (state_.spec.records && node.input.known() && passed > 0)
      state_.outcome.input_samples.push_back({.server = node.out.name,
                                              .at_s = state_.now_s,
                                              .bytes_s = written / passed,
                                              .predicted_bytes_s = node.input.bytes_s()});
    node.input.observe(state_.now_s, static_cast<std::uint64_t>(node.app.written_bytes));
    if (!node.worker_down) tell(node, state_.table[i], passed);
    node.beat_s = state_.now_s, node.busy_core_s = 0, node.bytes_in = node.bytes_out = 0;
    node.beat_written = node.app.written_bytes;
    processors_.allocate(i);  // the offered rate changes
    state_.push(state_.now_s + state_.spec.beat_s, Event::Kind::beat, i);
  }

  void tell(const Node& node, Server& entry, double passed) const {
    entry.alive = true, entry.draining = node.draining;
    entry.model = node.model, entry.guest = node.guest, entry.residual = node.residual;
    entry.jobs = static_cast<std::uint32_t>(node.taken.size());
    entry.jobs_s = 0;
    for (const std::size_t id : node.taken)
      entry.jobs_s = std::max(entry.jobs_s, state_.jobs[id].until_s - state_.now_s);
    if (passed <= 0) return;
    entry.busy_cores = node.busy_core_s / passed;
    entry.network_bytes_s = std::max(node.bytes_in, node.bytes_out) / passed;
  }

  State state_;
  std::uint64_t seed_;
  Processors processors_{state_};
  Links links_{state_};
  Memtables memtables_{state_, processors_};
  Jobs jobs_{state_, processors_, links_};
};

}  // namespace

Outcome simulate(const Spec& spec, const Policy& policy, std::uint64_t seed) {
  return Simulation(spec, policy, seed).run();
}

}  // namespace eco::sim
