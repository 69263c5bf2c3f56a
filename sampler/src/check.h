// Assertions for a programmer's mistakes, in every build. A failed one prints the values and ends the process, since a
// wrong reading is worse than none. Errors of files and pipes are handled and never asserted.
//
//   SAMPLER_CHECK(readings.size() == values(), readings.size(), values());  // values: whole numbers
#pragma once

#include <cstdio>
#include <cstdlib>

namespace edgejoule::sampler {

// names: the source text of the values.
template <typename... Values>
[[noreturn, gnu::cold, gnu::noinline]] void fail_check(const char* file, int line, const char* condition,
                                                       const char* names, Values... values) {
  std::fprintf(stderr, "edgejoule-sampler: internal error: %s:%d: assertion failed: %s; %s =", file, line, condition,
               names);
  (std::fprintf(stderr, " %lld", static_cast<long long>(values)), ...);
  std::fputs("; the process is aborted\n", stderr);
  std::abort();
}

}  // namespace edgejoule::sampler

// The file name without its folder, if the compiler supports it, so that the program does not contain the build's path.
#ifdef __FILE_NAME__
#define SAMPLER_CHECK_FILE __FILE_NAME__
#else
#define SAMPLER_CHECK_FILE __FILE__
#endif

#define SAMPLER_CHECK(condition, ...) \
  ((condition)                        \
       ? static_cast<void>(0)         \
       : ::edgejoule::sampler::fail_check(SAMPLER_CHECK_FILE, __LINE__, #condition, #__VA_ARGS__, __VA_ARGS__))
