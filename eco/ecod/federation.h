// The seam between a server's ecod and the others: who is the master, and what the servers tell each other. Everything
// above it runs in a test with another implementation.
//
// A master's epoch is its fencing number: a later master has a greater one, and who has heard of it refuses what an
// earlier one still says.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "eco.pb.h"
#include "result.h"

namespace eco {

// What a federation calls; from threads of its own.
class Member {
 public:
  virtual ~Member() = default;

  // As the master: of another server.
  virtual void heard_server(const proto::ServerState& state) = 0;
  virtual void heard_gone(const std::string& server) = 0;
  // Fails where this server is not the master, or not any more.
  [[nodiscard]] virtual Result<proto::Placement> place_for(const proto::PlaceRequest& request) = 0;
  virtual void heard_report(const proto::JobReport& report) = 0;
  // The master's word for the others.
  [[nodiscard]] virtual proto::Table table(bool with_servers) = 0;

  // As anybody: from the master. False: an earlier master's, and not heeded.
  virtual bool heard_table(const proto::Table& table) = 0;
  virtual void heard_settings(const proto::Settings& settings) = 0;
  // What it obeys: the federation keeps them again where it has lost them.
  [[nodiscard]] virtual proto::Settings settings() const = 0;
  // The newest epoch that it or a server it heard of knows.
  [[nodiscard]] virtual std::uint64_t epoch_known() = 0;
};

class Federation {
 public:
  struct Standing {
    bool master = false;  // this server, by a clock of its own: it is true of no two at a time
    std::uint64_t epoch = 0;
  };

  virtual ~Federation() = default;

  // Begins to call `member`, which outlives it. Does not wait for others.
  virtual void join(Member& member) = 0;
  // Once each beat_ms: tells the others of this server, and settles who is the master.
  virtual void beat(const proto::ServerState& own) = 0;
  [[nodiscard]] virtual Standing standing() const = 0;
  // Asks the master. Fails within timeout_s.
  [[nodiscard]] virtual Result<proto::Placement> place(const proto::PlaceRequest& request, double timeout_s) = 0;
  [[nodiscard]] virtual Result<> report(const proto::JobReport& report) = 0;
  // What the operator wants, for all and to stay. `settings.revision` is the one it was made from; fails where a later
  // one is kept. The answer carries the new revision, the next one.
  [[nodiscard]] virtual Result<proto::Settings> change(const proto::Settings& settings) = 0;
  // What the federation keeps; fails where it cannot be asked.
  [[nodiscard]] virtual Result<proto::Settings> settings() = 0;
  // Says goodbye; the mastership is free at once. No call of `member` afterwards.
  virtual void leave() = 0;
};

}  // namespace eco
