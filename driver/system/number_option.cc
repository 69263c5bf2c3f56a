#include "number_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <string>

#include "usage_error.h"

namespace edgejoule::driver {
namespace {

template <typename Number>
void only_numbers(CLI::Option& option, Number least, Number most, const char* kind) {
  option.transform(CLI::Validator(
      [name = option.get_name(), least, most, kind](std::string& text) {
        Number number{};
        const auto* const last = text.data() + text.size();
        const auto [end, failure] = std::from_chars(text.data(), last, number);
        if (failure != std::errc{} || end != last || !(number >= least && number <= most)) {
          throw UsageError(
              fmt::format("{} {}: expected {} from {} to {}", name, text.empty() ? "\"\"" : text, kind, least, most));
        }
        text = fmt::format("{}", number);
        return std::string();
      },
      ""));
}

}  // namespace

void only_whole_numbers(CLI::Option& option, std::uint64_t least, std::uint64_t most) {
  only_numbers(option, least, most, "a whole number");
}

void only_real_numbers(CLI::Option& option, double least, double most) {
  only_numbers(option, least, most, "a number");
}

}  // namespace edgejoule::driver
