#include "check.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace edgejoule::driver::checks {

std::string text_of(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.17g", value);
  return text.data();
}

void abort_with(const char* file, int line, const char* condition, const char* names,
                std::initializer_list<std::string> values) {
  std::string text = "\nedgejoule-driver: internal error: " + std::string(file) + ":" + std::to_string(line) +
                     ": assertion failed: " + condition;
  if (values.size() > 0) text += "; " + std::string(names) + " =";
  const char* separator = " ";
  for (const auto& value : values) {
    text += separator + value;
    separator = ", ";
  }
  text += "; the process is aborted\n";
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  std::abort();
}

}  // namespace edgejoule::driver::checks
