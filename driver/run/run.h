// Performs load and run: opens the database, drives it, waits until it has settled, reports.
#pragma once

#include "event_log.h"
#include "invocation.h"

namespace edgejoule::driver {

// Writes all events except the error event, and YCSB's report. Throws RunFailure, UsageError.
void carry_out(const Invocation& invocation, EventLog& events);

}  // namespace edgejoule::driver
