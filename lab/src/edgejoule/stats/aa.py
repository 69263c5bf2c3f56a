"""A/A tests: halves of one group's runs must not be called different more often than alpha.

Two comparisons: the first half of each group's runs against the second half (drift of board, room or database), and
many random halves (the declared test's rate of false alarms on these values).
Sources: R. Kohavi, D. Tang, Y. Xu, Trustworthy Online Controlled Experiments (2020), ch. 19; C. J. Clopper and E. S.
Pearson, Biometrika 26 (1934), for the interval of a share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from edgejoule.stats.declared import DeclaredTest
from edgejoule.stats.factor import IntArray
from edgejoule.stats.ranks import holm, kruskal_wallis
from edgejoule.stats.scale import FloatArray

_SPLITS = 1000
_RUNS_MIN = 4


@dataclass(frozen=True)
class Drift:
    """First half against second half of one group. difference: second - first. p: adjusted by Holm over the groups."""

    group: int
    difference: float
    p: float


@dataclass(frozen=True)
class SameAgainstSame:
    """The result of the A/A tests. splits: random splits over all tested groups. false_alarms: share of splits with
    p < alpha. ci95: interval of that share.
    """

    drifts: tuple[Drift, ...]
    splits: int
    false_alarms: float
    ci95: tuple[float, float]
    alpha: float


def same_against_same(
    y: FloatArray, member: IntArray, order: FloatArray, test: DeclaredTest, *, alpha: float, seed: int
) -> SameAgainstSame | None:
    """Runs the A/A tests on each group with at least 4 runs that vary; None if there is no such group.

    order: the order of the runs, for drift. seed: of the random splits.
    """
    rng = np.random.default_rng(seed)
    groups = [(g, y[member == g][np.argsort(order[member == g], kind="stable")]) for g in range(int(member.max()) + 1)]
    groups = [(g, values) for g, values in groups if values.size >= _RUNS_MIN and np.ptp(values) > 0]
    if not groups:
        return None
    halves = [(values[: values.size // 2], values[values.size // 2 :]) for _, values in groups]
    p = holm(np.array([two_groups(a, b, test) for a, b in halves]))
    drifts = tuple(
        Drift(g, float(b.mean() - a.mean()), float(one)) for (g, _), (a, b), one in zip(groups, halves, p, strict=True)
    )
    each = -(-_SPLITS // len(groups))
    alarms = 0
    for _, values in groups:
        for _ in range(each):
            shuffled = rng.permutation(values)
            alarms += two_groups(shuffled[: values.size // 2], shuffled[values.size // 2 :], test) < alpha
    count = each * len(groups)
    return SameAgainstSame(drifts, count, alarms / count, share_interval(alarms, count), alpha)


def two_groups(a: FloatArray, b: FloatArray, test: DeclaredTest) -> float:
    """Returns p of the declared test on two groups: Student's t, Welch's t, or Kruskal-Wallis."""
    if test is DeclaredTest.KRUSKAL_DUNN_HOLM:
        member = np.repeat([0, 1], [a.size, b.size])
        values = np.concatenate([a, b])
        return kruskal_wallis(values, member).p if np.ptp(values) > 0 else 1.0
    va, vb = a.var(ddof=1), b.var(ddof=1)
    if test is DeclaredTest.GAMES_HOWELL:
        square = va / a.size + vb / b.size
        df = square**2 / ((va / a.size) ** 2 / (a.size - 1) + (vb / b.size) ** 2 / (b.size - 1)) if square else 1.0
    else:
        df = a.size + b.size - 2
        square = ((a.size - 1) * va + (b.size - 1) * vb) / df * (1 / a.size + 1 / b.size)
    if square == 0:
        return 1.0 if a.mean() == b.mean() else 0.0
    return float(2 * special.stdtr(df, -abs(a.mean() - b.mean()) / np.sqrt(square)))


def share_interval(count: int, total: int, level: float = 0.95) -> tuple[float, float]:
    """Returns the Clopper-Pearson interval of a share."""
    tail = (1 - level) / 2
    low = float(special.betaincinv(count, total - count + 1, tail)) if count else 0.0
    high = float(special.betaincinv(count + 1, total - count, 1 - tail)) if count < total else 1.0
    return low, high
