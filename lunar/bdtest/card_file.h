// A card model as a JSON file.
#pragma once

#include <string>

#include "card.h"

namespace bdtest {

std::string card_to_text(const card_parameters& card);
// Every parameter must be there, and no other. Throws std::runtime_error, which names what is wrong.
card_parameters card_from_text(const std::string& text);

}  // namespace bdtest
