// A value, or the reason why it is missing.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace eco {

struct Error {
  std::string what;  // a sentence, without a full stop
};

struct Done {};

template <typename Value = Done>
class [[nodiscard]] Result {
 public:
  Result(Value value) : content_(std::move(value)) {}
  Result(Error error) : content_(std::move(error)) {}

  [[nodiscard]] explicit operator bool() const { return content_.index() == 0; }
  [[nodiscard]] const Value& operator*() const { return std::get<0>(content_); }
  [[nodiscard]] const Value* operator->() const { return &std::get<0>(content_); }
  [[nodiscard]] const std::string& error() const { return std::get<1>(content_).what; }

 private:
  std::variant<Value, Error> content_;
};

}  // namespace eco
