// What the process has taken so far.
#pragma once

#include <cstdint>

namespace lunar_bench {

// Read and write calls to files: proc(5), io. The call itself makes at most two reads.
struct Calls {
  std::uint64_t reads = 0, writes = 0, bytes_written = 0;
};
Calls calls_of_process();

double cpu_s();

}  // namespace lunar_bench
