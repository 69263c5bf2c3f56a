"""Looking at an experiment before it is done, without raising more false alarms than declared: alpha spending.

The looks are declared before the data. Each may spend a part of alpha; a look's own level is what its p must stay below
for the experiment to stop. Looking at 5 % each time instead gives 14 % false alarms in five looks.

Sources: K. K. G. Lan and D. L. DeMets, Biometrika 70 (1983), for spending functions like those of P. C. O'Brien and
T. R. Fleming (1979) and S. J. Pocock (1977); P. Armitage, C. K. McPherson, B. C. Rowe, Journal of the Royal Statistical
Society A 132 (1969), for the recursive integration; S. J. Pocock, Biometrika 64 (1977), for using the levels with
Student's t; C. Jennison and B. W. Turnbull, Journal of the Royal Statistical Society B 51 (1989), for intervals at each
look that hold whenever one stops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
from scipy import special

from edgejoule.errors import UsageError
from edgejoule.stats.scale import FloatArray
from edgejoule.stats.studentized_range import gauss_legendre

_REACH = 9.0  # sd beyond which nothing is integrated: 1e-19
_NODES = 320
_LOOKS_MAX = 20


class Spending(StrEnum):
    """OBRIEN_FLEMING: spends little early, the last look keeps nearly all of alpha. POCOCK: about evenly."""

    OBRIEN_FLEMING = "obrien-fleming"
    POCOCK = "pocock"


@dataclass(frozen=True)
class Looks:
    """Declared looks: replications of each group at every look, and the two-sided level of each.

    level[i]: a p below it at look i stops. z[i]: the same as a standard normal deviate. spent[i]: alpha spent up to
    and with look i; the last equals alpha.
    """

    runs: tuple[int, ...]
    spending: Spending
    alpha: float
    level: tuple[float, ...]
    z: tuple[float, ...]
    spent: tuple[float, ...]

    def to_json(self) -> dict[str, object]:
        """All fields."""
        return {
            "runs": list(self.runs),
            "spending": str(self.spending),
            "alpha": self.alpha,
            "level": list(self.level),
            "z": list(self.z),
            "spent": list(self.spent),
        }


def spent_by(fraction: float, alpha: float, spending: Spending) -> float:
    """Two-sided alpha that may be spent when this fraction of the information is there; half of it on each side."""
    if spending is Spending.POCOCK:
        return alpha * math.log(1 + (math.e - 1) * fraction)
    return 4 * float(special.ndtr(special.ndtri(alpha / 4) / math.sqrt(fraction)))


def looks(runs: Sequence[int], *, alpha: float = 0.05, spending: Spending | str = Spending.OBRIEN_FLEMING) -> Looks:
    """The level of each look after runs[i] replications of every group; the last is the full experiment.

    UsageError unless runs rise from 2 or more, at most 20 times, and alpha lies between 0 and 0.5.
    """
    try:
        spending = Spending(spending)
    except ValueError as error:
        raise UsageError(f"spending: expected obrien-fleming or pocock, got {spending!r}") from error
    if not runs or len(runs) > _LOOKS_MAX or runs[0] < 2 or any(b <= a for a, b in pairwise(runs)):
        raise UsageError(
            f"looks: expected 1 to {_LOOKS_MAX} rising numbers of replications, the first at least 2, got "
            f"{', '.join(map(str, runs)) or 'none'}"
        )
    if not 0 < alpha < 0.5:
        raise UsageError(f"alpha: expected a level between 0 and 0.5, got {alpha}")
    fractions = [count / runs[-1] for count in runs]
    spent = [spent_by(fraction, alpha, spending) for fraction in fractions]
    z = _bounds(fractions, np.diff([0.0, *spent]) / 2)
    level = [float(2 * special.ndtr(-one)) for one in z]
    return Looks(tuple(runs), spending, alpha, tuple(level), tuple(z), tuple(spent))


def _bounds(fractions: Sequence[float], spend: FloatArray) -> list[float]:
    """z of each look so that crossing it upwards for the first time there has probability spend[i].

    By symmetry this is the upper side of the two-sided boundary.
    """
    found: list[float] = []
    paths, past = _Paths(np.zeros(1), np.ones(1)), 0.0
    for fraction, one in zip(fractions, spend, strict=True):
        z = paths.bound(math.sqrt(fraction - past), math.sqrt(fraction), float(one))
        found.append(z)
        paths, past = paths.moved(math.sqrt(fraction - past), z * math.sqrt(fraction)), fraction
    return found


@dataclass(frozen=True)
class _Paths:
    """Where the sum (sqrt of the fraction times z) is at a look, if nothing has stopped: mass at points."""

    at: FloatArray
    mass: FloatArray

    def bound(self, step_sd: float, root: float, spend: float) -> float:
        """The z that a step crosses upwards with probability `spend`."""

        def excess(z: float) -> float:
            crossed = float(self.mass @ special.ndtr((self.at - z * root) / step_sd))
            return math.log(max(crossed, 1e-300)) - math.log(spend)

        from scipy import optimize  # takes a third of a second to import; all else here does without it

        return float(optimize.brentq(excess, 0.0, _REACH, xtol=1e-12))

    def moved(self, step_sd: float, limit: float) -> _Paths:
        """One step on, without what left [-limit, limit]."""
        nodes, weights = gauss_legendre(_NODES)
        at = nodes * limit
        kernel = np.exp(-((at[:, None] - self.at) ** 2) / (2 * step_sd**2)) / (step_sd * math.sqrt(2 * math.pi))
        return _Paths(at, kernel @ self.mass * weights * limit)
