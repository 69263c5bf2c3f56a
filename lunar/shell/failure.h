// An error that ends a command, with its message.
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

// Returns the text of the library's error, and the remedy.
std::string advice(int error);

}  // namespace shell
