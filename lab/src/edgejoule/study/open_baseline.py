"""The open but quiet database before and after a run: the length of these windows and what the driver reports about
them.

The driver stays quiet for the databases that it opens itself (--quiet-before-s, --quiet-after-s). If several executions
form a run, the first has the window before, the last the window after. A database with its own process only needs
another source of the same `QuietWindows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from edgejoule.databases.driver import Event
from edgejoule.dictionary.responses import BASELINE_NET, BASELINE_POWER
from edgejoule.errors import UsageError
from edgejoule.experiment.model import Spec, Timing
from edgejoule.meters.base import Method
from edgejoule.study.run_energy import QuietWindows


@dataclass(frozen=True)
class OpenDatabase:
    """The quiet windows of the open database, their facts for the run record other than power, and their flags."""

    windows: QuietWindows
    facts: dict[str, Any] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


def quiet_s(timing: Timing, method: Method) -> float:
    """Returns the length of each window in s: the experiment's value, else idle_s, and 0 for modelled joules."""
    if timing.quiet_s is not None:
        return timing.quiet_s
    return 0.0 if method is Method.MODELLED else timing.idle_s


def check_responses(spec: Spec, method: Method) -> None:
    """Refuses a declared response that no run of this study could have. Raises UsageError."""
    if quiet_s(spec.timing, method) > 0:
        return
    for name in {BASELINE_POWER["quiet"], BASELINE_NET["quiet"]} & set(spec.analysis.responses):
        why = _why_none(spec.timing, method)
        raise UsageError(
            f"analysis.responses: {name} would be missing in every run, {why}; set timing.quiet_s in seconds"
        )


def open_database(events: Sequence[Event], timing: Timing, method: Method) -> OpenDatabase:
    """Reads the windows from the driver's events of all executions of a run."""
    ends = {event["place"]: event for event in events if event["event"] == "quiet_end"}
    if not {"before", "after"} <= set(ends):
        return OpenDatabase(QuietWindows(why_none=_why_none(timing, method)))
    before, after = ((ends[p]["quiet_start_ns"], ends[p]["monotonic_ns"]) for p in ("before", "after"))
    span_ns = before[1] - before[0] + after[1] - after[0]
    cpu_ns = sum(end["cpu_ns"] for end in ends.values())
    windows = QuietWindows(before, after)
    return OpenDatabase(windows, {"core_share": round(cpu_ns / span_ns, 5)}, tuple(_doubts(events, ends, windows)))


def _why_none(timing: Timing, method: Method) -> str:
    if timing.quiet_s is None and method is Method.MODELLED:
        return "no quiet window of the open database: modelled joules have one only where timing.quiet_s asks for it"
    return f"no quiet window of the open database: timing.{'idle' if timing.quiet_s is None else 'quiet'}_s is 0"


def _doubts(events: Sequence[Event], ends: dict[str, Event], windows: QuietWindows) -> list[str]:
    doubts = [] if ends["before"]["settled"] else ["the database had not settled before it was to stand quiet"]
    at_work = [e for e in events if e["event"] == "database" and _overlaps(e, windows)]
    if at_work:
        kinds = ", ".join(sorted({e["kind"] for e in at_work}))
        doubts.append(f"the database was at work ({kinds}) while it was to stand quiet")
    return doubts


def _overlaps(event: Event, windows: QuietWindows) -> bool:
    begin_ns, end_ns = event["monotonic_ns"], event["monotonic_ns"] + (event["duration_ns"] or 0)
    return any(begin_ns < t1 and end_ns > t0 for t0, t1 in (windows.before, windows.after))
