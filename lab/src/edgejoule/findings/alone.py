"""The verdict for an experiment with one command and one cell. It states the cost of a run and compares nothing."""

from __future__ import annotations

from collections.abc import Sequence

from edgejoule.experiment.model import Spec
from edgejoule.findings.model import Cell, ResponseFinding, Statement
from edgejoule.findings.templates import forms
from edgejoule.findings.text import listed, unit_for

_CLAUSES = {
    "energy_j": "costs {figure}",
    "energy_per_op_uj": "costs {figure} per operation",
    "cpu_s": "takes {figure} of CPU time",
    "active_s": "lasts {figure}",
}


def is_alone(spec: Spec, responses: Sequence[ResponseFinding]) -> bool:
    """True when the experiment has one command in one cell, with figures to report."""
    cells = 1
    for levels in spec.factors.values():
        cells *= len(levels)
    return bool(cells == 1 and spec.commands and _known(responses))


def alone_forms(spec: Spec, responses: Sequence[ResponseFinding]) -> list[str]:
    """Returns one sentence with the first two responses that can be used, the longest form first."""
    name = next(iter(spec.factors.get("workload", [spec.fixed.get("workload", "the command")])))
    clauses = [
        _CLAUSES.get(r.name, f"has {r.label} {{figure}}").format(figure=_figure(r, cell))
        for r, cell in _known([r for r in responses if not r.unusable])[:2]
    ]
    values = {"name": name, "clauses": listed(clauses), "first_clause": clauses[0]} if clauses else {}
    return forms("a run of a command", values)


def alone_statement(responses: Sequence[ResponseFinding]) -> Statement:
    """Returns every declared response with its mean and interval."""
    return Statement("a run", " ".join(_sentence(r, cell) for r, cell in _known(responses)))


def _known(responses: Sequence[ResponseFinding]) -> list[tuple[ResponseFinding, Cell]]:
    return [(r, r.cells[0]) for r in responses if r.cells and r.cells[0].mean is not None]


def _figure(r: ResponseFinding, cell: Cell) -> str:
    assert cell.mean is not None
    method = f" ({r.method})" if r.is_energy else ""
    return f"{unit_for(r.unit, [cell.mean]).text(cell.mean)}{method}"


def _sentence(r: ResponseFinding, cell: Cell) -> str:
    """Returns the label, the mean and its interval from the replications."""
    assert cell.mean is not None
    unit = unit_for(r.unit, [cell.mean])
    between = ""
    if cell.ci is not None:
        what = "95 % CI from replications alone" if r.method == "modelled" else "95 % CI"
        between = f" ({what}: {unit.number(cell.ci[0])} to {unit.number(cell.ci[1])})"
    label = r.label if r.label[:2].isupper() else f"{r.label[0].upper()}{r.label[1:]}"
    return f"{label}: {_figure(r, cell)}{between}."
