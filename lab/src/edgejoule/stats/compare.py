"""The comparison of groups by the declared test: means, intervals, pairs, letters, and the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgejoule.dictionary.responses import Better
from edgejoule.stats.cells import CellMeans, Margin, marginal_means
from edgejoule.stats.declared import DeclaredTest
from edgejoule.stats.distribution import distribution
from edgejoule.stats.effect_size import cliffs_delta, hedges_g
from edgejoule.stats.equivalence import equivalence
from edgejoule.stats.estimates import Estimates, from_model
from edgejoule.stats.factor import IntArray
from edgejoule.stats.hsu import ToBest, to_best
from edgejoule.stats.letters import compact_letters
from edgejoule.stats.model import Best, Group, Limits, Pair
from edgejoule.stats.omnibus import Omnibus
from edgejoule.stats.options import Options
from edgejoule.stats.ranks import dunn_holm, kruskal_wallis, mean_ranks
from edgejoule.stats.scale import FloatArray, Scale, from_scale
from edgejoule.stats.split_plot import SplitPlot
from edgejoule.stats.tukey import PairTest, tukey
from edgejoule.stats.welch import cell_variances, own_variances, refuse_without_variance, welch


@dataclass(frozen=True)
class Material:
    """The input of a comparison.

    raw: the values in the response's unit. y: the values on the scale of analysis. n: size of each group. sd, sd_df:
    standard deviation and its df for each pair of groups (k x k), for effect sizes.
    """

    raw: FloatArray
    y: FloatArray
    margin: Margin
    n: IntArray
    estimates: Estimates
    sd: FloatArray
    sd_df: FloatArray

    @property
    def member(self) -> IntArray:
        """Index of each value's group."""
        return self.margin.member

    @property
    def levels(self) -> list[dict[str, str]]:
        """Levels of each group."""
        return [dict(zip(self.margin.names, cell, strict=True)) for cell in self.margin.cells]


@dataclass(frozen=True)
class Compared:
    """Groups and pairs in display order. member[i]: the index in `groups` of value i."""

    groups: tuple[Group, ...]
    pairs: tuple[Pair, ...]
    to_best: tuple[Best, ...]
    omnibus: Omnibus | None
    member: IntArray
    notes: tuple[str, ...] = ()


def one_error(
    raw: FloatArray, y: FloatArray, full: CellMeans, margin: Margin, error_ms: float, error_df: int
) -> Material:
    """Builds the input for Tukey: the model's error applies to every mean."""
    means = marginal_means(full, margin)
    estimates = from_model(means, error_ms, error_df)
    sd = np.full(estimates.covariance.shape, np.sqrt(error_ms))
    return Material(raw, y, margin, means.n, estimates, sd, estimates.pair_df)


def own_errors(raw: FloatArray, y: FloatArray, full: CellMeans, margin: Margin, test: DeclaredTest) -> Material:
    """Builds the input for Games-Howell and ranks: each group has its own variance. Games-Howell needs it above 0."""
    if test is DeclaredTest.GAMES_HOWELL:
        refuse_without_variance(y, full)
    estimates = own_variances(y, full, margin)
    used = margin.weights > 0
    variance = (used * np.nan_to_num(cell_variances(y, full))).sum(axis=1) / used.sum(axis=1)
    sd = np.sqrt((variance[:, None] + variance) / 2)
    n = np.bincount(margin.member).astype(np.int64)
    return Material(raw, y, margin, n, estimates, sd, estimates.pair_df)


def of_loads(raw: FloatArray, y: FloatArray, plot: SplitPlot, margin: Margin, load: IntArray) -> Material:
    """Builds the input for a split plot: errors combine the variation between and within loads. n counts loads."""
    count = len(margin.cells)
    n = np.array([len(np.unique(load[margin.member == group])) for group in range(count)], dtype=np.int64)
    sd = np.full((count, count), np.sqrt(plot.variance_of_a_value))
    return Material(raw, y, margin, n, plot.estimates(margin), sd, np.full((count, count), float(plot.df_between)))


def compare(material: Material, options: Options) -> Compared:
    """Compares all groups, ordered from best to worst by mean, or by mean rank for a test on ranks."""
    ranked = options.test is DeclaredTest.KRUSKAL_DUNN_HOLM
    ranks = mean_ranks(material.y, material.member) if ranked else None
    centre = material.estimates.mean if ranks is None else ranks
    sign = -1 if options.better is Better.HIGHER else 1
    order = sorted(range(len(centre)), key=lambda group: sign * centre[group])
    tests = (
        dunn_holm(material.y, material.member, order, material.estimates.mean)
        if ranked
        else tukey(material.estimates, alpha=options.alpha, order=order)
    )
    pairs = _pairs(tests, material, options)
    letters = _letters(tests, pairs, order) if options.judged else [None] * len(order)
    intervals = material.estimates.intervals()
    groups = tuple(_group(material, group, intervals[group], letters[group], ranks, options) for group in order)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    wide = too_wide(material.raw, [group.mean for group in groups], options)
    return Compared(
        groups, pairs, _to_best(tests, material, order, options), _omnibus(material, options), place[material.member],
        (wide,) if wide else (),
    )  # fmt: skip


def _omnibus(material: Material, options: Options) -> Omnibus | None:
    if options.test is DeclaredTest.GAMES_HOWELL:
        return welch(material.estimates, int(material.y.size))
    if options.test is DeclaredTest.KRUSKAL_DUNN_HOLM:
        return kruskal_wallis(material.y, material.member)
    return None


def _letters(tests: Sequence[PairTest], pairs: Sequence[Pair], order: Sequence[int]) -> list[str]:
    differ = np.zeros((len(order), len(order)), dtype=bool)
    for test, pair in zip(tests, pairs, strict=True):
        differ[test.first, test.second] = differ[test.second, test.first] = pair.significant
    return compact_letters(differ, order)


def _group(
    material: Material, group: int, ci: Limits, letters: str | None, ranks: FloatArray | None, options: Options
) -> Group:
    values = material.raw[material.member == group]
    return Group(
        levels=material.levels[group],
        n=int(material.n[group]),
        mean=from_scale(float(material.estimates.mean[group]), options.scale),
        ci95=(from_scale(ci[0], options.scale), from_scale(ci[1], options.scale)),
        letters=letters,
        mean_arithmetic=float(values.mean()),
        sd=float(values.std(ddof=1)) if values.size > 1 else None,
        median=float(np.median(values)),
        min=float(values.min()),
        max=float(values.max()),
        mean_rank=None if ranks is None else float(ranks[group]),
        distribution=distribution(values) if options.distributions else None,
    )


def too_wide(raw: FloatArray, means: Sequence[float], options: Options) -> str | None:
    """Returns the reason if a raw-scale margin is not below the smallest mean, so that any two of the smallest groups
    lie within it; otherwise None. Values that may be zero or negative are not checked.
    """
    if options.margin is None or options.scale is Scale.LOG or raw.min() <= 0 or options.margin < min(means):
        return None
    return (
        f"no groups are called the same: the margin of ± {options.margin:g} is not below the smallest mean, "
        f"{min(means):.4g}. On the raw scale a margin is a difference in the response's unit; for a ratio take the log "
        "scale"
    )


def _pairs(tests: Sequence[PairTest], material: Material, options: Options) -> tuple[Pair, ...]:
    groups = [float(mean) for mean in material.estimates.mean]
    same: Sequence[float | None] = [None] * len(tests)
    if options.margin is not None and not options.modelled and too_wide(material.raw, groups, options) is None:
        margin = np.log(options.margin) if options.scale is Scale.LOG else options.margin
        same = list(equivalence(material.estimates, [t.first for t in tests], [t.second for t in tests], float(margin)))
    return tuple(_pair(test, material, options, p) for test, p in zip(tests, same, strict=True))


def _pair(test: PairTest, material: Material, options: Options, p_equivalent: float | None) -> Pair:
    ratio = _ratio(test, material.estimates, options.scale)
    why_not = _why_not(test.p_adj, ratio, options)
    ci = None if test.low is None or test.high is None else (test.low, test.high)
    levels = material.levels
    return Pair(
        a=levels[test.first],
        b=levels[test.second],
        difference=test.difference,
        ci=ci,
        ratio=ratio,
        ratio_ci=_as_ratios(ci) if options.scale is Scale.LOG else None,
        p_adj=test.p_adj,
        significant=why_not is None,
        why_not=why_not,
        statistic=test.statistic,
        df=test.df,
        effect=_effect(test, material, options),
        p_equivalent=None if p_equivalent is None else float(p_equivalent),
        equivalent=None if p_equivalent is None else bool(p_equivalent < options.alpha),
    )


def _as_ratios(ci: Limits | None) -> Limits | None:
    return None if ci is None else (from_scale(ci[0], Scale.LOG), from_scale(ci[1], Scale.LOG))


def _effect(pair: PairTest, material: Material, options: Options) -> float | None:
    i, j = pair.first, pair.second
    if options.test is DeclaredTest.KRUSKAL_DUNN_HOLM:
        return cliffs_delta(material.y[material.member == i], material.y[material.member == j])
    return hedges_g(pair.difference, float(material.sd[i, j]), float(material.sd_df[i, j]))


def _ratio(test: PairTest, estimates: Estimates, scale: Scale) -> float | None:
    if scale is Scale.LOG:
        return from_scale(test.difference, Scale.LOG)
    a, b = float(estimates.mean[test.first]), float(estimates.mean[test.second])
    return a / b if a > 0 and b > 0 else None


def _to_best(tests: Sequence[PairTest], material: Material, order: Sequence[int], options: Options) -> tuple[Best, ...]:
    """Returns Hsu's intervals; none for ranks, and none for modelled values: they would exclude the model's error."""
    if options.test is DeclaredTest.KRUSKAL_DUNN_HOLM or options.modelled:
        return ()
    entries = to_best(material.estimates, tests, alpha=options.alpha, higher_is_better=options.better is Better.HIGHER)
    close = {
        group
        for test in tests
        for group in (test.first, test.second)
        if _too_close(_ratio(test, material.estimates, options.scale), options)
    }
    return tuple(_best(entries[group], material.levels[group], options.scale, group in close) for group in order)


def _best(entry: ToBest, levels: dict[str, str], scale: Scale, close: bool) -> Best:
    log = scale is Scale.LOG
    return Best(
        levels=levels,
        difference=entry.difference,
        ci=(entry.low, entry.high),
        ratio=from_scale(entry.difference, Scale.LOG) if log else None,
        ratio_ci=_as_ratios((entry.low, entry.high)) if log else None,
        can_be_best=entry.can_be_best or close,
        is_best=entry.is_best and not close,
    )


def notes_on_models(options: Options) -> list[str]:
    """Returns notes on the limits of modelled values."""
    if not options.modelled:
        return []
    notes = [
        f"{options.response} is modelled, not measured: F, p and the intervals show how the model's inputs vary "
        "between runs, not the model's error"
    ]
    if not options.judged:
        notes.append(
            "so there are no letters, and no groups are called different: give the least ratio of means that the model "
            "resolves, --min-ratio R (a report states its model's under Method, `edgejoule meters` this machine's)"
        )
    if options.margin is not None:
        notes.append("no groups are called the same within the margin: the model's error may be larger than it")
    return notes


def _why_not(p_adj: float, ratio: float | None, options: Options) -> str | None:
    if not options.judged:
        return "modelled values, and no min_ratio says which ratio of means the model resolves"
    if not p_adj < options.alpha:
        return f"p_adj is not below {options.alpha:.4g}"
    if options.min_ratio is not None and ratio is None:
        return "no ratio of means that are not positive, so the least ratio cannot be checked"
    if _too_close(ratio, options):
        return f"the ratio of means lies within a factor of {options.min_ratio:g}, which is too close to call"
    return None


def _too_close(ratio: float | None, options: Options) -> bool:
    """True when a least ratio is set and this one does not reach it or is unknown."""
    if options.min_ratio is None:
        return False
    return ratio is None or 1 / options.min_ratio <= ratio <= options.min_ratio
