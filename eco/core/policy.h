// Decides where a compaction runs. Pure functions, shared by the daemon and the simulator. "Local" is the server whose
// database asks (its home).
//
// - local: always at home; plain RocksDB
// - edgepilot: on the fastest server if that is faster than home (EdgePilot)
// - eco: if the local compaction would end in a write stall (Equation 2), on the server that takes the least energy
//   (Equation 4) among those that avoid the stall (Equation 3)
// - eco-local: offloads under eco's condition, chooses the server as edgepilot does (the paper's Fig. 12)
// - eco-global: offloads without eco's condition, chooses as eco does among the servers faster than home (Fig. 12)
// - static:NAME: always on one server (Figs. 4, 5)
// - eco-plus: on the server with the lowest cost
//
// eco-plus estimates how each server changes the energy per operation. The cost in joules is the sum of:
// - the energy of the compaction on that server, of its bytes on the network at both ends, and of the work that remains
//   at home; each weighted by the server's price of a joule and its battery level;
// - the operations lost to stalls and delays while the job runs (or later, if compactions are behind), and those lost
//   because the compaction takes CPU time at home from an application that wants all of it; lost time costs the power
//   that the home draws meanwhile;
// - `read_weight` times the same power for the time in which reads meet a full level 0.
//
// Times and the energy of the compaction are upper bounds (mean + 1.645 standard deviations). Home is always a
// candidate. A server without a free slot is one too; its queueing time counts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compaction_model.h"
#include "server.h"
#include "stall.h"

namespace eco {

enum class PolicyKind : std::uint8_t { local, edgepilot, eco, eco_local, eco_global, static_server, eco_plus };

struct Policy {
  PolicyKind kind = PolicyKind::eco_plus;
  std::string target;        // of static:SERVER
  double read_weight = 0.1;  // for eco-plus
  double busy_max = 0.8;     // a server that uses a larger share of its cores or network takes no jobs
  double battery_low = 0.2;  // for eco-plus: below this level a joule costs ten times as much
};

// All policies in the order in which messages list them; SERVER stands for a server's name. schemas/policies.json has
// the same names for other languages.
inline constexpr std::array<std::string_view, 7> policy_names{"local",      "edgepilot",     "eco",     "eco-local",
                                                              "eco-global", "static:SERVER", "eco-plus"};
// The policies that are compared by default.
inline constexpr std::array<std::string_view, 4> compared_policies{"local", "edgepilot", "eco", "eco-plus"};

// The names for a message: "local, edgepilot, ..., static:SERVER" + before_last + "eco-plus".
[[nodiscard]] std::string policy_list(std::string_view before_last = ", ");

// Parses a name such as "eco" or "static:NAME". Returns nothing if no policy has it.
[[nodiscard]] std::optional<Policy> policy_named(std::string_view name);
[[nodiscard]] std::string name_of(const Policy& policy);

// A request to place a compaction.
struct Request {
  Job job;
  LevelZero level_zero;
  std::string rocksdb;               // release; workers of another minor release are excluded
  bool tls = false;                  // its transfers are encrypted
  bool shared = false;               // its tables go through a shared folder
  std::vector<std::string> avoid{};  // servers where jobs of this home failed recently
};

// The predicted effect of running the compaction on one server.
struct Option {
  std::size_t server = 0;  // index into the servers
  Estimate time_s;         // until the result is installed, including waits and network
  double energy_j = 0;     // marginal, over all servers involved
  double lost_s = 0;       // of the application's writing time, during the job or later
  double cost_j = 0;       // for eco-plus
  bool available = false;  // accepts jobs
  bool stalls = false;     // Equation 2 predicts a write stall
};

struct Decision {
  bool offload = false;
  std::size_t target = 0;       // index into the servers; valid if offload
  std::string reason;           // a sentence
  std::vector<Option> options;  // one per server, home included, in the servers' order
};

// home: index of the server that asks. Missing knowledge never causes an offload: a server without observations is
// priced by home's model, and home without observations compacts locally.
[[nodiscard]] Decision decide(const Policy& policy, const Request& request, const std::vector<Server>& servers,
                              std::size_t home);

// Whether a worker of one release can compact for a database of another: the same major and minor number.
[[nodiscard]] bool same_release(std::string_view a, std::string_view b);

// Predicts a job from another server's database ("guest"), from that server's guest and own models.
[[nodiscard]] Prediction predict_guest(const CompactionModel& guest, const CompactionModel& own, const Job& job);
// A server drops its guest model after this time without guest jobs, so that a server that was slow is tried later.
inline constexpr double guest_memory_s = 600;

// Share of a local compaction's energy that an offloaded job still uses at home (serving, receiving, verifying).
// Assumed until home has learnt its own. The bar is 0.30.
inline constexpr double residual_share = 0.2;
// Factor on residual_share with TLS (experiment eco-home-cpu).
inline constexpr double residual_tls = 2;

// Maps a job to its key in Server::residual, which separates encrypted jobs and shared-folder jobs.
[[nodiscard]] Job staying(Job job, bool tls, bool shared = false);

}  // namespace eco
