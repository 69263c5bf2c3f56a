// The command line of edgejoule-supervisor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace edgejoule::supervisor {

struct Options {
  int report_fd = -1;
  std::int64_t repeat = 1;                    // number of repetitions; ignored if repeat_for_ns is set
  std::optional<std::int64_t> repeat_for_ns;  // repetitions begin until this time has passed
  bool keep = false;                          // descendants continue after the command's exit
  bool ignore_failure = false;                // a non-zero exit code does not end the repetitions
  std::optional<std::string> marks;           // FIFO that delivers phase marks
  char** command = nullptr;                   // argv of the command, terminated by nullptr

  bool help = false;
  bool version = false;
};

extern const char* const usage;

// Throws std::invalid_argument with a message for the user.
[[nodiscard]] Options parse_options(int argc, char** argv);

}  // namespace edgejoule::supervisor
