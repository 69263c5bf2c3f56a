// The server table: who is there, by their beats, and what they told last (the paper's Tracker), together with the jobs
// that were placed there and that their telemetry does not show yet, or still shows. One thread at a time.
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
  // placed_s: a placed job that its server has not shown for so long was never started.
  // forget_s: one that was not heard of for so long is no part of the table any more.
  explicit Tracker(double placed_s, double forget_s = 3600) : placed_s_(placed_s), forget_s_(forget_s) {}

  // A beat that does not count up is not news of the server. With left_s it tells that the server left.
  void heard(const proto::ServerState& state, double now_s);
  // The server said goodbye.
  void left(const std::string& name, double now_s);
  // Of a server that is in the table by its own word: another ecod says to be it.
  void heard_namesake(const proto::ServerState& state, double now_s);
  void drain(const std::set<std::string>& names);

  void placed(const std::string& server, const std::string& token, const std::string& job, double expected_s,
              double now_s);
  void ended(const std::string& job);

  // Brought up to `now_s`: alive is who was heard of within alive_s. What find() returned before does not hold.
  [[nodiscard]] const std::vector<Server>& servers(double now_s, double alive_s);
  [[nodiscard]] std::optional<std::size_t> find(const std::string& name) const;
  [[nodiscard]] std::size_t alive() const;  // by the last servers()
  // When a server but this one was last heard of; nothing: none ever was.
  [[nodiscard]] std::optional<double> last_heard_s(const std::string& but) const;

  struct Line {
    proto::ServerState state;  // with its age
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
    std::optional<double> left_at_s{};  // it said goodbye
    proto::ServerState namesake;        // the last one under this name of another instance: name, address, beat alone
    double namesake_s = -1e9;           // when both were last known to be alive
    bool ambiguous = false;             // another ecod beats under this name: no jobs are placed there
    std::deque<Placed> placed;          // not shown yet
    std::deque<Placed> shown;
    std::uint32_t ended = 0;  // of those that the last beat shows
  };

  [[nodiscard]] static std::string twin_of(const Entry& entry, double now_s);
  void note_namesake(Entry& entry, const proto::ServerState& now, const proto::ServerState& next, double now_s);
  void refresh(std::size_t i);
  void drop_forgotten(double now_s);

  double placed_s_, forget_s_;
  std::map<std::string, std::size_t> index_;
  std::vector<Entry> entries_;
  std::vector<Server> servers_;  // of the entries, in their order
  std::set<std::string> drained_;
};

// Why it takes no job, in a few words; empty: it takes one.
[[nodiscard]] std::string why_not(const Server& server, double busy_max);

}  // namespace eco
