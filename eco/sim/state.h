// The state of a simulation: servers, compactions, transfers and future events. Higher-level files change it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numbers>
#include <queue>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "compaction_model.h"
#include "database.h"
#include "input_rate.h"
#include "outcome.h"
#include "patience.h"
#include "policy.h"
#include "server.h"
#include "spec.h"

namespace eco::sim {

inline constexpr double never = std::numeric_limits<double>::infinity();
inline constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
inline constexpr double poll_s = 0.05;      // between two checks of an offloaded job, as in libeco
inline constexpr char release[] = "8.3.2";  // of RocksDB, on all servers

class Dice {
 public:
  Dice(std::uint64_t seed, std::uint64_t stream) {
    std::seed_seq both{seed >> 32, seed & 0xffffffff, stream};
    random_.seed(both);
  }
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

 private:
  std::mt19937_64 random_;
};

// A task that keeps one core of a server busy until it ends.
struct Task {
  enum class Kind : std::uint8_t { flush, compaction, job, serve, verify };
  Kind kind;
  std::size_t job;    // none for flushes
  double left, work;  // seconds of CPU time
  double begun_s;
  double pace = 1;  // maximum share of a core; a slow worker waits for other resources
};

// A compaction, local or offloaded.
struct Job {
  std::size_t home = 0, target = 0;
  Compaction compaction;
  eco::Job features;
  double noise = 1;
  Prediction predicted;    // for the chosen server
  double jobs_before = 0;  // jobs learnt there before, own and guest
  double until_s = 0;      // expected end
  double asked_s = 0;
  bool placed = false, cancelled = false;  // cancelled: its worker died
  bool over = false, running = false;      // running: it has a slot
  bool met_slow = false;                   // its worker was slow
  std::size_t in = none, back = none;      // transfers
  double slow = 1, moved = 0, cpu_s = 0;
  int at_worker = 2, in_all = 3;  // parts still running: computing and sending back; also verifying at home
};

struct Flow {
  std::size_t from, to, job;
  double bytes, left, rate_max, rate = 0, since_s = 0;
  std::uint32_t version = 0;
  bool returns = false, over = false;
};

// The application's memtables and threads.
struct Application {
  const Workload* workload = nullptr;
  double entry_bytes = 0;    // of the active memtable
  double memtable = 0;       // bytes in the active memtable
  double capacity = 0;       // of the active memtable, bytes
  std::vector<Amount> full;  // wait for a flush; the first is being flushed
  bool waits_for_flush = false;
  double written_bytes = 0;
  double swing_phase = 0;
  // Current rates.
  double threads_cores = 0, readers_cores = 0, operations_s = 0, reads_s = 0, asleep = 0;
};

struct Node {
  Node(const Spec& spec, const ServerSpec& server, std::uint64_t seed, std::uint64_t index)
      : tier(&spec.tiers[server.tier]),
        dice(seed, index),
        database(spec.database, server.idle ? 1 : spec.workloads[server.workload].keys),
        writes(spec.database) {
    if (!server.idle) app.workload = &spec.workloads[server.workload];
    slow_share = server.slow_share, slow_factor = server.slow_factor;
  }

  const Tier* tier;
  Dice dice;
  Database database;
  WriteController writes;
  Application app;
  InputRate input;
  CompactionModel model, guest, residual;
  double guest_learnt_s = 0;
  std::vector<Task> tasks;
  std::vector<std::size_t> queue, taken;  // jobs waiting for a slot; all jobs placed here
  std::vector<std::size_t> flows;         // in both directions
  std::size_t flows_out = 0, flows_in = 0;
  std::uint32_t slots_used = 0;
  double now_s = 0, share = 1, busy = 0;
  std::uint32_t version = 0;
  bool worker_down = false, draining = false;
  double slow_share = 0, slow_factor = 1;
  // Since the last beat.
  double beat_s = 0, busy_core_s = 0, bytes_in = 0, bytes_out = 0, beat_written = 0;
  double level0_s = 0;
  ServerOutcome out;
};

struct Event {
  enum class Kind : std::uint8_t { server, beat, flow, place, poll, lost, silence, fault };
  double at_s;
  std::uint64_t order;
  Kind kind;
  std::uint32_t version;
  std::size_t id;

  bool operator>(const Event& o) const { return at_s != o.at_s ? at_s > o.at_s : order > o.order; }
};

struct State {
  State(const Spec& given, const Policy& chosen) : spec(given), policy(chosen) {}

  // Drops an event that never comes.
  void push(double at_s, Event::Kind kind, std::size_t id, std::uint32_t version = 0) {
    if (at_s < never) events.push({at_s, order++, kind, version, id});
  }

  const Spec& spec;
  Policy policy;
  double now_s = 0;
  std::uint64_t order = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::vector<Node> nodes;
  std::vector<Server> table;  // each server's state at its last beat
  std::vector<Job> jobs;
  std::map<std::size_t, Patience> patience;  // by offloaded job
  std::vector<Flow> flows;
  Outcome outcome;
};

}  // namespace eco::sim
