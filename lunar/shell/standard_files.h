// Standard input, output and error.
#pragma once

#include <string_view>

namespace shell {

// Occupies each closed descriptor of 0, 1 and 2, so that no image gets its number and receives the program's output.
// Using standard input or output remains an error; what is written to a closed standard error is dropped.
void occupy_closed_descriptors();

// Writes what stdout and std::cout buffer. False: standard output could not be written.
[[nodiscard]] bool flush_standard_output();

// Prints on standard error. Ignores write errors: a closed terminal must not end a run.
void print_error(std::string_view text);

}  // namespace shell
