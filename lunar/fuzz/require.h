// What a fuzzer requires.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "lunar.h"

namespace lunar_fuzz {

// What does not hold ends the process: a fuzzer's finding.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// The result is an error of lunar.h or none.
inline int known(int error) {
  if (error > 0 || error < LUNAR_E_INDEX_FULL) std::fprintf(stderr, "%d: ", error);
  require(error <= 0 && error >= LUNAR_E_INDEX_FULL, "a result is one of lunar.h's");
  return error;
}

}  // namespace lunar_fuzz
