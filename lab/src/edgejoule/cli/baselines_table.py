"""Gross, the two baselines and the energies above them, side by side, each net with the budget of its uncertainty."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from edgejoule.run_energy import NET, POWER
from edgejoule.store import ResponseValue, Run

_WORDS = {"idle": "idle, no database open", "quiet": "database open, quiet"}


def print_baselines(out: Console, run: Run) -> None:
    """run: one with the heading baselines in its facts."""
    values = {r.name: r for r in run.responses}
    words = {**_WORDS, "idle": "idle"} if "command" in run.facts and run.database is None else _WORDS
    each = (" of one repetition" if "repetitions" in run.facts else " of one execution") if run.repeated > 1 else ""
    table = Table(
        box=None, pad_edge=False, title_justify="left",
        title=f"settled energy{each} gross, and above its baselines; J of a line at k=1, all else at k=2",
    )  # fmt: skip
    for column in ("baseline", "method", "before W", "after W", "at the run W", "J", "share"):
        table.add_column(column, justify="left" if column in ("baseline", "method") else "right")
    gross = values.get("energy_j")
    method = gross.method if gross else ""
    table.add_row("gross", method, "", "", _told(values.get("power_mean_w")), _told(gross), "")
    for name, facts in run.facts["baselines"].items():
        for row in _rows(name, words[name], facts, values, run.repeated):
            table.add_row(*map(escape, row))
    out.print()
    out.print(table)
    share = run.facts["baselines"].get("quiet", {}).get("core_share")
    if share is not None:
        out.print(f"while quiet, driver and database took {share:.3%} of a core")
    for name, facts in run.facts["baselines"].items():
        if facts["missing_reason"]:
            out.print(f"{words[name]}: missing: {facts['missing_reason']}", markup=False)


def _rows(
    name: str, words: str, facts: Mapping[str, Any], values: Mapping[str, ResponseValue], executions: int
) -> Iterator[tuple[str, ...]]:
    """The facts are of all executions together, the values of one."""
    power, net = values.get(POWER[name]), values.get(NET[name])
    method = power.method if power else ""
    if facts["before_w"] is None:
        yield (words, method, "missing", "missing", "missing", "missing", "")
        return
    windows = (f"{facts['before_w']:.4g}", f"{facts['after_w']:.4g}")
    yield (words, method, *windows, _told(power), f"net {_told(net)}", "")
    lines = sorted(((line, j / executions) for line, j in facts["net_budget_j"].items()), key=lambda line: -line[1])
    variance_j2 = sum(value**2 for _, value in lines) or 1.0
    for line, value in lines:
        yield (f"  {line}", "", "", "", "", f"{value:.3g}", f"{value**2 / variance_j2:.1%}")


def _told(r: ResponseValue | None) -> str:
    if r is None or r.value is None or r.uncertainty_k2 is None:
        return "missing"
    return f"{r.value:.4g} ± {r.uncertainty_k2:.2g}"
