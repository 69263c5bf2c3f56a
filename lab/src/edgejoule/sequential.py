"""Stopping early in the two forms that keep their promise, as declared before the data.

Stein: the spread of the first replications fixes how many are made in all, and with it a half width of every mean.
Alpha spending: the study may stop at declared looks, each at its own level, so that the chance of a false alarm over
all looks stays alpha. Every look is kept with the experiment. Sources: see stats.precision and stats.spending.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from edgejoule.errors import UsageError
from edgejoule.findings import Findings, find
from edgejoule.meters.base import Method
from edgejoule.responses import RESPONSES
from edgejoule.spec import Spec
from edgejoule.stats import looks as levels_of
from edgejoule.store import Experiment, Store

NOTE = "looks"  # heading of the looks among what an experiment keeps


@dataclass(frozen=True)
class Look:
    """What one look found. total: replications that the experiment has in the end, as far as this look decides."""

    look: int
    replications: int
    level: float | None
    decided: bool
    total: int
    words: str


def check(spec: Spec, method: Method) -> None:
    """Refuse what more runs cannot make better. Raises UsageError."""
    declared, first = spec.design.sequential, spec.analysis.responses[0]
    if declared and declared.kind == "stein" and method is Method.MODELLED and RESPONSES[first].is_energy:
        raise UsageError(
            f"design.sequential: {first} is modelled here, and its error is the model's, which no run makes smaller; "
            "name a response without energy first in analysis.responses, or measure"
        )


def look_due(spec: Spec, replications: int, noted: int) -> int | None:
    """The number of the look (from 1) that is due after so many replications, unless it was taken already."""
    declared = spec.design.sequential
    if declared is None:
        return None
    due = [declared.first] if declared.kind == "stein" else declared.looks
    at = next((i for i, runs in enumerate(due or (), 1) if runs == replications), None)
    return at if at is not None and at > noted else None


def take(store: Store, experiment: Experiment, look: int) -> Look:
    """Look at what is stored: decide how many replications there will be, and note it."""
    declared = experiment.spec.design.sequential
    assert declared is not None
    found = find(store, experiment, look=look)
    taken = _stein(found, experiment.spec) if declared.kind == "stein" else _spend(found, experiment.spec, look)
    earlier = list(experiment.environment.get(NOTE, []))
    store.note(experiment.id, NOTE, [*earlier, asdict(taken)])
    return taken


def looks_of(experiment: Experiment) -> list[Mapping[str, Any]]:
    """The looks that were taken, in order."""
    return list(experiment.environment.get(NOTE, []))


def _spend(found: Findings, spec: Spec, look: int) -> Look:
    declared = spec.design.sequential
    assert declared is not None
    plan = levels_of(declared.looks or (), alpha=spec.analysis.alpha, spending=declared.spending)
    first = found.responses[0] if found.responses else None
    decided = first is not None and bool(first.rankings) and all(k.decided for k in first.rankings if k.cells)
    last = look == len(plan.runs)
    runs, most, level = plan.runs[look - 1], plan.runs[-1], plan.level[look - 1]
    outcome = "is decided, so the study stops" if decided else "is not decided"
    after = "" if decided or last else f", so it goes on to {plan.runs[look]}"
    words = (
        f"look {look} of {len(plan.runs)}, after {runs} of {most} replications at level {level:.4g}: which "
        f"{found.subject} is best {outcome if not last or decided else 'stays open'}{after}"
    )
    return Look(look, runs, level, decided, runs if decided else most, words)


def _stein(found: Findings, spec: Spec) -> Look:
    declared = spec.design.sequential
    assert declared is not None
    assert declared.first is not None
    most = spec.design.replications
    parts = list(found.responses[0].parts) if found.responses else []
    promises = [p.analysis.precision.stein for p in parts if p.analysis and p.analysis.precision]
    label = found.responses[0].label if found.responses else RESPONSES[spec.analysis.responses[0]].label
    if not promises or len(promises) < len(parts):
        why = next((p.reason for p in parts if p.reason), "no spread could be told")
        words = f"after {declared.first} replications nothing tells the spread of {label} ({why}); all {most} are made"
        return Look(1, declared.first, None, False, most, words)
    needed = max(p.total for p in promises)
    words = f"the spread of the first {declared.first} replications asks for {needed} to know each mean of {label}"
    if needed > most:
        words += f" as well as declared; the design has {most}, so that precision is not promised"
    else:
        words += f" within a factor of {declared.precision:g} (95 %)"
    return Look(1, declared.first, None, needed <= most, min(needed, most), words)
