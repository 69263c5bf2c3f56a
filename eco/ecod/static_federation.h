// A federation without NATS: one server is always the master, and the others send their beats to it by gRPC. While it
// is down each server decides for itself.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "eco.grpc.pb.h"
#include "federation.h"
#include "state_file.h"

namespace eco {

// The master, or a single server. The state file holds its settings and the epochs of its starts.
class StaticMaster final : public Federation {
 public:
  explicit StaticMaster(StateFile& state);

  void join(Member& member) override;
  void beat(const proto::ServerState& own) override;
  [[nodiscard]] Standing standing() const override { return {.master = true, .epoch = epoch_}; }
  [[nodiscard]] Result<proto::Placement> place(const proto::PlaceRequest& request, double timeout_s) override;
  [[nodiscard]] Result<> report(const proto::JobReport& report) override;
  [[nodiscard]] Result<proto::Settings> change(const proto::Settings& settings) override;
  [[nodiscard]] Result<proto::Settings> settings() override;
  void leave() override {}

 private:
  StateFile& state_;
  std::uint64_t epoch_;
};

class StaticMember final : public Federation {
 public:
  // beat_s: the deadline of a beat.
  StaticMember(const std::shared_ptr<grpc::ChannelInterface>& master, double beat_s);

  void join(Member& member) override { member_ = &member; }
  void beat(const proto::ServerState& own) override;
  [[nodiscard]] Standing standing() const override { return {}; }
  [[nodiscard]] Result<proto::Placement> place(const proto::PlaceRequest& request, double timeout_s) override;
  [[nodiscard]] Result<> report(const proto::JobReport& report) override;
  [[nodiscard]] Result<proto::Settings> change(const proto::Settings& settings) override;
  [[nodiscard]] Result<proto::Settings> settings() override;
  void leave() override {}

 private:
  std::unique_ptr<proto::Master::Stub> stub_;
  double beat_s_;
  Member* member_ = nullptr;
  std::optional<bool> was_reached_;
  mutable std::mutex mutex_;
  std::optional<proto::Settings> settings_;
};

// A member gets the whole table only with every n-th beat, so that large federations do not fill their links: about a
// hundred server entries per beat.
[[nodiscard]] std::uint64_t beats_per_table(std::size_t servers);

}  // namespace eco
