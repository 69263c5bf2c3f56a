// Reports a run as a table for people and JSON for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "outcome.h"
#include "spec.h"

namespace eco::sim {

// Means over the seeds. Ratios to the first and second policy are within the same seed.
[[nodiscard]] std::string table_of(const Spec& spec, const std::vector<Outcome>& outcomes);
[[nodiscard]] nlohmann::ordered_json json_of(const Spec& spec, const std::vector<Outcome>& outcomes);

// CSV with a line per job, or per observation of the input.
[[nodiscard]] std::string jobs_csv(const std::vector<Outcome>& outcomes);
[[nodiscard]] std::string input_samples_csv(const std::vector<Outcome>& outcomes);

// Energy per operation over all servers, in joules.
[[nodiscard]] double energy_per_op(const ServerOutcome& outcome);

}  // namespace eco::sim
