"""Figures as text: units that people read, three significant digits, lists."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from edgejoule.stats.figures import plain

#: stored unit -> (scale, symbol), the finest first
_STEPS: dict[str, tuple[tuple[float, str], ...]] = {
    "J": ((1e-6, "µJ"), (1e-3, "mJ"), (1, "J"), (1e3, "kJ")),
    "µJ": ((1, "µJ"), (1e3, "mJ"), (1e6, "J")),
    "W": ((1e-3, "mW"), (1, "W"), (1e3, "kW")),
    "s": ((1e-3, "ms"), (1, "s")),
    "µs": ((1, "µs"), (1e3, "ms"), (1e6, "s")),
    "byte": ((1, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB")),
}


@dataclass(frozen=True)
class Unit:
    """A display unit: value / scale, then symbol ("" for a bare number)."""

    scale: float
    symbol: str

    def number(self, value: float) -> str:
        """Formats the value without its symbol."""
        return number(value / self.scale)

    def text(self, value: float) -> str:
        """Formats the value with its symbol."""
        return f"{self.number(value)} {self.symbol}".strip()


def unit_for(stored: str, values: Iterable[float | None]) -> Unit:
    """Returns one unit for all values: the coarsest in which the largest value is at least 1."""
    largest = max((abs(v) for v in values if v is not None and math.isfinite(v)), default=0.0)
    if stored == "1":
        return Unit(1, "")
    steps = _STEPS.get(stored, ((1, stored),))
    scale, symbol = steps[0] if largest > 0 else next((s for s in steps if s[0] == 1), steps[0])
    for step in steps:
        if largest >= step[0]:
            scale, symbol = step
    return Unit(scale, symbol)


def size_text(size: int) -> str:
    """Formats a number of bytes: 12.3 kB."""
    return unit_for("byte", [size]).text(size)


def number(value: float, digits: int = 3) -> str:
    """Formats a figure with `digits` significant digits and thousands separators: 0.0123, 71.2, 39,500."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    if abs(value) >= 1e15:
        return plain(value, digits).replace("-", "−")
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, decimals)
    if abs(rounded) < 1e-9:
        return "0.000"  # rounding errors of zero
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:,.{decimals}f}".replace("-", "−")


def ratio(value: float) -> str:
    """Formats a ratio with two decimals below 10: 1.07, 1.84, 12.3."""
    return f"{value:.2f}" if value < 10 else number(value)


def times_text(value: float) -> str:
    """Formats a ratio for a headline, with two digits and its sign: 1.07×, 2.8×, 43×."""
    return f"{ratio(value)}×" if value < 1.1 else f"{number(value, 2)}×" if value < 100 else f"{value:,.0f}×"


def listed(items: Sequence[str], last: str = "and") -> str:
    """Joins items: a, b and c."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}"


def count(n: int, noun: str) -> str:
    """Formats a count with its noun: 1 run, 2 runs."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def percent(share: float) -> str:
    """Formats a share as a percentage: 48 %, 1.3 %."""
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"
