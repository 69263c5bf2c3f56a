// A recorded trace on the card model, and on its neighbours: each parameter 50 % less and more, and other kinds of
// card.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace lunar_bench {

nlohmann::json replay(const std::string& trace);

}  // namespace lunar_bench
