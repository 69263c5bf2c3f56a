#include "command_line.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

namespace eco {
namespace {

// open takes the lowest free descriptor. The access modes make a read of 0 and a write to 1 fail.
void occupy_closed_descriptors() {
  for (const auto& [descriptor, access] :
       {std::pair{STDIN_FILENO, O_WRONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_WRONLY}})
    if (fcntl(descriptor, F_GETFD) < 0) (void)open("/dev/null", access);
}

void complain(std::string_view name, std::string_view message) { print_error(fmt::format("{}: {}\n", name, message)); }

bool flush_standard_output() {
  std::cout.flush();
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto unknown = app.remaining();
  if (dynamic_cast<const CLI::RequiredError*>(&error) == nullptr || unknown.empty() || !app.get_subcommands().empty())
    return error.what();
  if (unknown.front().starts_with('-')) return "unknown option " + unknown.front();
  std::string commands;
  for (const auto* command : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    commands += (commands.empty() ? "" : ", ") + command->get_name();
  return fmt::format("unknown command {}; expected one of {}", unknown.front(), commands);
}

CLI::Validator checked(bool (*accepts)(double), const char* expected) {
  return CLI::Validator(
      [accepts, expected](const std::string& text) {
        double value = 0;
        const bool is_number = CLI::detail::lexical_cast(text, value) && std::isfinite(value);
        return is_number && accepts(value) ? std::string() : fmt::format("expected {}, found {}", expected, text);
      },
      "");
}

}  // namespace

int run_program(std::string_view name, const std::function<int()>& work) {
  occupy_closed_descriptors();
  try {
    if (const int code = work()) return code;
  } catch (const std::exception& error) {
    complain(name, error.what());
    return exit_failed;
  }
  if (flush_standard_output()) return 0;
  complain(name, fmt::format("standard output: {}", std::strerror(errno)));
  return exit_failed;
}

std::optional<int> parse_arguments(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    complain(app.get_name(), usage_error(app, error) + "; see --help");
    return exit_usage;
  }
}

void print_error(std::string_view text) { (void)std::fwrite(text.data(), 1, text.size(), stderr); }

const CLI::Validator& positive_number() {
  static const auto validator = checked([](double value) { return value > 0; }, "a number above 0");
  return validator;
}

const CLI::Validator& number_from_zero() {
  static const auto validator = checked([](double value) { return value >= 0; }, "a number of at least 0");
  return validator;
}

}  // namespace eco
