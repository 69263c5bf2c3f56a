"""The effects of factors and interactions on the primary response: one sentence each, the largest first.

A factor's sentence compares its means over the levels of the other factors. An effect's size is its share of the
variation (eta^2).
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence

from edgejoule.dictionary.responses import Better
from edgejoule.experiment.model import Level
from edgejoule.findings.design import label
from edgejoule.findings.model import AnalysisPart, Cell, Contrast, Effect, Ranking, ResponseFinding
from edgejoule.findings.sentences import (
    Question,
    Ranked,
    difference_text,
    interaction_sentence,
    sentence,
    sentence_forms,
)
from edgejoule.findings.text import ratio, unit_for
from edgejoule.stats import AnalysisResult
from edgejoule.stats.anova import AnovaRow
from edgejoule.stats.verdict import margin_text

EXACT = "(exact)"  # behind "equal", where counts have neither margin nor interval
_TETRAD_LEVELS_MAX = 30  # levels of a factor; tetrads of larger interactions are not computed

Levels = Mapping[str, Sequence[Level]]


def effects(r: ResponseFinding, levels: Levels) -> tuple[Effect, ...]:
    """Returns the effects on a response. levels: factor -> its levels, in the experiment's order."""
    if r.unusable or r.better is Better.NEITHER:
        return ()
    results = [effect for part in r.parts for effect in _of_part(part, r, levels)]
    return tuple(sorted(results, key=lambda e: -(e.share if e.share is not None else -1.0)))


def level_forms(k: Ranking, r: ResponseFinding, factor: str) -> list[str]:
    """Returns the verdict within one condition with the best one's figure, the longest form first."""
    unit = unit_for(r.unit, (c.mean for c in r.cells))
    best = k.cells[0]
    assert best.mean is not None
    others = [_of_contrast(c, unit.scale, unit.symbol) for c in k.contrasts]
    margin = next((p.analysis.margin for p in r.parts if p.analysis), None)
    return sentence_forms(_question(r, factor, best.mean, margin, exact=k.exact), best.levels[factor], others)


def what_text(r: ResponseFinding, *, capital: bool = False) -> str:
    """Returns the label of a response, with the method for energy: energy per operation (counted)."""
    text = f"{r.label} ({r.method})" if r.is_energy else r.label
    return f"{text[0].upper()}{text[1:]}" if capital else text


def most_text(r: ResponseFinding) -> str:
    """Returns what the best level has: Least energy per operation (counted); Highest throughput."""
    return f"{_most(r).capitalize()} {what_text(r)}"


def _most(r: ResponseFinding) -> str:
    if r.better is Better.HIGHER:
        return "highest"
    return "least" if r.name == "energy_per_op_uj" else "lowest"


def _of_contrast(c: Contrast, scale: float, symbol: str) -> Ranked:
    more = None if c.difference is None else difference_text(c.difference, scale, symbol)
    return Ranked(
        c.other, c.ratio, more, c.differs, c.equivalent, c.ci, c.difference_ci and scaled(c.difference_ci, scale)
    )


def scaled(limits: tuple[float, float], scale: float) -> tuple[float, float]:
    """Converts an interval into a display unit."""
    return limits[0] / scale, limits[1] / scale


def _of_part(part: AnalysisPart, r: ResponseFinding, levels: Levels) -> list[Effect]:
    if part.analysis is None:
        untested = [_untested(factor, part, r, levels[factor]) for factor in levels if factor not in part.where]
        return [effect for effect in untested if effect]
    rows = [row for row in part.analysis.anova.rows if row.source != part.analysis.block]
    results = [_of_row(row, part, part.analysis, r, levels) for row in rows]
    return [effect for effect in results if effect]


def _of_row(
    row: AnovaRow, part: AnalysisPart, analysis: AnalysisResult, r: ResponseFinding, levels: Levels
) -> Effect | None:
    factors = tuple(row.source.split(":"))
    if not set(factors) <= set(levels):
        return None
    if len(factors) > 1:
        text = _interaction(factors, row, analysis, r)
    elif factors[0] in part.margins:
        text = _factor(factors[0], part.margins[factors[0]], r, levels[factors[0]])
    else:
        return _untested(factors[0], part, r, levels[factors[0]])
    return Effect(factors, part.where, row.eta2, text)


def _factor(factor: str, analysis: AnalysisResult, r: ResponseFinding, levels: Sequence[Level]) -> str:
    unit = unit_for(r.unit, (c.mean for c in r.cells))
    by_text = {str(level): level for level in levels}
    best = analysis.groups[0]
    others = []
    for group in analysis.groups[1:]:
        pair = next(p for p in analysis.pairs if p.b == best.levels and p.a == group.levels)
        times = pair.ratio
        ratio_ci = pair.ratio_ci
        if times is not None and r.better is Better.HIGHER:
            times = 1 / times if times else None
            ratio_ci = ratio_ci and (1 / ratio_ci[1], 1 / ratio_ci[0])
        difference_ci = scaled(pair.ci, unit.scale) if pair.ci and ratio_ci is None else None
        differs = pair.significant if analysis.judged else None
        more = difference_text(pair.difference, unit.scale, unit.symbol) if times is None else None
        others.append(
            Ranked(by_text[group.levels[factor]], times, more, differs, pair.equivalent, ratio_ci, difference_ci)
        )
    return sentence(_question(r, factor, best.mean, analysis.margin), by_text[best.levels[factor]], others)


def _question(r: ResponseFinding, factor: str, mean: float, margin: float | None, *, exact: bool = False) -> Question:
    unit = unit_for(r.unit, (c.mean for c in r.cells))
    return Question(
        factor=factor, label=what_text(r), least=_most(r), higher=r.better is Better.HIGHER, symbol=unit.symbol,
        value=unit.text(mean), resolved=r.min_ratio, exact=exact,
        equal_text=EXACT if exact else None if margin is None else margin_text(margin, log=r.scale == "log"),
    )  # fmt: skip


def _untested(factor: str, part: AnalysisPart, r: ResponseFinding, levels: Sequence[Level]) -> Effect | None:
    """Describes a factor by plain means, if there is no analysis or the means over the other factors do not exist."""
    cells = [c for c in r.cells if c.mean is not None and all(c.levels[n] == v for n, v in part.where.items())]
    means = _plain_means(factor, cells, levels)
    if len(means) < 2:
        return None
    order = sorted(means, key=means.__getitem__, reverse=r.better is Better.HIGHER)
    best, unit = means[order[0]], unit_for(r.unit, (c.mean for c in r.cells))
    others = []
    for level in order[1:]:
        both = (best, means[level])
        times = max(both) / min(both) if min(both) > 0 else None
        if r.exact:
            more = difference_text(both[1] - both[0], unit.scale, unit.symbol)
            others.append(Ranked(level, times, more, differs=both[0] != both[1], equal=both[0] == both[1]))
        else:
            others.append(Ranked(level, times))
    question = _question(r, factor, best, None, exact=r.exact)
    return Effect((factor,), part.where, None, sentence(question, order[0], others))


def _plain_means(factor: str, cells: Sequence[Cell], levels: Sequence[Level]) -> dict[Level, float]:
    """Averages each level over the conditions in which every level has a mean; geometric if all means are positive."""
    rest: dict[str, dict[Level, float]] = {}
    for cell in cells:
        assert cell.mean is not None
        condition = label({n: v for n, v in cell.levels.items() if n != factor})
        rest.setdefault(condition, {})[cell.levels[factor]] = cell.mean
    there = [level for level in levels if any(level in own for own in rest.values())]
    whole = [own for own in rest.values() if all(level in own for level in there)]
    if not whole:
        return {}
    positive = all(mean > 0 for own in whole for mean in own.values())
    average = statistics.geometric_mean if positive else statistics.fmean
    return {level: average([own[level] for own in whole]) for level in there}


def _interaction(factors: tuple[str, ...], row: AnovaRow, analysis: AnalysisResult, r: ResponseFinding) -> str:
    size = _tetrad(factors, analysis) if len(factors) == 2 else None
    log = analysis.scale == "log"
    at_most = None
    if size is not None:
        unit = unit_for(r.unit, (c.mean for c in r.cells))
        at_most = f"{ratio(math.exp(size))}×" if log else difference_text(size, unit.scale, unit.symbol)
    shows: bool | None = None
    if analysis.judged and row.p is not None:
        shows = row.p < analysis.alpha
        if shows and r.min_ratio is not None and log:
            shows = size is not None and math.exp(size) > r.min_ratio
    return interaction_sentence(factors, shows=shows, at_most=at_most, resolved=r.min_ratio)


def _tetrad(factors: tuple[str, ...], analysis: AnalysisResult) -> float | None:
    """Returns the largest tetrad difference: how much the difference between two levels of one factor changes between
    two levels of the other. None for too many levels or a missing cell.
    """
    first, second = factors
    sums: dict[tuple[str, str], list[float]] = {}
    for group in analysis.groups:
        value = math.log(group.mean) if analysis.scale == "log" else group.mean
        sums.setdefault((group.levels[first], group.levels[second]), []).append(value)
    mean = {place: statistics.fmean(values) for place, values in sums.items()}
    rows, columns = (list(dict.fromkeys(place[i] for place in mean)) for i in (0, 1))
    if max(len(rows), len(columns)) > _TETRAD_LEVELS_MAX or len(mean) < len(rows) * len(columns):
        return None
    sizes = [
        abs(mean[a, c] - mean[b, c] - mean[a, d] + mean[b, d])
        for a, b in itertools.combinations(rows, 2)
        for c, d in itertools.combinations(columns, 2)
    ]
    return max(sizes, default=None)
