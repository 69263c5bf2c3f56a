"""Tables of a store: the experiments, and the runs of one experiment with their responses."""

from __future__ import annotations

import re
from collections.abc import Sequence

from edgejoule.dictionary.responses import is_energy, unit_text
from edgejoule.findings.facts import effective_responses
from edgejoule.findings.run_tables import value_text
from edgejoule.findings.table import Table
from edgejoule.store import Experiment, Run

_NAME_WIDTH = 12


def table(experiments: Sequence[Experiment]) -> Table:
    """Returns a row per experiment with the number of its runs by status."""
    rows = tuple(
        (str(e.id), e.name, e.begun, *(str(e.counts.get(s, 0)) for s in ("finished", "failed", "planned")), e.question)
        for e in experiments
    )
    columns = ("id", "name", "begun", "finished", "failed", "left", "question")
    return Table("experiments", columns, (True, False, False, True, True, True, False), rows)


def runs(experiment: Experiment, runs: Sequence[Run]) -> Table:
    """Returns a row per run with the effective responses; a status column only if a run failed, waits, is flagged or
    set aside.
    """
    spec = experiment.spec
    names, known, factors = effective_responses(spec, runs), spec.known_responses(), list(spec.factors)
    method = next((r.method for run in runs for r in run.responses if is_energy(r.name)), "")
    units = [f"{known[n].unit} {method}" if known[n].is_energy else unit_text(known[n].unit) for n in names]
    headings = [f"{_broken(name)}\n{unit}".rstrip() for name, unit in zip(names, units, strict=True)]
    plain = all(run.status == "finished" and not run.flags and not run.set_aside for run in runs)
    rows = []
    for run in runs:
        values = {r.name: r for r in run.responses}
        values_shown = (value_text(values[name]) if name in values else "-" for name in names)
        head = (str(run.run_index + 1), str(run.block + 1), *(str(level) for level in run.levels.values()))
        rows.append((*head, *values_shown, *([] if plain else [_status(run)])))
    columns = ("run", "block", *factors, *headings, *([] if plain else ["status"]))
    numeric = (True, True, *[False] * len(factors), *[True] * len(names), *([] if plain else [False]))
    return Table("runs", columns, numeric, tuple(rows))


def _status(run: Run) -> str:
    status = run.status if run.status != "failed" else f"failed: {run.cause}"
    status += ", set aside: another attempt counts" if run.set_aside else ""
    return status + (f": flagged: {'; '.join(run.flags)}" if run.flags else "")


def _broken(name: str) -> str:
    """Breaks a name into lines before its underscores."""
    lines = [""]
    for part in re.findall(r"_?[^_]+", name):
        if lines[-1] and len(lines[-1] + part) > _NAME_WIDTH:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)
