// Writes the measurements as JSON. `edgejoule eco calibration` fits the costs and writes the calibration for eco-sim.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "measure.h"

namespace eco::calibrate {

// An observation is {"terms": [...], "observed": NUMBER}; measure.h defines the order of the terms.
[[nodiscard]] nlohmann::ordered_json json_of(const Plan& plan, const Measured& measured, const std::string& machine,
                                             const std::string& command);

}  // namespace eco::calibrate
