#include "services.h"

#include <algorithm>
#include <chrono>

#include "static_federation.h"

namespace eco {
namespace {

using grpc::Status;
using grpc::StatusCode;

Status status_of(const Result<>& result) {
  return result ? Status::OK : Status(StatusCode::FAILED_PRECONDITION, result.error());
}

// The caller's remaining time, minus the time for the answer to arrive.
double time_left_s(const grpc::ServerContext& context) {
  constexpr double answer_share = 0.2, at_most_s = 1;
  const auto left = context.deadline() - std::chrono::system_clock::now();
  const double seconds = std::chrono::duration<double>(left).count();
  return std::clamp(seconds * (1 - answer_share), 1e-3, at_most_s);
}

}  // namespace

Status NodeService::Place(grpc::ServerContext* context, const proto::PlaceRequest* request, proto::Placement* answer) {
  *answer = node_.place(*request, time_left_s(*context));
  return Status::OK;
}

Status NodeService::Report(grpc::ServerContext*, const proto::JobReport* report, proto::Empty*) {
  node_.report(*report);
  return Status::OK;
}

Status ControlService::Servers(grpc::ServerContext*, const proto::Empty*, proto::FederationView* answer) {
  *answer = node_.view();
  return Status::OK;
}

Status ControlService::Decisions(grpc::ServerContext*, const proto::DecisionsRequest* request,
                                 proto::DecisionLog* answer) {
  for (auto& decision : node_.decisions().last(request->last())) *answer->add_decisions() = std::move(decision);
  return Status::OK;
}

Status ControlService::SetPolicy(grpc::ServerContext*, const proto::PolicyRequest* request, proto::Empty*) {
  return status_of(node_.set_policy(*request));
}

Status ControlService::Drain(grpc::ServerContext*, const proto::DrainRequest* request, proto::Empty*) {
  return status_of(node_.drain(*request));
}

Status ControlService::Kill(grpc::ServerContext*, const proto::KillRequest* request, proto::Empty*) {
  return status_of(node_.kill(request->local_only()));
}

Status MasterService::Place(grpc::ServerContext*, const proto::PlaceRequest* request, proto::Placement* answer) {
  const auto placement = node_.place_for(*request);
  if (!placement) return {StatusCode::FAILED_PRECONDITION, placement.error()};
  *answer = *placement;
  return Status::OK;
}

Status MasterService::Beat(grpc::ServerContext*, const proto::ServerState* state, proto::Table* answer) {
  node_.heard_server(*state);
  bool whole = false;
  {
    const std::scoped_lock lock(mutex_);
    auto& beats = beats_[state->name()];
    whole = beats % beats_per_table(beats_.size()) == 0;
    ++beats;
  }
  *answer = node_.table(whole);
  return Status::OK;
}

Status MasterService::Report(grpc::ServerContext*, const proto::JobReport* report, proto::Empty*) {
  node_.heard_report(*report);
  return Status::OK;
}

Status MasterService::Change(grpc::ServerContext*, const proto::Settings* settings, proto::Settings* answer) {
  const auto changed = federation_.change(*settings);
  if (!changed) return {StatusCode::ABORTED, changed.error()};
  node_.heard_settings(*changed);
  *answer = *changed;
  return Status::OK;
}

}  // namespace eco
