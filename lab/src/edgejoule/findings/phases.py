"""Phases that commands announced: energy, time and bytes of each, means over the runs of a cell."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edgejoule.findings.design import Layout, runs_of
from edgejoule.findings.table import Cell, Table, hole
from edgejoule.findings.text import Unit, unit_for
from edgejoule.store import Run

_AMOUNTS = (
    ("duration_s", "time", "s"),
    ("energy_j", "energy", "J"),
    ("read_bytes", "read", "byte"),
    ("write_bytes", "written", "byte"),
)
NOTE = (
    "amounts of one repetition; bytes read are those that the process tree fetched from storage, bytes written "
    "those that it made dirty; the mean of a phase leaves out runs without it"
)


def table(runs: Sequence[Run], design: Layout) -> Table | None:
    """Returns a row per phase and cell; None if no command announced a phase."""
    phases = [(cell, name, facts) for cell in design.cells() for name, facts in _by_name(runs_of(runs, cell))]
    if not phases:
        return None
    means = [[mean(facts, key) for key, _, _ in _AMOUNTS] for _, _, facts in phases]
    units = [unit_for(unit, [row[i] for row in means]) for i, (_, _, unit) in enumerate(_AMOUNTS)]
    method = " and ".join(sorted({str(fact["method"]) for _, _, facts in phases for fact in facts}))
    titles = [
        f"{label} ({', '.join([unit.symbol, *([method] if key == 'energy_j' else [])])})"
        for (key, label, _), unit in zip(_AMOUNTS, units, strict=True)
    ]
    levels = list(phases[0][0])
    rows = [
        (*(str(v) for v in cell.values()), name, str(len(facts)), *map(_text, amounts, units, [facts] * len(units)))
        for (cell, name, facts), amounts in zip(phases, means, strict=True)
    ]
    columns = (*levels, "phase", "runs", *titles)
    numeric = (*[False] * (len(levels) + 1), *[True] * (len(_AMOUNTS) + 1))
    return Table("Phases: means over the runs", columns, numeric, tuple(rows), NOTE)


def _by_name(runs: Sequence[Run]) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Groups the phases of finished runs by name, in the order of first appearance."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        for fact in run.facts.get("phases", []) if run.status == "finished" else []:
            by_name.setdefault(str(fact["name"]), []).append(fact)
    return iter(by_name.items())


def mean(facts: Sequence[Mapping[str, Any]], key: str) -> float | None:
    """Returns the mean of a phase's figure over the runs; None if a run lacks it."""
    known = [float(fact[key]) for fact in facts if fact[key] is not None]
    return statistics.fmean(known) if len(known) == len(facts) else None


def _text(amount: float | None, unit: Unit, facts: Sequence[Mapping[str, Any]]) -> Cell:
    if amount is not None:
        return unit.number(amount)
    reason = next((str(fact["missing_reason"]) for fact in facts if fact["missing_reason"]), "not known in every run")
    return hole("missing", reason)
