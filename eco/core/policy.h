// Where a compaction runs: pure functions of what is known, shared by the daemon and the simulator.
//
// - local: here, always; plain RocksDB
// - edgepilot: on the fastest server, where that is faster than here (EdgePilot)
// - eco: where it would end in a write stall here (Equation 2), on that of the servers that avoid it (Equation 3) which
//   takes the least energy (Equation 4)
// - eco-local: asks as eco does, chooses as edgepilot does (the paper's Fig. 12)
// - eco-global: does not ask; as eco, among the servers that are faster than here (Fig. 12)
// - static:NAME: on one server, always (Figs. 4, 5)
// - eco-plus: where it costs least
//
// eco-plus prices a place by what it does to energy per operation. Its cost, in joules, is the energy of the compaction
// there, of its bytes on the network at both ends and of what stays to be done here, each weighted by the price of a
// joule on that server and by its battery; plus the operations lost to stalls and delays while it runs, or later where
// compactions are behind, and those that its processor time here takes from an application that wants all of it, at the
// power that this server draws meanwhile without serving them; plus `read_weight` times that power for the time that
// reads find level 0 full. All by what is rarely exceeded, not by the mean. Its own server
// is always a candidate; a full one is, too, with its wait counted.
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

enum class PolicyKind : std::uint8_t { local, edgepilot, eco, eco_local, eco_global, fixed, eco_plus };

struct Policy {
  PolicyKind kind = PolicyKind::eco_plus;
  std::string target;        // of `fixed`: the server's name
  double read_weight = 0.1;  // of eco-plus
  double busy_max = 0.8;     // a server with more of its cores or its network in use takes no jobs
  double battery_low = 0.2;  // of eco-plus: below it a joule costs ten times as much
};

// Every policy, in the order in which messages list them; SERVER stands for a server's name. schemas/policies.json has
// the same names for other languages.
inline constexpr std::array<std::string_view, 7> policy_names{"local",      "edgepilot",     "eco",     "eco-local",
                                                              "eco-global", "static:SERVER", "eco-plus"};
// Those that are compared where nobody chose any.
inline constexpr std::array<std::string_view, 4> compared_policies{"local", "edgepilot", "eco", "eco-plus"};

// The names as a message lists them: "local, edgepilot, ..., static:SERVER" + before_last + "eco-plus".
[[nodiscard]] std::string policy_list(std::string_view before_last = ", ");

// "eco", "static:NAME"; nothing: no policy has this name.
[[nodiscard]] std::optional<Policy> policy_named(std::string_view name);
[[nodiscard]] std::string name_of(const Policy& policy);

// A compaction that asks where to run.
struct Request {
  Job job;
  LevelZero level_zero;
  std::string rocksdb;               // release; a worker of another minor release is no candidate
  bool tls = false;                  // what it moves is encrypted
  bool shared = false;               // it goes by a shared folder
  std::vector<std::string> avoid{};  // names of servers where jobs of this home failed lately
};

// A place, and what the compaction is expected to take there.
struct Option {
  std::size_t server = 0;  // index into the servers
  Estimate time_s;         // until its result is installed, waits and network included
  double energy_j = 0;     // marginal, of all servers that take part
  double lost_s = 0;       // of the application's writing, meanwhile or later
  double cost_j = 0;       // of eco-plus
  bool available = false;  // takes jobs
  bool stalls = false;     // Equation 2 holds for it
};

struct Decision {
  bool offload = false;
  std::size_t target = 0;       // index into the servers, where it offloads
  std::string reason;           // a sentence
  std::vector<Option> options;  // of every server, the own included, in their order
};

// home: index of the server that asks. What is not known is no reason to offload: a server without observations is
// priced by the home's model, and a home without any compacts itself.
[[nodiscard]] Decision decide(const Policy& policy, const Request& request, const std::vector<Server>& servers,
                              std::size_t home);

// Whether a worker of one release can compact for a database of another: the same major and minor number.
[[nodiscard]] bool same_release(std::string_view a, std::string_view b);

// What a job takes on a server that is not its home, by the two models of that server.
[[nodiscard]] Prediction predict_guest(const CompactionModel& guest, const CompactionModel& own, const Job& job);
// A server forgets what it knows of others' jobs when it had none for so long: one that was slow then is tried again.
inline constexpr double guest_memory_s = 600;

// The part of a local compaction's energy that stays at home when it is offloaded: to serve, receive and verify. The
// bar is 0.30; this is what is assumed until the home has learnt it.
inline constexpr double residual_share = 0.2;
// With TLS it is about twice as much (eco-home-cpu).
inline constexpr double residual_tls = 2;

// As Server::residual knows a job: apart where its bytes are encrypted, or go by a shared folder.
[[nodiscard]] Job staying(Job job, bool tls, bool shared = false);

}  // namespace eco
