#include "options.h"

#include <getopt.h>

#include <charconv>
#include <cmath>
#include <stdexcept>
#include <string_view>

namespace edgejoule::supervisor {
namespace {

constexpr double repeat_for_s_max = 1e6;
constexpr int first_free_fd = 3;  // the command uses 0, 1 and 2

enum Option : int { report_fd, repeat, repeat_for, keep, ignore_failure, marks, help, version };

constexpr option known[] = {
    {"report-fd", required_argument, nullptr, report_fd},
    {"repeat", required_argument, nullptr, repeat},
    {"repeat-for", required_argument, nullptr, repeat_for},
    {"keep", no_argument, nullptr, keep},
    {"ignore-failure", no_argument, nullptr, ignore_failure},
    {"marks", required_argument, nullptr, marks},
    {"help", no_argument, nullptr, help},
    {"version", no_argument, nullptr, version},
    {nullptr, 0, nullptr, 0},
};

template <typename Number>
Number number(const char* name, std::string_view text, Number low, Number high, const char* expected) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= low && value <= high)) {
    throw std::invalid_argument(std::string(name) + " is '" + std::string(text) + "', must be " + expected);
  }
  return value;
}

void check(const Options& options, bool repeat_given) {
  if (options.command == nullptr) throw std::invalid_argument("a command is missing");
  if (options.report_fd < first_free_fd) throw std::invalid_argument("--report-fd is missing");
  if (repeat_given && options.repeat_for_ns)
    throw std::invalid_argument("--repeat and --repeat-for exclude each other");
  if (options.keep && (options.repeat != 1 || options.repeat_for_ns)) {
    throw std::invalid_argument("--keep runs the command once: leave out --repeat and --repeat-for");
  }
}

}  // namespace

const char* const usage = R"(Usage: edgejoule-supervisor --report-fd N [OPTIONS] -- COMMAND [ARGUMENT]...

Runs a command, measures its process tree and ends every process that it leaves behind. The command inherits the
environment, the working directory and the descriptors 0, 1 and 2. Reports are JSON lines on descriptor N (format:
supervisor/README.md). SIGINT, SIGTERM, SIGHUP and the death of the parent end the command and all its descendants.

  --repeat N           run the command N times, one run after another (default: 1)
  --repeat-for SECONDS start runs until this time has passed; at least one run
  --ignore-failure     continue after a non-zero exit code (a death by signal always stops the repetitions)
  --keep               let descendants run after the command's exit until standard input closes; the command then
                       reads from /dev/null
  --marks FIFO         record each line that arrives on this FIFO, with its time, as the start of a phase
  --help               print this text
  --version            print the version

Example: edgejoule-supervisor --report-fd 3 --repeat 10 -- gzip -k big.txt 3>report.jsonl
)";

Options parse_options(int argc, char** argv) {
  Options options;
  bool repeat_given = false;
  ::opterr = 0;
  ::optind = 1;
  for (;;) {
    const int at = ::optind;
    const int found = ::getopt_long(argc, argv, "+:", known, nullptr);
    if (found == -1) break;
    switch (found) {
      case report_fd:
        options.report_fd = number("--report-fd", ::optarg, first_free_fd, 1 << 20, "a descriptor, 3 or more");
        break;
      case repeat:
        options.repeat = number<std::int64_t>("--repeat", ::optarg, 1, 1'000'000'000, "a whole number, 1 or more");
        repeat_given = true;
        break;
      case repeat_for:
        options.repeat_for_ns = std::llround(
            number("--repeat-for", ::optarg, 0.0, repeat_for_s_max, "a number of seconds, 0 to 1000000") * 1e9);
        break;
      case keep:
        options.keep = true;
        break;
      case ignore_failure:
        options.ignore_failure = true;
        break;
      case marks:
        options.marks = ::optarg;
        break;
      case help:
        options.help = true;
        return options;
      case version:
        options.version = true;
        return options;
      case ':':
        throw std::invalid_argument(std::string(argv[at]) + " needs a value");
      default:
        throw std::invalid_argument(std::string(argv[at]) + " is not an option");
    }
  }
  if (::optind < argc) options.command = argv + ::optind;
  check(options, repeat_given);
  return options;
}

}  // namespace edgejoule::supervisor
