// The interface between a server's ecod and the other servers: who is the master, and the messages between them. Tests
// use other implementations.
//
// A master's epoch is its fencing number. A later master has a greater epoch, and every server that knows it refuses
// messages of earlier masters.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "eco.pb.h"
#include "result.h"

namespace eco {

// Callbacks of a federation, from its own threads.
class Member {
 public:
  virtual ~Member() = default;

  // To the master, about another server.
  virtual void heard_server(const proto::ServerState& state) = 0;
  virtual void heard_gone(const std::string& server) = 0;
  // Fails if this server is not the master now.
  [[nodiscard]] virtual Result<proto::Placement> place_for(const proto::PlaceRequest& request) = 0;
  virtual void heard_report(const proto::JobReport& report) = 0;
  // The table that the master sends to the others.
  [[nodiscard]] virtual proto::Table table(bool with_servers) = 0;

  // To every server, from the master. False: from an earlier master, and ignored.
  virtual bool heard_table(const proto::Table& table) = 0;
  virtual void heard_settings(const proto::Settings& settings) = 0;
  // The settings that this server obeys; the federation restores them if its storage was lost.
  [[nodiscard]] virtual proto::Settings settings() const = 0;
  // The newest epoch known to it or to a server that it heard from.
  [[nodiscard]] virtual std::uint64_t epoch_known() = 0;
};

class Federation {
 public:
  struct Standing {
    bool master = false;  // this server is the master; never true of two at once
    std::uint64_t epoch = 0;
  };

  virtual ~Federation() = default;

  // Starts to call `member`, which must outlive the federation. Does not wait for other servers.
  virtual void join(Member& member) = 0;
  // Call once each beat_ms: sends this server's state and settles the mastership.
  virtual void beat(const proto::ServerState& own) = 0;
  [[nodiscard]] virtual Standing standing() const = 0;
  // Asks the master. Fails within timeout_s.
  [[nodiscard]] virtual Result<proto::Placement> place(const proto::PlaceRequest& request, double timeout_s) = 0;
  [[nodiscard]] virtual Result<> report(const proto::JobReport& report) = 0;
  // Changes the persistent settings of all servers. settings.revision: the revision that the change is based on; fails
  // if a later one exists. Returns the settings with the next revision.
  [[nodiscard]] virtual Result<proto::Settings> change(const proto::Settings& settings) = 0;
  // The stored settings; fails if the storage does not answer.
  [[nodiscard]] virtual Result<proto::Settings> settings() = 0;
  // Leaves the federation and frees the mastership at once. No callbacks afterwards.
  virtual void leave() = 0;
};

}  // namespace eco
