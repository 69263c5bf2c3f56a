// Calls of lunar that do nothing and must cost nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace lunar_bench {

// The requests of an insertion that a full volume refuses, with the least buffer: the mean and the most of ten.
nlohmann::json refused(std::uint32_t megabytes);

// Microseconds of a lunar_sync when everything is durable and every frame of the buffer has a page.
nlohmann::json idle(std::size_t buffer_bytes);

}  // namespace lunar_bench
