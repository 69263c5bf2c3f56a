#include "messages.h"

#include <algorithm>

namespace eco {
namespace {

// A new member of the state needs a field in the message, which is sent and stored.
static_assert(sizeof(LinearModel::State) ==
              (LinearModel::terms_max * (1 + LinearModel::terms_max) + 3) * sizeof(double));
static_assert(sizeof(CompactionModel::State) == 2 * sizeof(LinearModel::State));

void write(const LinearModel::State& state, proto::RegressionState& message) {
  message.mutable_coefficients()->Assign(state.coefficients.begin(), state.coefficients.end());
  message.mutable_covariance()->Assign(state.covariance.begin(), state.covariance.end());
  message.set_squares(state.squares);
  message.set_weight(state.weight);
  message.set_observations(state.observations);
}

LinearModel::State state_of(const proto::RegressionState& message) {
  LinearModel::State state = LinearModel().state();
  const auto fits = [](const auto& sent, const auto& here) { return sent.size() == static_cast<int>(here.size()); };
  if (!fits(message.coefficients(), state.coefficients) || !fits(message.covariance(), state.covariance)) return state;
  std::ranges::copy(message.coefficients(), state.coefficients.begin());
  std::ranges::copy(message.covariance(), state.covariance.begin());
  state.squares = message.squares();
  state.weight = message.weight();
  state.observations = message.observations();
  return state;
}

}  // namespace

Job job_of(const proto::JobFeatures& features) {
  return {.input_bytes = features.input_bytes(), .input_entries = features.input_entries(), .codec = features.codec()};
}

Request request_of(const proto::PlaceRequest& request) {
  const auto& level_zero = request.level_zero();
  return {.job = job_of(request.features()),
          .level_zero = {.files = level_zero.files(),
                         .files_s = level_zero.files_s(),
                         .slowdown = level_zero.slowdown(),
                         .stop = level_zero.stop(),
                         .delayed = level_zero.delayed(),
                         .stall = level_zero.stall(),
                         .trigger = level_zero.trigger()},
          .rocksdb = request.rocksdb(),
          .tls = request.tls(),
          .shared = request.shared(),
          .avoid = {request.avoid().begin(), request.avoid().end()}};
}

double busy_cores_of(const proto::ServerState& state) {
  return state.has_busy_cores() ? state.busy_cores() : state.cores();
}

Server server_of(const proto::ServerState& state) {
  Server server;
  server.name = state.name();
  server.address = state.address();
  server.rocksdb = state.rocksdb();
  server.cores = state.cores();
  server.busy_cores = busy_cores_of(state);
  server.link_bytes_s = state.link_bytes_s();  // 0: unknown; the server is no candidate
  server.network_bytes_s = state.has_network_bytes_s() ? state.network_bytes_s() : state.link_bytes_s();
  server.slots = state.slots();
  server.jobs = state.jobs();
  server.jobs_s = state.jobs_s();
  server.draining = state.draining();
  server.power = {
      .busy_core_w = state.busy_core_w(), .idle_w = state.idle_w(), .transfer_j_per_byte = state.transfer_j_per_byte()};
  if (state.has_battery()) server.battery = state.battery();
  server.energy_weight = state.energy_weight();
  server.core_speed = state.core_speed();
  server.model.set_state(models_in(state.models()));
  server.guest.set_state(models_in(state.guest()));
  server.residual.set_state(models_in(state.residual()));
  server.overhead.set_state(models_in(state.overhead()));
  return server;
}

void set_models(google::protobuf::RepeatedPtrField<proto::ModelState>& models, const CompactionModel& model) {
  models.Clear();
  for (const auto& [codec, state] : model.state()) {
    auto& message = *models.Add();
    message.set_codec(codec);
    write(state.compute, *message.mutable_compute());
    write(state.energy, *message.mutable_energy());
  }
}

std::map<std::string, CompactionModel::State> models_in(
    const google::protobuf::RepeatedPtrField<proto::ModelState>& models) {
  std::map<std::string, CompactionModel::State> out;
  for (const auto& model : models) out[model.codec()] = {state_of(model.compute()), state_of(model.energy())};
  return out;
}

Policy policy_of(const proto::Policy& message) {
  auto policy = policy_named(message.name()).value_or(*policy_named("local"));
  policy.read_weight = message.read_weight();
  policy.busy_max = message.busy_max();
  policy.battery_low = message.battery_low();
  return policy;
}

proto::Policy message_of(const Policy& policy, bool shadow) {
  proto::Policy message;
  message.set_name(name_of(policy));
  message.set_read_weight(policy.read_weight);
  message.set_busy_max(policy.busy_max);
  message.set_battery_low(policy.battery_low);
  message.set_shadow(shadow);
  return message;
}

bool newer(const proto::Settings& a, const proto::Settings& b) {
  if (a.revision() != b.revision()) return a.revision() > b.revision();
  if (a.local_only() != b.local_only()) return a.local_only();
  return a.SerializeAsString() > b.SerializeAsString();
}

}  // namespace eco
