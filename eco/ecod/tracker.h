// The server table (the paper's Tracker): the servers that beat, their last state, and the jobs placed there that this
// state does not show yet or still shows. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "eco.pb.h"
#include "server.h"

namespace eco {

class Tracker {
 public:
  // placed_s: a placed job that its server has not shown by then counts as never started.
  // forget_s: a server leaves the table after this silence.
  explicit Tracker(double placed_s, double forget_s = 3600) : placed_s_(placed_s), forget_s_(forget_s) {}

  // Ignores a beat whose number does not grow. With left_s the state announces that the server left.
  void heard(const proto::ServerState& state, double now_s);
  // The server announced its end.
  void left(const std::string& name, double now_s);
  // Another ecod uses the name of a server in the table.
  void heard_namesake(const proto::ServerState& state, double now_s);
  void drain(const std::set<std::string>& names);

  void placed(const std::string& server, const std::string& token, const std::string& job, double expected_s,
              double now_s);
  void ended(const std::string& job);

  // The table at `now_s`; alive: last beat within alive_s. Invalidates indices from find().
  [[nodiscard]] const std::vector<Server>& servers(double now_s, double alive_s);
  [[nodiscard]] std::optional<std::size_t> find(const std::string& name) const;
  [[nodiscard]] std::size_t alive() const;  // as of the last servers()
  // When any server except `but` was last heard from; nothing: never.
  [[nodiscard]] std::optional<double> last_heard_s(const std::string& but) const;

  struct Line {
    proto::ServerState state;  // includes its age
    std::uint32_t placed = 0;
  };
  [[nodiscard]] std::vector<Line> lines(double now_s) const;

  // Each server has one entry, under its own name; no job is placed twice; no server has more jobs than it shows and
  // were placed there.
  void check_invariants() const;

 private:
  struct Placed {
    std::string token, job;
    double at_s = 0, expected_s = 0;
  };
  struct Entry {
    proto::ServerState state;
    double heard_s = 0;
    std::optional<double> left_at_s{};  // when it announced its end
    proto::ServerState namesake;        // the last one under this name of another instance: name, address, beat alone
    double namesake_s = -1e9;           // when both were last known to be alive
    bool ambiguous = false;             // two ecods use this name: it gets no jobs
    std::deque<Placed> placed;          // not yet in the server's state
    std::deque<Placed> shown;
    std::uint32_t ended = 0;  // ended jobs that the last beat still shows
  };

  [[nodiscard]] static std::string twin_of(const Entry& entry, double now_s);
  void note_namesake(Entry& entry, const proto::ServerState& now, const proto::ServerState& next, double now_s);
  void refresh(std::size_t i);
  void drop_forgotten(double now_s);

  double placed_s_, forget_s_;
  std::map<std::string, std::size_t> index_;
  std::vector<Entry> entries_;
  std::vector<Server> servers_;  // parallel to entries_
  std::set<std::string> drained_;
};

// Returns briefly why the server takes no job; empty: it takes one.
[[nodiscard]] std::string why_not(const Server& server, double busy_max);

}  // namespace eco
