"""What an energy is: joules with an uncertainty, the lines of its budget, its gaps; and how such figures add up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from edgejoule.energy.renewal import Renewal
from edgejoule.errors import require
from edgejoule.meters.base import Domain, Method

RECTANGULAR = 1 / math.sqrt(3)  # k=1 of a half width within which nothing is more likely


@dataclass(frozen=True)
class Gap:
    """Time without a known power, cut to the interval."""

    start_ns: int
    end_ns: int
    reason: str


@dataclass(frozen=True)
class BudgetLine:
    """One contribution to the uncertainty: standard uncertainty (k=1) in J.

    common: one and the same error wherever this meter or model is read (gain, offset, model): it adds up over channels
    instead of averaging, and subtracts between an energy and its baseline.
    """

    name: str
    value_j: float
    common: bool = False


@dataclass(frozen=True)
class Energy:
    """Energy over one interval. energy_j is None exactly when missing_reason gives the reason.

    uncertainty_k2_j: half width of the k=2 interval; None without an energy. coverage: share of the interval's time
    with known power. notes: sentences that a reader must know. renewal: set where the device renews its value slower
    than it is polled; of several channels the slowest.
    """

    energy_j: float | None
    method: Method
    domain: Domain
    start_ns: int
    end_ns: int
    uncertainty_k2_j: float | None
    coverage: float
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()
    budget: tuple[BudgetLine, ...] = ()
    missing_reason: str | None = None
    renewal: Renewal | None = None

    @property
    def duration_s(self) -> float:
        """Length of the interval."""
        return (self.end_ns - self.start_ns) / 1e9

    @property
    def power_mean_w(self) -> float | None:
        """Energy over duration."""
        return None if self.energy_j is None else self.energy_j / self.duration_s


@dataclass(frozen=True)
class Baseline:
    """Mean power of a quiet window; `source` is the energy it comes from.

    Interpolated between two windows: the mean power over the run between them, and the energy it makes of that time.
    """

    power_w: float
    source: Energy


def k2(lines: Iterable[BudgetLine]) -> float:
    """Half width at k=2 of independent lines."""
    return 2 * math.sqrt(sum(line.value_j**2 for line in lines))


def merged_lines(lines: Iterable[BudgetLine]) -> tuple[BudgetLine, ...]:
    """Lines of one name as one: a common error adds with its sign, independent ones add in squares."""
    by_name: dict[str, list[BudgetLine]] = {}
    for line in lines:
        by_name.setdefault(line.name, []).append(line)
    return tuple(
        BudgetLine(
            name,
            abs(sum(x.value_j for x in group)) if group[0].common else math.hypot(*(x.value_j for x in group)),
            group[0].common,
        )
        for name, group in by_name.items()
    )


def weakest(methods: Iterable[Method]) -> Method:
    """What a sum may be called: modelled where any part is, else counted where any is."""
    return max(methods, key=list(Method).index)


def summed(parts: Sequence[Energy]) -> Energy:
    """Sums the energies of several channels, or of one phase's several intervals, of one meter and domain.

    Missing in one is missing in the sum.
    """
    require(len({part.domain for part in parts}) == 1, "energies that are summed are of one domain")
    first = replace(parts[0], method=weakest(part.method for part in parts))
    missing = [part.missing_reason for part in parts if part.missing_reason is not None]
    lines = merged_lines(line for part in parts for line in part.budget)
    return replace(
        first,
        energy_j=None if missing else sum(part.energy_j for part in parts if part.energy_j is not None),
        uncertainty_k2_j=None if missing else k2(lines),
        coverage=min(part.coverage for part in parts),
        gaps=tuple(sorted((gap for part in parts for gap in part.gaps), key=lambda gap: gap.start_ns)),
        notes=tuple(note for part in parts for note in part.notes),
        budget=() if missing else lines,
        missing_reason="; ".join(missing) or None,
        renewal=max((x.renewal for x in parts if x.renewal), key=lambda renewal: renewal.period_s, default=None),
    )
