// What is done with a damaged image: everything that a program could do with it. An input chooses a sound image and
// edits it; whether the checksums are made right again is the input's choice too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lunar_fuzz {

// Ends the process where something happens that may not: a request outside the device, a result that is no error of
// lunar.h, more requests than any sound volume needs.
void use_damaged_image(const std::uint8_t* data, std::size_t size);

}  // namespace lunar_fuzz
