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
    p = holm(np.array([float(two_groups(a, b, test)) for a, b in halves]))
    drifts = tuple(
        Drift(g, float(b.mean() - a.mean()), float(one)) for (g, _), (a, b), one in zip(groups, halves, p, strict=True)
    )
    each = -(-_SPLITS // len(groups))
    alarms = 0
    for _, values in groups:
        shuffled = np.array([rng.permutation(values) for _ in range(each)])
        first, second = np.split(shuffled, [values.size // 2], axis=1)
        alarms += int(np.count_nonzero(two_groups(first, second, test) < alpha))
    count = each * len(groups)
    return SameAgainstSame(drifts, count, alarms / count, share_interval(alarms, count), alpha)


def two_groups(a: FloatArray, b: FloatArray, test: DeclaredTest) -> FloatArray:
    """Returns p of the declared test on two groups: Student's t, Welch's t, or Kruskal-Wallis.

    a, b: (..., n). The last axis holds a group's values; p has the others.
    """
    if test is DeclaredTest.KRUSKAL_DUNN_HOLM:
        return np.asarray(np.apply_along_axis(_ranked, -1, np.concatenate([a, b], axis=-1), a.shape[-1]))
    na, nb = a.shape[-1], b.shape[-1]
    va, vb = a.var(axis=-1, ddof=1), b.var(axis=-1, ddof=1)
    df: FloatArray | int
    with np.errstate(divide="ignore", invalid="ignore"):  # groups without variation
        if test is DeclaredTest.GAMES_HOWELL:
            square = va / na + vb / nb
            df = square**2 / ((va / na) ** 2 / (na - 1) + (vb / nb) ** 2 / (nb - 1))
        else:
            df = na + nb - 2
            square = ((na - 1) * va + (nb - 1) * vb) / df * (1 / na + 1 / nb)
        distance = np.abs(a.mean(axis=-1) - b.mean(axis=-1))
        p = 2 * special.stdtr(df, -distance / np.sqrt(square))
    return np.where(square > 0, p, np.where(distance == 0, 1.0, 0.0))


def _ranked(values: FloatArray, first: int) -> float:
    """Returns p of Kruskal-Wallis. first: the size of the first group; the other values are the second's."""
    member = np.repeat([0, 1], [first, values.size - first])
    return kruskal_wallis(values, member).p if np.ptp(values) > 0 else 1.0


def share_interval(count: int, total: int, level: float = 0.95) -> tuple[float, float]:
    """Returns the Clopper-Pearson interval of a share."""
    tail = (1 - level) / 2
    low = float(special.betaincinv(count, total - count + 1, tail)) if count else 0.0
    high = float(special.betaincinv(count + 1, total - count, 1 - tail)) if count < total else 1.0
    return low, high
