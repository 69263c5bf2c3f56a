"""How long a run must be for the meter that reads it, and what makes it so long.

A phase that ends by time is lengthened. A fixed number of operations that is over too soon is executed k times back to
back, each execution on a freshly restored database, and the k form one replication. What allows neither is refused.
"""

from __future__ import annotations

import dataclasses
import math

from edgejoule.databases.system_under_test import REPETITIONS_MAX, system_of
from edgejoule.errors import DatabaseError
from edgejoule.experiment.plan import PlannedRun
from edgejoule.meters.base import Meter

_POLLS_MIN = 10  # of a meter that does not say itself how long a run must be


def shortest_s(meter: Meter) -> float:
    """The shortest run whose energy this meter can tell, in s: as the meter says, else ten of its polls."""
    said: float | None = getattr(meter, "run_s_min", None)
    return said if said is not None else _POLLS_MIN * meter.poll_interval_s


def first_reading_s(meter: Meter) -> float:
    """How long an opened device that streams may take to its first reading, and from its last: two of its steps. One
    that is polled answers when sampling begins and when it ends: 0.
    """
    return 2 * max((channel.interval_s or 0.0 for channel in meter.channels()), default=0.0)


def lengthened(run: PlannedRun, least_s: float) -> PlannedRun:
    """The run with its time limit raised to least_s, where it ends by time; else unchanged."""
    limit_s = run.properties.get("maxexecutiontime")
    if not limit_s or run.properties.get("operationcount") or float(limit_s) >= least_s:
        return run
    return dataclasses.replace(run, properties={**run.properties, "maxexecutiontime": math.ceil(least_s)})


def executions_needed(run: PlannedRun, settled_s: float, least_s: float) -> int:
    """How many executions as long as this one form a replication. Raises DatabaseError where several may not be."""
    if settled_s >= least_s:
        return 1
    system = system_of(run)
    count = math.ceil(least_s / settled_s) if settled_s > 0 else REPETITIONS_MAX + 1
    if why := system.why_not_repeated(count):
        way_out = system.way_out_of_short_runs(least_s)
        raise DatabaseError(
            f"the run was over in {settled_s:.3g} s, and this meter needs {least_s:.3g} s; {why}: {way_out}"
        )
    return count
