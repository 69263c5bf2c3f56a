// What ends a command, in words for the person at the terminal.
#pragma once

#include <stdexcept>
#include <string>

namespace shell {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Ctrl-C. The text says what became of the work.
struct Interrupted : Failure {
  using Failure::Failure;
};
// The program that reads the output has ended: nothing is to be said.
struct OutputClosed : std::exception {};

enum Exit { succeeded = 0, failed = 1, asked_wrongly = 2, interrupted = 130, output_closed = 141 };

// The error of the library in words, and what to do about it.
std::string advice(int error);

}  // namespace shell
