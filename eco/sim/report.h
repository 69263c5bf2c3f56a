// A table for people, JSON for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "outcome.h"
#include "spec.h"

namespace eco::sim {

// Means over the seeds; ratios to the first policy, and to the second, are of the same seed.
[[nodiscard]] std::string table_of(const Spec& spec, const std::vector<Outcome>& outcomes);
[[nodiscard]] nlohmann::ordered_json json_of(const Spec& spec, const std::vector<Outcome>& outcomes);

// A line for each job, or each look at the input.
[[nodiscard]] std::string jobs_csv(const std::vector<Outcome>& outcomes);
[[nodiscard]] std::string looks_csv(const std::vector<Outcome>& outcomes);

// Energy per operation of all servers, joules.
[[nodiscard]] double energy_per_op(const ServerOutcome& outcome);

}  // namespace eco::sim
