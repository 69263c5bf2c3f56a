// What operations cost on a table of a given size.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine.h"

namespace lunar_bench {

struct Growing {
  std::int64_t rows = 10'000;   // of an integer key, an integer and five texts of 100 bytes
  std::int64_t calls = 50'000;  // of each durable operation and get, at most a quarter of the rows
};

// Each step's operations, CPU time, read and write calls and bytes written; dearest: the most requests of one
// insertion, and its most reads, where the engine counts them. open: the engine on its device, also on what an earlier
// one has left there. A failed step has failed: why, and no figures.
nlohmann::json grow(const Growing& growing, const std::function<std::unique_ptr<Engine>()>& open);

}  // namespace lunar_bench
