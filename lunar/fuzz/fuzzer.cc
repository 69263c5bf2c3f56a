// A fuzzer of one target of targets.h, LUNAR_FUZZ_TARGET.
#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lunar_fuzz::LUNAR_FUZZ_TARGET(data, size);
  return 0;
}
