#include "static_federation.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "clock.h"

namespace eco {
namespace {

constexpr double control_timeout_s = 2;

void set_deadline(grpc::ClientContext& context, double seconds) {
  context.set_deadline(
      std::chrono::system_clock::now() +
      std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::duration<double>(seconds)));
}

Error unreached(const grpc::Status& status) {
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) return {"the master did not answer in time"};
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) return {"the master is unreachable"};
  return {fmt::format("the master: {}", status.error_message())};
}

}  // namespace

std::uint64_t beats_per_table(std::size_t servers) { return 1 + servers / 100; }

StaticMaster::StaticMaster(StateFile& state) : state_(state) {
  epoch_ = std::max(state.get().epoch() + 1, static_cast<std::uint64_t>(unix_time_s() * 1e3));
  const auto saved = state.change([&](proto::SavedState& s) { s.set_epoch(epoch_); });
  if (!saved) throw std::runtime_error(saved.error());
}

void StaticMaster::join(Member& member) { member.heard_settings(state_.get().settings()); }

void StaticMaster::beat(const proto::ServerState&) {}

Result<proto::Placement> StaticMaster::place(const proto::PlaceRequest&, double) {
  return Error{"this server is the master"};
}

Result<> StaticMaster::report(const proto::JobReport&) { return Error{"this server is the master"}; }

Result<proto::Settings> StaticMaster::settings() { return state_.get().settings(); }

Result<proto::Settings> StaticMaster::change(const proto::Settings& settings) {
  proto::Settings changed = settings;
  bool newest = true;
  const auto saved = state_.change([&](proto::SavedState& state) {
    newest = state.settings().revision() <= settings.revision();
    if (!newest) return;
    changed.set_revision(settings.revision() + 1);
    *state.mutable_settings() = changed;
  });
  if (!saved) return Error{saved.error()};
  if (!newest) return Error{"another server changed the settings at the same time"};
  return changed;
}

StaticMember::StaticMember(const std::shared_ptr<grpc::ChannelInterface>& master, double beat_s)
    : stub_(proto::Master::NewStub(master)), beat_s_(beat_s) {}

void StaticMember::beat(const proto::ServerState& own) {
  grpc::ClientContext context;
  set_deadline(context, beat_s_);
  proto::Table table;
  const auto status = stub_->Beat(&context, own, &table);
  if (status.ok() != was_reached_) {
    if (status.ok())
      spdlog::info("the master is reachable");
    else
      spdlog::warn("{}: {}", unreached(status).what, status.error_message());
  }
  was_reached_ = status.ok();
  if (!status.ok() || !member_->heard_table(table)) return;
  const std::scoped_lock lock(mutex_);
  settings_ = table.settings();
}

Result<proto::Placement> StaticMember::place(const proto::PlaceRequest& request, double timeout_s) {
  grpc::ClientContext context;
  set_deadline(context, timeout_s);
  proto::Placement placement;
  const auto status = stub_->Place(&context, request, &placement);
  if (!status.ok()) return unreached(status);
  return placement;
}

Result<> StaticMember::report(const proto::JobReport& report) {
  grpc::ClientContext context;
  set_deadline(context, beat_s_);
  proto::Empty empty;
  const auto status = stub_->Report(&context, report, &empty);
  if (!status.ok()) return unreached(status);
  return Done{};
}

Result<proto::Settings> StaticMember::settings() {
  const std::scoped_lock lock(mutex_);
  if (!settings_) return Error{"no message from the master yet"};
  return *settings_;
}

Result<proto::Settings> StaticMember::change(const proto::Settings& settings) {
  grpc::ClientContext context;
  set_deadline(context, control_timeout_s);
  proto::Settings changed;
  const auto status = stub_->Change(&context, settings, &changed);
  if (!status.ok()) return unreached(status);
  const std::scoped_lock lock(mutex_);
  settings_ = changed;
  return changed;
}

}  // namespace eco
