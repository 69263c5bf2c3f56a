// Checks the arguments against the adapters, the workload and each other. Throws UsageError.
#pragma once

#include "arguments.h"
#include "contract/adapter.h"
#include "run/invocation.h"

namespace edgejoule::driver {

[[nodiscard]] const AdapterInfo& adapter_of(const Properties& properties);
[[nodiscard]] Durability durability_of(const Properties& properties);
[[nodiscard]] unsigned threads_of(const Properties& properties);
[[nodiscard]] std::uint64_t seed_of(const Arguments& arguments);  // random if none was given

// An output must not overwrite an input or another output.
void check_outputs(const Arguments& arguments, const Properties& properties);

// Checks the arguments of load and run. Prints notes for the user on standard error.
[[nodiscard]] Invocation checked(const Arguments& arguments, Properties properties);

}  // namespace edgejoule::driver
