// Experiments small enough to know their result.
#pragma once

#include "spec.h"

namespace eco::sim {

inline Tier tier_of(const char* name, double speed, double busy_core_w) {
  return {.name = name,
          .cores = 4,
          .link_bytes_s = 1.25e9,
          .slots = 2,
          .power = {.busy_core_w = busy_core_w, .idle_w = 10, .transfer_j_per_byte = 1e-9},
          .costs = {.put_s = 10e-6 / speed,
                    .get_s = 5e-6 / speed,
                    .get_s_per_file = 2e-6 / speed,
                    .flush_s_per_byte = 2e-9 / speed,
                    .compaction_s_per_entry = 0.3e-6 / speed,
                    .compaction_s_per_byte = 4e-9 / speed,
                    .transfer_s_per_byte = 0.3e-9 / speed,
                    .verify_s_per_byte = 0.1e-9 / speed}};
}

// Slow servers that stall, and a fast one without an application.
inline Spec stalling() {
  Spec spec;
  spec.name = "test", spec.question = "?";
  spec.duration_s = 120, spec.seeds = {1};
  spec.tiers = {tier_of("slow", 0.3, 2), tier_of("fast", 2, 6)};
  spec.workloads = {{.name = "fill"}};
  spec.servers = {{.name = "a", .tier = 0}, {.name = "b", .tier = 0}, {.name = "helper", .tier = 1}};
  spec.database.level0_stop_writes_trigger = 20, spec.database.level0_slowdown_writes_trigger = 16;
  return spec;
}

}  // namespace eco::sim
