// Assertions. A mistake in eco, not in its input, throws Mistake: the entries that RocksDB calls catch it,
// and from then on every job is compacted at home.
//
//   ECO_CHECK(decision.target < servers.size(), decision.target, servers.size());
//
// Values after the condition are part of the message. A structure has check_invariants() const; where debug_checks is
// set, its mutations call it.
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace eco {

#ifdef NDEBUG
inline constexpr bool debug_checks = false;
#else
inline constexpr bool debug_checks = true;
#endif

class Mistake : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace checks {

[[nodiscard]] std::string text_of(double value);

template <typename Value>
[[nodiscard]] std::string shown(const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return std::to_string(static_cast<std::underlying_type_t<Value>>(value));
  } else if constexpr (std::is_floating_point_v<Value>) {
    return text_of(value);
  } else if constexpr (std::is_integral_v<Value>) {
    return std::to_string(value);
  } else {
    return '"' + std::string(value) + '"';
  }
}

// names: of the values, as they are in the source.
[[noreturn]] void throw_mistake(const char* file, int line, const char* condition, const char* names,
                                std::initializer_list<std::string> values);

template <typename... Values>
[[noreturn, gnu::cold, gnu::noinline]] void fail(const char* file, int line, const char* condition, const char* names,
                                                 const Values&... values) {
  throw_mistake(file, line, condition, names, {shown(values)...});
}

}  // namespace checks
}  // namespace eco

// The name without its folder, where the compiler has it: a build's folder is nobody's concern.
#ifdef __FILE_NAME__
#define ECO_CHECK_FILE __FILE_NAME__
#else
#define ECO_CHECK_FILE __FILE__
#endif

#define ECO_CHECK(condition, ...) \
  ((condition)                    \
       ? static_cast<void>(0)     \
       : ::eco::checks::fail(ECO_CHECK_FILE, __LINE__, #condition, "" #__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__))
