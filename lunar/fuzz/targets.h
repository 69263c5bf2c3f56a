// The fuzz targets. Each aborts if a check fails.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lunar_fuzz {

// Any sequence of calls, beside a model of what the tables hold. The input is the program: tables of both indexes,
// rings, transactions, cursors, every mode, mounts, power cuts, and a device that fails now and then.
//
// Aborts if a result differs from the model or from lunar.h.
void run_calls(const std::uint8_t* data, std::size_t size);

// Uses a damaged image in every way that a program can. The input selects a sound image, edits it, and decides whether
// the checksums are repaired.
//
// Aborts on a request outside the device, a result that is not an error of lunar.h, or more requests than any sound
// volume needs.
void use_damaged_image(const std::uint8_t* data, std::size_t size);

// Any text as SQL, on a small volume.
//
// Two bytes set the memory of statements and how often a prepared one runs. The rest is the text: statements one after
// another on existing tables. Aborts unless every result is one of lunar.h's, error positions lie within the text,
// statements end, and lunar_check reports nothing afterwards.
void run_sql(const std::uint8_t* data, std::size_t size);

}  // namespace lunar_fuzz
