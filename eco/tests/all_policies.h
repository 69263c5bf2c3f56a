// The names of all policies, for tests of what holds for each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy.h"

namespace eco::test {

// server: of a policy that names one. Empty: without such policies.
inline std::vector<std::string> all_policies(std::string_view server = {}) {
  constexpr std::string_view placeholder = "SERVER";
  std::vector<std::string> names;
  for (const std::string_view name : policy_names)
    if (!name.ends_with(placeholder))
      names.emplace_back(name);
    else if (!server.empty())
      names.push_back(std::string(name.substr(0, name.size() - placeholder.size())).append(server));
  return names;
}

}  // namespace eco::test
