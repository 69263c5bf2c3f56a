// How a volume ages under tables that come and go (the paper's section 4.4).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

namespace lunar_bench {

struct Aging {
  std::uint64_t volume_bytes = std::uint64_t{1} << 30;
  std::uint64_t written_bytes = std::uint64_t{5} << 30;
  double full = 0.5;   // tables are dropped at random when this share of the volume is payload
  bool fixed = false;  // all blocks have 4 KB
  std::uint64_t seed = 1;
};

nlohmann::json age(const Aging& aging);

}  // namespace lunar_bench
