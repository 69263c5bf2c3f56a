// Converts protocol messages to the types of the policies, and back.
#pragma once

#include "eco.pb.h"
#include "policy.h"
#include "server.h"

namespace eco {

[[nodiscard]] Job job_of(const proto::JobFeatures& features);
[[nodiscard]] Request request_of(const proto::PlaceRequest& request);

// An unknown value counts as all cores: the server takes no jobs.
[[nodiscard]] double busy_cores_of(const proto::ServerState& state);

// The caller completes `alive` and the jobs that the state does not show yet. An unknown link use counts as full use.
[[nodiscard]] Server server_of(const proto::ServerState& state);

void set_models(google::protobuf::RepeatedPtrField<proto::ModelState>& models, const CompactionModel& model);
[[nodiscard]] std::map<std::string, CompactionModel::State> models_in(
    const google::protobuf::RepeatedPtrField<proto::ModelState>& models);

// An unknown policy name gives `local`.
[[nodiscard]] Policy policy_of(const proto::Policy& policy);
[[nodiscard]] proto::Policy message_of(const Policy& policy, bool shadow);

// Whether `a` takes precedence over `b`. Two changes have the same revision only after servers lost contact. Then the
// one with the kill switch wins, else the same one on every server.
[[nodiscard]] bool newer(const proto::Settings& a, const proto::Settings& b);

}  // namespace eco
