"""Group sequential designs: interim analyses with alpha spending, at the declared rate of false alarms.

The looks (interim analyses) are declared before the data. Each look spends a part of alpha; the experiment stops at a
p below the look's level. Five looks at 5 % each would give 14 % false alarms.

Sources: K. K. G. Lan and D. L. DeMets, Biometrika 70 (1983), for spending functions like those of P. C. O'Brien and
T. R. Fleming (1979) and S. J. Pocock (1977); P. Armitage, C. K. McPherson, B. C. Rowe, Journal of the Royal Statistical
Society A 132 (1969), for the recursive integration; S. J. Pocock, Biometrika 64 (1977), for using the levels with
Student's t; C. Jennison and B. W. Turnbull, Journal of the Royal Statistical Society B 51 (1989), for intervals at each
look that are valid at any stopping time.
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

_REACH = 9.0  # limit of integration in sd; the tail beyond is 1e-19
_NODES = 320
_LOOKS_MAX = 20


class Spending(StrEnum):
    """OBRIEN_FLEMING: spends little early; the last look has nearly all of alpha. POCOCK: spends about evenly."""

    OBRIEN_FLEMING = "obrien-fleming"
    POCOCK = "pocock"


@dataclass(frozen=True)
class Looks:
    """Declared looks. runs: replications of each group at every look.

    level[i]: the two-sided level of look i; a p below it stops. z[i]: the level as a standard normal deviate.
    spent[i]: alpha spent up to and including look i; the last equals alpha.
    """

    runs: tuple[int, ...]
    spending: Spending
    alpha: float
    level: tuple[float, ...]
    z: tuple[float, ...]
    spent: tuple[float, ...]

    def to_json(self) -> dict[str, object]:
        """Returns all fields."""
        return {
            "runs": list(self.runs),
            "spending": str(self.spending),
            "alpha": self.alpha,
            "level": list(self.level),
            "z": list(self.z),
            "spent": list(self.spent),
        }


def spent_by(fraction: float, alpha: float, spending: Spending) -> float:
    """Returns the two-sided alpha to spend up to this fraction of the information, half of it on each side."""
    if spending is Spending.POCOCK:
        return alpha * math.log(1 + (math.e - 1) * fraction)
    return 4 * float(special.ndtr(special.ndtri(alpha / 4) / math.sqrt(fraction)))


def looks(runs: Sequence[int], *, alpha: float = 0.05, spending: Spending | str = Spending.OBRIEN_FLEMING) -> Looks:
    """Computes the level of each look after runs[i] replications of every group; the last is the full experiment.

    Raises UsageError unless there are 1 to 20 increasing runs from 2 or more, and alpha is between 0 and 0.5.
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
    """Returns z of each look such that the first upward crossing occurs there with probability spend[i].

    By symmetry this is the upper side of the two-sided boundary.
    """
    bounds: list[float] = []
    paths, past = _Paths(np.zeros(1), np.ones(1)), 0.0
    for fraction, one in zip(fractions, spend, strict=True):
        z = paths.bound(math.sqrt(fraction - past), math.sqrt(fraction), float(one))
        bounds.append(z)
        paths, past = paths.moved(math.sqrt(fraction - past), z * math.sqrt(fraction)), fraction
    return bounds


@dataclass(frozen=True)
class _Paths:
    """Distribution of the sum (sqrt of the fraction times z) at a look if no look stopped: mass at points."""

    at: FloatArray
    mass: FloatArray

    def bound(self, step_sd: float, root: float, spend: float) -> float:
        """Returns the z that a step crosses upwards with probability `spend`."""

        def excess(z: float) -> float:
            crossed = float(self.mass @ special.ndtr((self.at - z * root) / step_sd))
            return math.log(max(crossed, 1e-300)) - math.log(spend)

        from scipy import optimize  # imported here: it takes a third of a second

        return float(optimize.brentq(excess, 0.0, _REACH, xtol=1e-12))

    def moved(self, step_sd: float, limit: float) -> _Paths:
        """Returns the distribution after one step, restricted to [-limit, limit]."""
        nodes, weights = gauss_legendre(_NODES)
        at = nodes * limit
        kernel = np.exp(-((at[:, None] - self.at) ** 2) / (2 * step_sd**2)) / (step_sd * math.sqrt(2 * math.pi))
        return _Paths(at, kernel @ self.mass * weights * limit)
