// A card model as a JSON file.
#pragma once

#include <string>

#include "card.h"

namespace bdtest {

std::string card_to_text(const card_parameters& card);
// Throws std::runtime_error with the reason, also for a missing or unknown parameter.
card_parameters card_from_text(const std::string& text);

}  // namespace bdtest
