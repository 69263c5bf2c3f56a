// One ecod: the node, its federation, its sockets and its beat, from start to a clean end.
#pragma once

#include <filesystem>
#include <string>

#include "config.h"

namespace eco {

// Runs until SIGTERM or SIGINT; SIGHUP reads the [policy] section of `file` anew. Returns the exit code; throws
// std::runtime_error where it cannot start. All threads but the caller's begin after the signals are blocked.
[[nodiscard]] int run_daemon(Config config, const std::filesystem::path& file);

}  // namespace eco
