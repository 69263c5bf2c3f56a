#include "calls.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lunar_fuzz::run_calls(data, size);
  return 0;
}
