"""Regression of energy on time, a line for each subject. The slope is the power that a longer run adds."""

from __future__ import annotations

from collections.abc import Sequence

from edgejoule.errors import DataError
from edgejoule.findings.design import Layout
from edgejoule.findings.model import EnergyLines
from edgejoule.stats.regression import regression
from edgejoule.store import Run

ENERGY, TIME = "energy_j", "settled_s"


def energy_lines(runs: Sequence[Run], design: Layout) -> EnergyLines | None:
    """Fits the finished runs that have both responses; None if no run has energy. Modelled energy gets no line."""
    table: dict[str, list[object]] = {ENERGY: [], TIME: [], **{name: [] for name in (*design.factors, "load")}}
    methods = set()
    for run in runs:
        values = {r.name: r for r in run.responses} if run.status == "finished" else {}
        if not {ENERGY, TIME} <= values.keys():
            continue
        methods.add(str(values[ENERGY].method))
        table["load"].append(run.facts.get("load", {}).get("name"))
        for name in (ENERGY, TIME):
            table[name].append(values[name].value)
        for name in design.factors:
            table[name].append(run.levels[name])
    if not methods:
        return None
    if len(methods) > 1:
        return EnergyLines(None, "mixed methods", "the runs' energies have different methods")
    method = methods.pop()
    repeated = ("load", *design.factors) if design.shares_loads else ()
    if method == "modelled":
        return EnergyLines(None, method, "modelled energy follows from time, so the line would fit by construction")
    try:
        fit = regression(table, ENERGY, TIME, [design.subject], repeated=repeated)
    except DataError as error:
        return EnergyLines(None, method, str(error))
    return EnergyLines(fit, method, None)
