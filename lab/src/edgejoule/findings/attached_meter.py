"""A recording that was attached to runs (`import --attach`) and contradicts their own joules, which the report has."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from edgejoule.findings.text import count, number, ratio
from edgejoule.meters.base import Method
from edgejoule.store import Run

DISAGREE = "meters disagree"  # begins the flag of a run whose meters cannot both be right


def attached_caveats(runs: Sequence[Run]) -> list[str]:
    """Returns a sentence on the runs whose attached meter contradicts their own joules, and what to do about it."""
    pairs = {run.run_index: pair for run in runs if _is_contradicted(run) and (pair := _joules(run)) is not None}
    if not pairs:
        return []
    attached_j, own_j = (statistics.fmean(values) for values in zip(*pairs.values(), strict=True))
    methods = {r.method for run in runs for r in run.responses if r.name == "energy_j"}
    own = "the model" if methods == {Method.MODELLED} else "the run's own meter"
    where = f" in run {min(pairs) + 1}" if len(pairs) == 1 else f", the mean of {count(len(pairs), 'run')}"
    times = f" (ratio {ratio(attached_j / own_j)})" if own_j > 0 and attached_j > 0 else ""
    return [
        f"The attached meter gives {number(attached_j)} J, {own} {number(own_j)} J{times}{where}; their uncertainties "
        "do not explain this.",
        f"The joules of this report are of {own}. To use those of the attached meter, import its recording of all runs "
        "with --primary.",
    ]


def _is_contradicted(run: Run) -> bool:
    imported = run.facts.get("imported")
    return imported is not None and not imported["primary"] and any(f.startswith(DISAGREE) for f in imported["flags"])


def _joules(run: Run) -> tuple[float, float] | None:
    """Returns the energy of the settled interval by the attached meter and by the run's own; None if one has none."""
    attached_j = run.facts["metering"]["meters"][-1]["energy"]["settled_j"]  # the attached one is the last
    own_j = run.value("energy_j")
    return None if own_j is None or attached_j is None else (attached_j, own_j * run.repeated)
