"""Gross power and energy, the two baselines, and net energy above each: means over the runs."""

from __future__ import annotations

from edgejoule.findings import table as neutral
from edgejoule.findings import tables
from edgejoule.findings.model import Cell, Findings, ResponseFinding
from edgejoule.findings.table import Table
from edgejoule.findings.text import Unit, unit_for

_POWERS = ("power_mean_w", "power_idle_w", "power_net_w", "power_quiet_w")
_ENERGIES = ("energy_j", "energy_net_j", "energy_net_quiet_j")


def table(f: Findings) -> Table | None:
    """Returns one row per cell; None if no run has a baseline. A note gives the reason for a missing response."""
    known = [r for n in (*_POWERS, *_ENERGIES) if (r := f.response(n)) is not None]
    shown = [r for r in known if any(c.n or c.open or c.failed for c in r.cells)]
    if all(r.name in ("power_mean_w", "energy_j") for r in shown):
        return None
    units = {r.name: unit_for(r.unit, _means(shown, r.unit)) for r in shown}
    levels = list(shown[0].cells[0].levels)
    rows = [
        (*(str(v) for v in cell.levels.values()), *(_cell_text(r.cells[i], r, units[r.name]) for r in shown))
        for i, cell in enumerate(shown[0].cells)
        if not cell.is_absent
    ]
    columns = (*levels, *(tables.heading(r, units[r.name]) for r in shown))
    numeric = (*[False] * len(levels), *[True] * len(shown))
    notes = ["± is the half width at k=2 of one run, the largest of the cell, with the drift between the windows"]
    notes += [f"no {r.label}: {r.cells[0].missing[0]}" for r in known if r not in shown and r.cells[0].missing]
    return Table("Gross, baselines and net: means over the runs", columns, numeric, tuple(rows), "; ".join(notes))


def _means(shown: list[ResponseFinding], unit: str) -> list[float | None]:
    return [c.mean for r in shown if r.unit == unit for c in r.cells]


def _cell_text(cell: Cell, r: ResponseFinding, unit: Unit) -> neutral.Cell:
    if cell.mean is None:
        return tables.why_none(cell, r)
    spread = "" if cell.uncertainty_k2 is None else f" ± {unit.number(cell.uncertainty_k2)}"
    return f"{unit.number(cell.mean)}{spread}"
