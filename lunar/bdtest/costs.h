// What requests cost on a device, and the card model (bd/card.h) that fits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "card.h"
#include "lunar.h"

namespace bdtest {

// Seconds from some moment on.
using Clock = std::function<double()>;

struct Cost {
  std::string what;
  std::uint64_t bytes;
  double median_s, tenth_s, ninetieth_s;
};

struct Fit {
  card_parameters card;  // powers are copied from the argument; no device reports them
  std::vector<Cost> costs;
  double error;  // of the fit: mean of |fitted - measured| / measured over the sequential writes and the reads
};

// Overwrites the device. repeats: number of requests of each kind, at least 5. Throws std::runtime_error if a request
// fails.
Fit fit_card(const lunar_config& device, const Clock& clock, std::uint32_t repeats, const card_parameters& powers);

}  // namespace bdtest
