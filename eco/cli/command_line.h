// What the command lines of eco's programs have in common: usage errors, messages, standard files.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace eco {

enum ExitCode : int { exit_failed = 1, exit_usage = 2 };

// Calls `work` and returns its exit code. An exception or output that cannot be written is a message on standard error
// and exit code 1. Closed standard files are occupied first, so that no file of the program gets their numbers.
[[nodiscard]] int run_program(std::string_view name, const std::function<int()>& work);

// Parses the arguments. Returns the exit code if the program ends here: 0 after --help or --version, 2 after a message
// on wrong usage. The app must have a name.
[[nodiscard]] std::optional<int> parse_arguments(CLI::App& app, int argc, const char* const* argv);

// Prints on standard error. Ignores write errors: a closed terminal must not end a program.
void print_error(std::string_view text);

// CLI11's own checks of these names accept nan and inf, and have the largest double in their messages.
const CLI::Validator& positive_number();
const CLI::Validator& number_from_zero();

}  // namespace eco
