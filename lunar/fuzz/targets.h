// What is fuzzed. Each ends the process where something does not hold.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lunar_fuzz {

// Any sequence of calls, beside a model of what the tables hold. The input is the program: tables of both indexes,
// rings, transactions, cursors, every mode, mounts, power cuts, and a device that fails now and then.
//
// Ends the process where a result is not what the model or lunar.h says.
void run_calls(const std::uint8_t* data, std::size_t size);

// What is done with a damaged image: everything that a program could do with it. An input chooses a sound image and
// edits it; whether the checksums are made right again is the input's choice too.
//
// Ends the process where something happens that may not: a request outside the device, a result that is no error of
// lunar.h, more requests than any sound volume needs.
void use_damaged_image(const std::uint8_t* data, std::size_t size);

// Any text as SQL, on a small volume.
//
// Two bytes say how much memory statements have and how often what is prepared runs; the rest is the text: statements
// one after another, on tables that are there. Every result is one of lunar.h's, errors lie within the text, statements
// end, and lunar_check finds nothing afterwards. What does not hold aborts.
void run_sql(const std::uint8_t* data, std::size_t size);

}  // namespace lunar_fuzz
