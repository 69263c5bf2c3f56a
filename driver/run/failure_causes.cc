#include "failure_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "system/one_line.h"

namespace edgejoule::driver {
namespace {

constexpr std::string_view other_causes = "other causes";

std::string without_digits(std::string_view message) {
  std::string text;
  for (const char letter : message) {
    if (std::isdigit(static_cast<unsigned char>(letter)) == 0) text += letter;
  }
  return text;
}

}  // namespace

void FailureCauses::add(Operation operation, Status status, std::string_view message, std::uint64_t count) {
  Key key{operation, status, without_digits(message)};
  auto found = causes_.find(key);
  if (found == causes_.end() && causes_.size() >= causes_max) {
    message = other_causes;
    key = {operation, status, std::string(message)};
    found = causes_.find(key);
  }
  if (found == causes_.end()) {
    const auto line = message.empty() ? std::string("the database gave no reason") : one_line(message);
    found = causes_.emplace(std::move(key), FailureCause{operation, status, 0, line}).first;
  }
  found->second.count += count;
}

void FailureCauses::add(const FailureCauses& other) {
  for (const auto& [key, cause] : other.causes_) add(cause.operation, cause.status, cause.message, cause.count);
}

std::vector<FailureCause> FailureCauses::commonest_first() const {
  std::vector<FailureCause> all;
  for (const auto& [key, cause] : causes_) all.push_back(cause);
  std::ranges::stable_sort(all, std::ranges::greater{}, &FailureCause::count);
  return all;
}

std::string failures_by_status(const std::vector<FailureCause>& causes) {
  std::map<std::pair<Operation, Status>, std::uint64_t> counts;
  for (const auto& cause : causes) counts[{cause.operation, cause.status}] += cause.count;
  std::string text;
  for (const auto& [what, count] : counts) {
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", name_of(what.first), name_of(what.second), count);
  }
  return text;
}

}  // namespace edgejoule::driver
