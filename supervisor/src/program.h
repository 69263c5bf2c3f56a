// Finds the program file of a command.
#pragma once

#include <stdexcept>
#include <string>

namespace edgejoule::supervisor {

// The command cannot be started. `exit_code` as in a shell: 127 not found, 126 not executable.
struct NotStarted : std::runtime_error {
  NotStarted(const std::string& message, int code) : std::runtime_error(message), exit_code(code) {}
  int exit_code;
};

// The file that `name` runs: `name` itself if it contains a slash, otherwise the first executable file of that name on
// `path` (folders separated by colons). Throws NotStarted.
[[nodiscard]] std::string find_program(const std::string& name, const char* path);

// The error after execve has failed.
[[nodiscard]] NotStarted exec_failure(const std::string& file, int error);

}  // namespace edgejoule::supervisor
