// One compaction in a process of its own: RocksDB crashes, leaks or hangs without its server.
#pragma once

#include <string>

namespace eco {

// Runs the job that the socket `fd` tells, with outputs in the folder `scratch`, and answers there. data_fd: its data
// connection; negative: it has none. Returns the process's exit code; does not return when the primary is gone.
[[nodiscard]] int run_job(int fd, int data_fd, const std::string& scratch);

}  // namespace eco
