// Numbers of the command line: decimal, whole in the text, within their range, or refused. CLI11 alone would take
// 010 as eight, -1 as the largest number there is, an empty text as absent and nan as within every range.
#pragma once

#include <cstdint>

namespace CLI {
class Option;
}

namespace edgejoule::driver {

// Both throw UsageError while the command line is parsed. `most` of limitless options is the largest number.
void only_whole_numbers(CLI::Option& option, std::uint64_t least, std::uint64_t most);
void only_real_numbers(CLI::Option& option, double least, double most);

}  // namespace edgejoule::driver
