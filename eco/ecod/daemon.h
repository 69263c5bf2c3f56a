// Runs one ecod from start to clean end: the node, its federation, its sockets and its beat.
#pragma once

#include <filesystem>
#include <string>

#include "config.h"

namespace eco {

// Runs until SIGTERM or SIGINT; SIGHUP re-reads the [policy] section of `file`. Returns the exit code; throws
// std::runtime_error if it cannot start. Blocks the signals before it starts threads.
[[nodiscard]] int run_daemon(Config config, const std::filesystem::path& file);

}  // namespace eco
