#include "image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lunar_fuzz::use_damaged_image(data, size);
  return 0;
}
