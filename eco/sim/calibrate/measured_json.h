// What was measured, as JSON: `edgejoule eco calibration` fits the costs and writes the calibration that eco-sim reads.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "measure.h"

namespace eco::calibrate {

// An observation is {"terms": [...], "observed": NUMBER}; measure.h says which terms, in their order.
[[nodiscard]] nlohmann::ordered_json json_of(const Plan& plan, const Measured& measured, const std::string& machine,
                                             const std::string& command);

}  // namespace eco::calibrate
