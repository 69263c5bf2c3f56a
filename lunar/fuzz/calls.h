// Any sequence of calls, beside a model of what the tables hold. The input is the program: tables of both indexes,
// rings, transactions, cursors, every mode, mounts, power cuts, and a device that fails now and then.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lunar_fuzz {

// Ends the process where a result is not what the model or lunar.h says.
void run_calls(const std::uint8_t* data, std::size_t size);

}  // namespace lunar_fuzz
