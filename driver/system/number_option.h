// Options with numbers: decimal, the entire text a number, within a range, otherwise refused. CLI11 alone reads 010 as
// eight, -1 as the largest number, an empty text as absent, and accepts nan in any range.
#pragma once

#include <cstdint>

namespace CLI {
class Option;
}

namespace edgejoule::driver {

// Both throw UsageError during parsing. For no upper limit, pass the largest number as `most`.
void only_whole_numbers(CLI::Option& option, std::uint64_t least, std::uint64_t most);
void only_real_numbers(CLI::Option& option, double least, double most);

}  // namespace edgejoule::driver
