// Reads a program's settings from TOML:
//
//   worker = "10.0.0.2:7070"           # one worker, without a federation; or
//   node = "unix:/run/ecod/node.sock"  # the ecod of this server decides
//   token = ""                         # of the one worker
//   shared_directory = ""              # databases below it are visible to workers (NFS)
//   same_code = []                     # own merge operators, filters, ... whose code all workers have
//   place_timeout_ms = 20              # limit for ecod's answer
//   heartbeat_s = 3
//   standstill_s = 10
//   job_s_max = 600
//   [tls]
//   ca = "ca.pem"
//   certificate = "server.pem"
//   key = "server.key"
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "eco.h"

namespace eco {

// Throws std::runtime_error "FILE:LINE: KEY: what is wrong", also for an unknown key. warnings: receives obsolete keys,
// in the same form.
[[nodiscard]] Settings read_settings(const std::filesystem::path& file, std::vector<std::string>& warnings);

}  // namespace eco
