// From what the user typed to what is done: checked against the adapters, the workload and each other. Throws
// UsageError.
#pragma once

#include "arguments.h"
#include "contract/adapter.h"
#include "run/invocation.h"

namespace edgejoule::driver {

[[nodiscard]] const AdapterInfo& adapter_of(const Properties& properties);
[[nodiscard]] Durability durability_of(const Properties& properties);
[[nodiscard]] unsigned threads_of(const Properties& properties);
[[nodiscard]] std::uint64_t seed_of(const Arguments& arguments);  // drawn when none was given

// An output must not overwrite an input or another output.
void check_outputs(const Arguments& arguments, const Properties& properties);

// Of load and run. Notes for the user go to standard error.
[[nodiscard]] Invocation checked(const Arguments& arguments, Properties properties);

}  // namespace edgejoule::driver
