// Dot commands.
#pragma once

#include <string>

namespace shell {

class Session;

// Runs the command of this line, which begins with a dot. Throws Failure, Interrupted, OutputClosed.
void run_command(Session& session, const std::string& line);

// A line each, for .help and --help.
std::string command_help();

}  // namespace shell
