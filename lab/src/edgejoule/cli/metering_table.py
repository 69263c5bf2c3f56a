"""What the meters of one run said, in a table: joules, the budget of their uncertainty line by line, the cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from edgejoule.energy import Renewal


def print_metering(out: Console, metering: Mapping[str, Any], whole: str = "") -> None:
    """metering: the heading of that name in a run's facts. whole: what it is the energy of, where that is several."""
    of = f" of all {whole}" if whole else ""
    table = Table(
        box=None, pad_edge=False, title=f"settled energy{of}, and what its uncertainty is made of", title_justify="left"
    )
    for column in ("meter", "domain", "method", "line", "J (k=1)", "share"):
        table.add_column(column, justify="right" if column in ("J (k=1)", "share") else "left")
    for meter in metering["meters"]:
        for row in _rows(meter):
            table.add_row(*map(escape, row))
    out.print()
    out.print(table)
    for clock in metering.get("clocks", {}).get("meters", ()):
        out.print(f"clock of {clock['meter']}: {clock['words']}", markup=False)
    for note in metering.get("clocks", {}).get("notes", ()):
        out.print(f"clocks: {note}", markup=False)
    for meter in metering["meters"]:
        if renewal := meter["energy"].get("renewal"):
            out.print(f"{meter['meter']}: {Renewal(**renewal).words}", markup=False)
    for meter in metering["meters"]:
        cost = meter["sampling"]
        if cost is None:
            continue
        late = f", {cost['polls_late']:,} of them late" if cost["polls_late"] else ""
        share = f"{cost['core_share']:.2%} of a core"
        out.print(f"sampling {meter['meter']}: {cost['polls']:,} polls{late}, {share}", markup=False)
    out.print(f"keeping the readings: {metering['recording_cpu_s']:.3g} s of CPU time")


def _rows(meter: Mapping[str, Any]) -> Sequence[Sequence[str]]:
    energy = meter["energy"]
    head = (meter["meter"], energy["domain"], energy["method"])
    if energy["settled_j"] is None:
        return [(*head, f"missing: {energy['missing_reason']}", "", "")]
    variance_j2 = sum(value**2 for value in energy["budget_j"].values()) or 1.0
    lines = sorted(energy["budget_j"].items(), key=lambda line: -line[1])
    rows = [("", "", "", name, f"{value:.3g}", f"{value**2 / variance_j2:.1%}") for name, value in lines]
    told = f"{energy['settled_j']:.5g} ± {energy['uncertainty_k2_j']:.2g} (k=2)"
    return [(*head, told, "", ""), *rows]
