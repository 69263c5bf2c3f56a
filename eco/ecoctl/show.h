// What ecoctl prints of an ecod's answers.
#pragma once

#include <string>

#include "eco.pb.h"

namespace eco {

[[nodiscard]] std::string show(const proto::FederationView& view);
[[nodiscard]] std::string show(const proto::DecisionLog& log, bool with_options);

}  // namespace eco
