// Assertions for a programmer's mistakes. They end the process, since a wrong figure is worse than no figure. Errors
// from outside (a user's input, a database, a full disk) are handled and never asserted.
//
//   EJ_CHECK(count <= most, count, most);  // in every build
//   EJ_DCHECK(begin <= end, begin, end);   // in debug and sanitizer builds: too costly between two operations
//
// The values after the condition are printed if it is false. A data structure has check_invariants() const, which
// checks it as a whole. If debug_checks is set, each mutation calls it.
#pragma once

#include <initializer_list>
#include <string>
#include <type_traits>

namespace edgejoule::driver {

#if !defined(NDEBUG) || defined(EDGEJOULE_SANITIZED)
inline constexpr bool debug_checks = true;
#else
inline constexpr bool debug_checks = false;
#endif

namespace checks {

[[nodiscard]] std::string text_of(double value);

template <typename Value>
[[nodiscard]] std::string shown(const Value& value) {
  if constexpr (std::is_same_v<Value, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<Value>) {
    return std::to_string(static_cast<std::underlying_type_t<Value>>(value));
  } else if constexpr (std::is_floating_point_v<Value>) {
    return text_of(value);
  } else if constexpr (std::is_integral_v<Value>) {
    return std::to_string(value);
  } else {
    return '"' + std::string(value) + '"';
  }
}

// Writes one line to standard error and aborts. names: the source text of the values.
[[noreturn]] void abort_with(const char* file, int line, const char* condition, const char* names,
                             std::initializer_list<std::string> values);

template <typename... Values>
[[noreturn, gnu::cold, gnu::noinline]] void fail(const char* file, int line, const char* condition, const char* names,
                                                 const Values&... values) {
  abort_with(file, line, condition, names, {shown(values)...});
}

}  // namespace checks
}  // namespace edgejoule::driver

// The file name without its folder, if the compiler supports it, so that the program does not contain the build's path.
#ifdef __FILE_NAME__
#define EJ_CHECK_FILE __FILE_NAME__
#else
#define EJ_CHECK_FILE __FILE__
#endif

#define EJ_CHECK(condition, ...)                                                        \
  ((condition) ? static_cast<void>(0)                                                   \
               : ::edgejoule::driver::checks::fail(EJ_CHECK_FILE, __LINE__, #condition, \
                                                   "" #__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__))

#define EJ_DCHECK(condition, ...) \
  (::edgejoule::driver::debug_checks ? EJ_CHECK(condition __VA_OPT__(, ) __VA_ARGS__) : static_cast<void>(0))
