"""Computes how long a run must be for its meter, and lengthens it.

A phase that ends by time gets more time. A fixed number of operations that ends too soon is executed k times back to
back, each time on a freshly restored database; the k executions form one replication. A run that allows neither is
refused.
"""

from __future__ import annotations

import dataclasses
import math

from edgejoule.databases.system_under_test import REPETITIONS_MAX, system_of
from edgejoule.errors import DatabaseError
from edgejoule.experiment.plan import PlannedRun
from edgejoule.meters.base import Meter

_POLLS_MIN = 10  # for a meter that does not state its shortest run


def shortest_s(meter: Meter) -> float:
    """Returns the shortest run whose energy this meter can measure, in s: the meter's own value, else ten poll
    intervals.
    """
    said: float | None = getattr(meter, "run_s_min", None)
    return said if said is not None else _POLLS_MIN * meter.poll_interval_s


def first_reading_s(meter: Meter) -> float:
    """Returns how long an opened streaming device may take to its first reading, and after its last one, in s: two of
    its steps. A polled device answers at once: 0.
    """
    return 2 * max((channel.interval_s or 0.0 for channel in meter.channels()), default=0.0)


def lengthened(run: PlannedRun, least_s: float) -> PlannedRun:
    """Returns the run with its time limit raised to least_s if it ends by time; else the run unchanged."""
    limit_s = run.properties.get("maxexecutiontime")
    if not limit_s or run.properties.get("operationcount") or float(limit_s) >= least_s:
        return run
    return dataclasses.replace(run, properties={**run.properties, "maxexecutiontime": math.ceil(least_s)})


def executions_needed(run: PlannedRun, settled_s: float, least_s: float) -> int:
    """Returns how many executions of this length form a replication. Raises DatabaseError if only one is allowed."""
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
