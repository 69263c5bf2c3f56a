// A program's settings in TOML:
//
//   worker = "10.0.0.2:7070"           # one worker, without a federation; or
//   node = "unix:/run/ecod/node.sock"  # the ecod of this server decides
//   token = ""                         # of the one worker
//   shared_directory = ""              # databases below it are seen by workers, too (NFS)
//   same_code = []                     # own merge operators, filters, ... of which all workers have the same code
//   place_timeout_ms = 20              # of the ecod's answer
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

// Throws std::runtime_error, "FILE:LINE: KEY: what is wrong". An unknown key is an error.
// warnings: of keys that have no effect any more, in the same form.
[[nodiscard]] Settings read_settings(const std::filesystem::path& file, std::vector<std::string>& warnings);

}  // namespace eco
