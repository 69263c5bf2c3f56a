// Prints schemas/policies.json, the policy names for other languages.
#include <fmt/format.h>

#include "policy.h"

int main() { fmt::print("{{\n  \"policies\": [\"{}\"]\n}}\n", fmt::join(eco::policy_names, "\", \"")); }
