// The result of a check.
#pragma once

#include <string>
#include <vector>

namespace bdtest {

enum class Verdict { good, note, bad };  // note: lunar works nevertheless

struct Finding {
  Verdict verdict;
  std::string what;
};

using Findings = std::vector<Finding>;

inline bool any_bad(const Findings& findings) {
  for (const auto& finding : findings) {
    if (finding.verdict == Verdict::bad) return true;
  }
  return false;
}

}  // namespace bdtest
