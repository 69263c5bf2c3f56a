"""Early stopping in two forms that preserve their error guarantees, declared before the data.

Stein: the spread of the first replications fixes the total number, and with it the half width of every mean. A time
budget caps that number by the measured time of the blocks. If the budget does not hold the first stage, it alone fixes
the number, and the interval is Student's. Neither form uses the width of an interval.

Alpha spending: the study may stop at declared interim analyses, each at its own level, so that the probability of a
false alarm over all of them stays alpha. The experiment stores every interim analysis. Sources: see stats.precision and
stats.spending.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from edgejoule.dictionary.responses import is_energy, label_of, reported_responses
from edgejoule.errors import DataError, UsageError
from edgejoule.experiment.model import FEWEST, Spec
from edgejoule.findings import Findings, ResponseFinding, find
from edgejoule.findings.level_names import one_level
from edgejoule.meters.base import Method
from edgejoule.stats import Scale, Stein, blocks_within, stein
from edgejoule.stats import looks as levels_of
from edgejoule.store import Experiment, Run, Store

NOTE = "looks"  # key of the interim analyses among the experiment's notes
TOOK = "took_s"  # fact of a run under a budget: its time including preparation, s


@dataclass(frozen=True)
class InterimLook:
    """The result of one interim analysis. total: replications of the whole experiment, as far as decided so far.

    first_stage: replications whose spread is the error of every interval (Stein); None: all replications. precision: of
    each mean of the first response after `total` replications, by Stein's interval: a ratio on the log scale, a half
    width on the raw scale. capped: the budget allows fewer replications than the spread requires.
    """

    look: int
    replications: int
    level: float | None
    decided: bool
    total: int
    words: str
    first_stage: int | None = None
    precision: float | None = None
    capped: bool = False


def check(spec: Spec, method: Method) -> None:
    """Refuses a sequential design that more runs cannot improve. Raises UsageError."""
    declared = spec.design.sequential
    first = reported_responses(spec.analysis.responses, (), modelled=method is Method.MODELLED)[
        0
    ]  # the first response decides
    if declared and declared.kind == "stein" and method is Method.MODELLED and is_energy(first):
        raise UsageError(
            f"design.sequential: {first} is modelled here, and its error is the model's, which no run makes smaller; "
            "name a response without energy first in analysis.responses, or measure"
        )


def look_due(spec: Spec, replications: int, noted: int) -> int | None:
    """Returns the number (from 1) of the interim analysis due after so many replications; None if none is due or it was
    taken.
    """
    due = spec.design.sequential.stages if spec.design.sequential else ()
    at = next((i for i, runs in enumerate(due, 1) if runs == replications), None)
    return at if at is not None and at > noted else None


def take(store: Store, experiment: Experiment, look: int) -> InterimLook:
    """Analyses the stored runs, decides how many replications there will be, and stores the decision."""
    declared = experiment.spec.design.sequential
    assert declared is not None
    if declared.kind == "alpha-spending":
        taken = _spend(find(store, experiment, look=look), experiment.spec, look)
    elif look < len(declared.stages):
        taken = budget_look(experiment.spec, store.runs(experiment.id))
    else:
        result = find(store, experiment, look=look).responses
        taken = stein_look(experiment.spec, store.runs(experiment.id), result[0] if result else None, look)
    earlier = list(experiment.environment.get(NOTE, []))
    store.note(experiment.id, NOTE, [*earlier, asdict(taken)])
    return taken


def close(store: Store, experiment: Experiment) -> InterimLook | None:
    """Stores the reached precision of a study whose budget did not hold the first stage; returns None for every other
    study.
    """
    declared, looks = experiment.spec.design.sequential, looks_of(experiment)
    if declared is None or declared.budget_s is None or len(looks) != 1 or not looks[0]["decided"]:
        return None
    if not experiment.finished:
        return None
    first = find(store, experiment).responses[:1]
    cells = [cell for response in first for cell in response.cells if cell.mean is not None and cell.ci is not None]
    if not cells or first[0].scale != "log":
        return None
    reached = max(cell.ci[1] / cell.mean for cell in cells if cell.mean and cell.ci)
    total = int(looks[0]["total"])
    message = (
        f"{total} replications give each mean of {first[0].label} within {_width(reached, experiment.spec)} (95 %)"
    )
    taken = InterimLook(2, total, None, True, total, message, precision=reached)
    store.note(experiment.id, NOTE, [*looks, asdict(taken)])
    return taken


def looks_of(experiment: Experiment) -> list[Mapping[str, Any]]:
    """Returns the interim analyses taken so far, in order."""
    return list(experiment.environment.get(NOTE, []))


def _spend(findings: Findings, spec: Spec, look: int) -> InterimLook:
    declared = spec.design.sequential
    assert declared is not None
    plan = levels_of(declared.looks or (), alpha=spec.analysis.alpha, spending=declared.spending)
    first = findings.responses[0] if findings.responses else None
    decided = first is not None and bool(first.rankings) and all(k.decided for k in first.rankings if k.cells)
    last = look == len(plan.runs)
    runs, most, level = plan.runs[look - 1], plan.runs[-1], plan.level[look - 1]
    outcome = "is decided, so the study stops" if decided else "is not decided"
    after = "" if decided or last else f", so it continues to {plan.runs[look]}"
    message = (
        f"look {look} of {len(plan.runs)}, after {runs} of {most} replications at level {level:.4g}: "
        f"the best {one_level(findings.subject)} {outcome if not last or decided else 'stays open'}{after}"
    )
    return InterimLook(look, runs, level, decided, runs if decided else most, message)


def budget_look(spec: Spec, runs: Sequence[Run]) -> InterimLook:
    """Decides whether the first stage of Stein's procedure fits into the budget, from times only, never from values."""
    declared, most = spec.design.sequential, spec.design.replications
    assert declared is not None
    assert declared.first is not None
    assert declared.budget_s is not None
    fits = blocks_within(_block_times(runs), declared.budget_s)
    if fits >= declared.first:
        message = f"the budget of {declared.budget_s:g} s holds the first stage of {declared.first} replications"
        return InterimLook(1, FEWEST, None, False, most, message)
    total = min(most, max(FEWEST, fits))
    message = (
        f"the budget of {declared.budget_s:g} s holds {total} replications, fewer than the {declared.first} of a first "
        "stage: all of them are made, and the intervals are Student's"
    )
    if fits < FEWEST:
        message = f"{FEWEST} replications are made, the fewest that give an interval; they exceed the budget"
    return InterimLook(1, FEWEST, None, True, total, message)


def _block_times(runs: Sequence[Run]) -> list[float]:
    """Returns the time of each block in s. Runs without a time belong to no block."""
    blocks: dict[int, float] = {}
    for run in runs:
        if run.status != "planned" and TOOK in run.facts:
            blocks[run.block] = blocks.get(run.block, 0.0) + float(run.facts[TOOK])
    return list(blocks.values())


def stein_look(spec: Spec, runs: Sequence[Run], first: ResponseFinding | None, look: int) -> InterimLook:
    """Computes the replications that the first stage requires and the budget allows. first: result for the first
    response.
    """
    declared, most = spec.design.sequential, spec.design.replications
    assert declared is not None
    assert declared.first is not None
    held = most if declared.budget_s is None else min(most, blocks_within(_block_times(runs), declared.budget_s))
    held = max(declared.first, held)
    label = first.label if first else label_of(spec.analysis.responses[0])
    promise = _promise(spec, runs, first)
    if isinstance(promise, str):
        of_budget = " that the budget holds" if held < most else ""
        message = f"after {declared.first} replications there is no spread of {label} ({promise}); all {held}"
        return InterimLook(look, declared.first, None, False, held, f"{message}{of_budget} are made")
    kept = promise.capped(held)
    message = (
        f"the spread of the first {declared.first} replications asks for {promise.total} to know each mean of {label}"
    )
    if promise.total <= held:
        message += f" within {_width(declared.precision or 0, spec)} (95 %)"
    elif declared.budget_s is None:
        message += f" as well as declared; the design has {most}, so that precision is not promised"
    else:
        message += (
            f" within {_width(declared.precision or 0, spec)}; the budget of {declared.budget_s:g} s holds {kept.total}"
            f", which gives {_width(kept.precision, spec)} (95 %)"
        )
    return InterimLook(
        look, declared.first, None, promise.total <= held, kept.total, message, declared.first, kept.precision,
        promise.total > held,
    )  # fmt: skip


def _promise(spec: Spec, runs: Sequence[Run], first: ResponseFinding | None) -> Stein | str:
    """Returns Stein's second stage for the cell that needs most replications, or why the spread is unknown."""
    declared, cells = spec.design.sequential, math.prod(len(levels) for levels in spec.factors.values())
    assert declared is not None
    assert declared.precision is not None
    if cells == 1:
        name = first.name if first else spec.analysis.responses[0]
        values = [value for run in runs if run.status == "finished" and (value := run.value(name)) is not None]
        try:
            return stein(np.array(values), declared.precision, scale=Scale(spec.analysis.scale))
        except DataError as error:
            return str(error)
    parts = list(first.parts) if first else []
    promises = [p.analysis.precision.stein for p in parts if p.analysis and p.analysis.precision]
    if not promises or len(promises) < len(parts):
        return next((p.reason for p in parts if p.reason), "no spread could be estimated")
    return max(promises, key=lambda promise: promise.total)


def _width(precision: float, spec: Spec) -> str:
    """Formats a precision for people."""
    if spec.analysis.scale == "raw":
        return f"± {precision:.3g}"
    return f"a factor of {precision:.3g}" if precision >= 2 else f"± {100 * (precision - 1):.2g} %"
