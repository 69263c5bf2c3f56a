// What a device must do while the power is on. Everything on it is overwritten.
#pragma once

#include "finding.h"
#include "lunar.h"

namespace bdtest {

Findings check_capacity(const lunar_config& device, std::uint32_t seed);
Findings check_read_back(const lunar_config& device, std::uint32_t seed);
Findings check_requests(const lunar_config& device, std::uint32_t seed);
Findings check_order(const lunar_config& device, std::uint32_t seed);

// All of them.
Findings check_device(const lunar_config& device, std::uint32_t seed);

}  // namespace bdtest
