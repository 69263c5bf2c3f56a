"""Makes the load of a run under the meter, and computes the responses of the load: those named load_ in the dictionary.

A load is measured as a run is: between two idle windows, to its last insert (active) and until settled. Its responses
are in the record of the run it was made for. The other runs on it have none, so that each load counts once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgejoule.databases.loads import PreparedDatabase
from edgejoule.databases.snapshots import data_bytes
from edgejoule.dictionary.responses import LOADED, load_name
from edgejoule.energy import Readings
from edgejoule.experiment.plan import PlannedRun
from edgejoule.findings.experiments import LOAD_FLAG
from edgejoule.store import Intervals, ResponseValue
from edgejoule.study.context import RunContext
from edgejoule.study.driver_figures import driver_responses
from edgejoule.study.executions import Execution, intervals_of, totals_of
from edgejoule.study.idle_windows import between_idle_windows
from edgejoule.study.metering import Metering, checked
from edgejoule.study.other_programs import Watch
from edgejoule.study.run_energy import Quiet, QuietWindows, energies

_NEVER_QUIET = QuietWindows(why_none="a load has no time without requests while the database is open")


@dataclass(frozen=True)
class MeasuredLoad:
    """The results of a load, for the record of its run. conditions: those flags that speak of the circumstances."""

    responses: Sequence[ResponseValue]
    flags: Sequence[str]
    conditions: Sequence[str]
    facts: Mapping[str, Any]


def measure_load(planned: PlannedRun, context: RunContext, metering: Metering) -> tuple[PreparedDatabase, MeasuredLoad]:
    """Loads the database of a run and measures it. Raises DatabaseError or StoreError.

    The readings are used here and not kept: those of the run replace them.
    """
    watch = Watch()
    hear = watch.hearing(lambda event: None)
    with metering.during(planned.index) as metered:
        prepared, idle = between_idle_windows(context, lambda: context.loads.prepare(planned, hear))
    load = prepared.load
    assert load is not None, "prepare() has made the load"
    execution = Execution.of(load.events)
    intervals, totals = intervals_of([execution]), totals_of([execution])
    if load.served:
        totals = dataclasses.replace(totals, data_bytes=data_bytes(prepared.path))
    others = dataclasses.replace(watch.result(), own_device=planned.file_system is not None)
    joules, flags = load_energies(metered.primary, intervals, idle, totals.operations)
    doubts = checked(metered, intervals)[1]
    conditions = [*metered.clocks.flags, *others.flags()]
    return prepared, MeasuredLoad(
        [*joules, *_of_load(driver_responses(totals, load.served))],
        [f"{LOAD_FLAG}{flag}" for flag in dict.fromkeys((*flags, *doubts, *others.flags()))],
        [f"{LOAD_FLAG}{condition}" for condition in conditions],
        {
            "intervals": dataclasses.asdict(intervals),
            "idle_windows_ns": [list(idle.before), list(idle.after)],
            "other_programs": others.facts(),
        },
    )


def load_energies(
    traces: Sequence[Readings], intervals: Intervals, idle: QuietWindows, records: int
) -> tuple[list[ResponseValue], list[str]]:
    """Returns the energies of a load and the flags about them. records: inserted."""
    result = energies(traces, intervals, Quiet(idle, _NEVER_QUIET), records)
    return _of_load(result.responses), result.flags


def _of_load(responses: Sequence[ResponseValue]) -> list[ResponseValue]:
    return [dataclasses.replace(each, name=load_name(each.name)) for each in responses if each.name in LOADED]
