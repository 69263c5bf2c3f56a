// Servers and requests for tests.
#pragma once

#include <fmt/format.h>
#include <rocksdb/version.h>

#include <string>

#include "eco.pb.h"
#include "messages.h"

namespace eco::test {

// RocksDB's release in the tested ecod.
inline std::string release() { return fmt::format("{}.{}.{}", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH); }

// A model that predicts these seconds and joules for a job of 64 MB, for others in proportion.
inline CompactionModel model_of(double compute_s, double energy_j) {
  CompactionModel model;
  for (int i = 1; i <= 40; ++i) {
    const double size = 0.1 * (1 + i % 20);
    model.learn({static_cast<std::uint64_t>(size * 64e6), static_cast<std::uint64_t>(size * 64e3), "Snappy"},
                {size * compute_s, size * energy_j});
  }
  return model;
}

inline proto::ServerState state_of(const std::string& name, double compute_s, double energy_j, std::uint64_t beat = 1) {
  proto::ServerState state;
  state.set_name(name);
  state.set_address("127.0.0.1:1");
  state.set_rocksdb(release());
  state.set_cores(4);
  state.set_busy_cores(1);
  state.set_link_bytes_s(1.25e9);
  state.set_network_bytes_s(0);
  state.set_slots(2);
  state.set_busy_core_w(5);
  state.set_idle_w(20);
  state.set_transfer_j_per_byte(1e-9);
  state.set_energy_weight(1);
  set_models(*state.mutable_models(), model_of(compute_s, energy_j));
  state.set_beat(beat);
  return state;
}

// A request of `home`: 64 MB, shortly before a stall.
inline proto::PlaceRequest request_of(const std::string& home, const std::string& job = "job") {
  proto::PlaceRequest request;
  request.set_server(home);
  request.set_job(job);
  request.set_rocksdb(release());
  request.mutable_features()->set_input_bytes(64'000'000);
  request.mutable_features()->set_input_entries(64'000);
  request.mutable_features()->set_codec("Snappy");
  auto& level_zero = *request.mutable_level_zero();
  level_zero.set_files(16.1);
  level_zero.set_files_s(1);
  level_zero.set_slowdown(18);
  level_zero.set_stop(20);
  level_zero.set_delayed(0.5);
  return request;
}

}  // namespace eco::test
