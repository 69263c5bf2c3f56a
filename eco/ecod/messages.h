// What crosses a process, as what the policies work on, and back.
#pragma once

#include "eco.pb.h"
#include "policy.h"
#include "server.h"

namespace eco {

[[nodiscard]] Job job_of(const proto::JobFeatures& features);
[[nodiscard]] Request request_of(const proto::PlaceRequest& request);

// Not known counts as all: the server takes no jobs.
[[nodiscard]] double busy_cores_of(const proto::ServerState& state);

// Of `alive` and of jobs that the state does not show yet, the caller knows more. A link's use that is not known counts
// as all of it.
[[nodiscard]] Server server_of(const proto::ServerState& state);

void set_models(google::protobuf::RepeatedPtrField<proto::ModelState>& models, const CompactionModel& model);
[[nodiscard]] std::map<std::string, CompactionModel::State> models_in(
    const google::protobuf::RepeatedPtrField<proto::ModelState>& models);

// What holds where a policy's name is none: local.
[[nodiscard]] Policy policy_of(const proto::Policy& policy);
[[nodiscard]] proto::Policy message_of(const Policy& policy, bool shadow);

// Whether `a` is to be obeyed where `b` is known, too. Of two changes of one revision, which only servers make that
// lost each other, the kill switch holds, else one that all choose alike.
[[nodiscard]] bool newer(const proto::Settings& a, const proto::Settings& b);

}  // namespace eco
