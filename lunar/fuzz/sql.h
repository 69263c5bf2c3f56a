// Any text as SQL, on a small volume.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lunar_fuzz {

// Two bytes say how much memory statements have and how often what is prepared runs; the rest is the text: statements
// one after another, on tables that are there. Every result is one of lunar.h's, errors lie within the text, statements
// end, and lunar_check finds nothing afterwards. What does not hold aborts.
void run_sql(const std::uint8_t* data, std::size_t size);

}  // namespace lunar_fuzz
