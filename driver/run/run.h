// Carries out load and run: opens the database, drives it, waits until it has settled, reports.
#pragma once

#include "event_log.h"
#include "invocation.h"

namespace edgejoule::driver {

// Writes all events but the error event, and the YCSB text. Throws RunFailure, UsageError.
void carry_out(const Invocation& invocation, EventLog& events);

}  // namespace edgejoule::driver
