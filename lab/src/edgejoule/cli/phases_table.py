"""The phases that a command announced in one run: joules, seconds and bytes of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

_NUMBERS = ("times", "s", "J", "± (k=2)", "read MB", "written MB")


def print_phases(out: Console, facts: Sequence[Mapping[str, Any]], repetitions: int) -> None:
    """facts: the heading `phases` of a run's facts, not empty."""
    each = " of one repetition" if repetitions > 1 else ""
    title = f"phases of the command; amounts{each}, energy {facts[0]['method']}"
    table = Table(box=None, pad_edge=False, title_justify="left", title=title)
    for column in ("phase", *_NUMBERS):
        table.add_column(column, justify="right" if column in _NUMBERS else "left")
    for fact in facts:
        joules = _number(fact["energy_j"], 1), _number(fact["uncertainty_k2_j"], 1)
        amounts = _number(fact["read_bytes"], 1e6), _number(fact["write_bytes"], 1e6)
        table.add_row(escape(fact["name"]), str(fact["count"]), _number(fact["duration_s"], 1), *joules, *amounts)
    out.print()
    out.print(table)
    for reason in dict.fromkeys(fact["missing_reason"] for fact in facts if fact["missing_reason"]):
        out.print(f"energy missing: {reason}", markup=False)


def _number(amount: float | None, scale: float) -> str:
    return "missing" if amount is None else f"{amount / scale:.4g}"
