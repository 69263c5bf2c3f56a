"""From a table of runs to the answer: ANOVA, means with intervals, Tukey pairs, letters, checks and notes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, overload

import numpy as np

from edgejoule.errors import DataError, UsageError
from edgejoule.responses import RESPONSES, Better, nearest
from edgejoule.stats.anova import Anova, AnovaRow, SsType, anova
from edgejoule.stats.cells import CellMeans, cell_means, marginal_means
from edgejoule.stats.describe import interval
from edgejoule.stats.diagnostics import Check, Diagnostics, diagnose
from edgejoule.stats.factor import Factor
from edgejoule.stats.letters import compact_letters
from edgejoule.stats.scale import FloatArray, Scale, from_scale, to_scale
from edgejoule.stats.tukey import TukeyPair, tukey

Json = dict[str, object]
Columns = Mapping[str, Sequence[object]]
Limits = tuple[float, float]
MODELLED = "modelled"
_Choice = TypeVar("_Choice", Scale, Better, SsType)


@dataclass(frozen=True)
class Group:
    """A cell of the compared factors.

    mean: geometric on the log scale, arithmetic on the raw one, adjusted for blocks. ci95: 95 % interval of the mean
    from the model's error. letters: None where nothing is judged, see Analysis.judged. sd, median, min, max,
    mean_arithmetic: of the values as they are. sd is None for one value.
    """

    levels: dict[str, str]
    n: int
    mean: float
    ci95: Limits
    letters: str | None
    mean_arithmetic: float
    sd: float | None
    median: float
    min: float
    max: float

    @property
    def label(self) -> str:
        """The levels in words: "wool A, tension L"."""
        return label_of(self.levels)

    def to_json(self) -> Json:
        """One entry of "groups"."""
        return {
            "levels": dict(self.levels),
            "n": self.n,
            "mean": finite(self.mean),
            "ci95": [finite(self.ci95[0]), finite(self.ci95[1])],
            "letters": self.letters,
            "mean_arithmetic": finite(self.mean_arithmetic),
            "sd": finite(self.sd),
            "median": self.median,
            "min": self.min,
            "max": self.max,
        }


@dataclass(frozen=True)
class Pair:
    """Group a against group b, which is placed better.

    difference, ci: mean(a) - mean(b) on the scale of analysis (of logarithms on the log scale) and its simultaneous
    interval at 1 - alpha. ratio: mean(a) / mean(b), None unless both are positive; ratio_ci on the log scale only.
    p_adj: Tukey's, untouched by min_ratio. significant: the groups are called different, which takes p_adj < alpha, a
    ratio beyond min_ratio, and for modelled values that there is a min_ratio; why_not says what failed, None when
    significant.
    """

    a: dict[str, str]
    b: dict[str, str]
    difference: float
    ci: Limits
    ratio: float | None
    ratio_ci: Limits | None
    p_adj: float
    significant: bool
    why_not: str | None

    def to_json(self) -> Json:
        """One entry of "pairs"."""
        return {
            "a": dict(self.a),
            "b": dict(self.b),
            "difference": finite(self.difference),
            "ci": [finite(self.ci[0]), finite(self.ci[1])],
            "ratio": finite(self.ratio),
            "ratio_ci": [finite(self.ratio_ci[0]), finite(self.ratio_ci[1])] if self.ratio_ci else None,
            "p_adj": finite(self.p_adj),
            "significant": self.significant,
            "why_not": self.why_not,
        }


@dataclass(frozen=True)
class Analysis:
    """The analysis of one response. Groups are ordered from best to worst; the first letter marks the best.

    n: observations used. modelled, min_ratio: see `analyse`. notes: what a reader must know, in sentences without full
    stop.
    """

    response: str
    factors: tuple[str, ...]
    block: str | None
    scale: Scale
    alpha: float
    better: Better
    modelled: bool
    min_ratio: float | None
    n: int
    anova: Anova
    groups: tuple[Group, ...]
    pairs: tuple[Pair, ...]
    diagnostics: Diagnostics
    notes: tuple[str, ...]

    @property
    def judged(self) -> bool:
        """Whether groups can be called different: modelled values need the least ratio that their model resolves."""
        return not self.modelled or self.min_ratio is not None

    def to_json(self) -> Json:
        """The form of `edgejoule analyse --json`; a figure that does not exist is null."""
        return {
            "response": self.response,
            "factors": list(self.factors),
            "block": self.block,
            "scale": str(self.scale),
            "alpha": self.alpha,
            "better": str(self.better),
            "modelled": self.modelled,
            "min_ratio": self.min_ratio,
            "n": self.n,
            "ss_type": str(self.anova.ss_type),
            "test": "tukey-kramer",
            "anova": [_row_json(row) for row in self.anova.table],
            "error": {"df": self.anova.error_df, "ms": self.anova.error_ms},
            "groups": [group.to_json() for group in self.groups],
            "pairs": [pair.to_json() for pair in self.pairs],
            "diagnostics": {
                "shapiro_wilk": _check_json(self.diagnostics.shapiro_wilk),
                "brown_forsythe": _check_json(self.diagnostics.brown_forsythe),
            },
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class AnalysisBy:
    """One analysis per level of the factor `by`, in the order of the levels."""

    by: str
    analyses: dict[str, Analysis]

    def to_json(self) -> Json:
        """{"by", "analyses": [{"level", ...an Analysis}]}."""
        return {
            "by": self.by,
            "analyses": [{"level": level, **analysis.to_json()} for level, analysis in self.analyses.items()],
        }


@dataclass(frozen=True)
class _Options:
    response: str
    factors: tuple[str, ...]
    compare: tuple[str, ...]
    block: str | None
    scale: Scale
    alpha: float
    better: Better
    modelled: bool
    min_ratio: float | None
    ss_type: SsType

    @property
    def judged(self) -> bool:
        return not self.modelled or self.min_ratio is not None


@overload
def analyse(
    table: Columns,
    response: str,
    factors: Sequence[str],
    *,
    block: str | None = ...,
    scale: Scale | str = ...,
    alpha: float = ...,
    by: None = ...,
    compare: Sequence[str] | None = ...,
    modelled: bool | None = ...,
    min_ratio: float | None = ...,
    better: Better | str | None = ...,
    ss_type: SsType | str = ...,
) -> Analysis: ...


@overload
def analyse(
    table: Columns,
    response: str,
    factors: Sequence[str],
    *,
    block: str | None = ...,
    scale: Scale | str = ...,
    alpha: float = ...,
    by: str,
    compare: Sequence[str] | None = ...,
    modelled: bool | None = ...,
    min_ratio: float | None = ...,
    better: Better | str | None = ...,
    ss_type: SsType | str = ...,
) -> AnalysisBy: ...


def analyse(
    table: Columns,
    response: str,
    factors: Sequence[str],
    *,
    block: str | None = None,
    scale: Scale | str = Scale.LOG,
    alpha: float = 0.05,
    by: str | None = None,
    compare: Sequence[str] | None = None,
    modelled: bool | None = None,
    min_ratio: float | None = None,
    better: Better | str | None = None,
    ss_type: SsType | str = SsType.II,
) -> Analysis | AnalysisBy:
    """Analyse column `response` of the table by the columns `factors`.

    table: column name -> one value per row; None or NaN is missing, and rows with a missing value are dropped and
    counted in the notes. block: an additive factor without interactions (experiments run in randomised blocks).
    by: one analysis per level of this column, which is then no factor. compare: the factors whose cells are compared
    (default: all). modelled: the response comes from a model (default: its name ends in ".modelled", as export has it).
    min_ratio: means closer than this factor are never called different, whatever their p; modelled values are never
    called different without it, for p knows nothing of their model's error. better: which mean comes first and gets
    letter a (default: as the dictionary of responses says, else the lowest). A factor with one level is left out, with
    a note.

    UsageError for an unknown column or a contradictory option; DataError for data that cannot be analysed.
    """
    options = _checked(
        table,
        _Options(
            response=response,
            factors=tuple(name for name in factors if name != by),
            compare=tuple(name for name in (factors if compare is None else compare) if name != by),
            block=block,
            scale=_one_of(Scale, scale, "scale"),
            alpha=alpha,
            better=_default_better(response) if better is None else _one_of(Better, better, "better"),
            modelled=response.endswith(f".{MODELLED}") if modelled is None else modelled,
            min_ratio=min_ratio,
            ss_type=_one_of(SsType, ss_type, "ss_type"),
        ),
        by,
    )
    if by is None:
        return _analyse_one(table, options)
    levels = list(dict.fromkeys(str(value) for value in table[by] if not _missing(value)))
    if not levels:
        raise DataError(f"column {by!r} has no values")
    analyses = {}
    for level in levels:
        rows = [row for row, value in enumerate(table[by]) if not _missing(value) and str(value) == level]
        part = {name: [column[row] for row in rows] for name, column in table.items()}
        try:
            analyses[level] = _analyse_one(part, options)
        except DataError as error:
            raise DataError(f"{by} = {level}: {error}") from error
    return AnalysisBy(by, analyses)


def finite(value: float | None) -> float | None:
    """The value, None if it is not finite: JSON has no nan."""
    return value if value is not None and math.isfinite(value) else None


def label_of(levels: Mapping[str, str]) -> str:
    """Levels in words: "wool A, tension L"."""
    return ", ".join(f"{name} {level}" for name, level in levels.items())


def _one_of(kind: type[_Choice], value: str, option: str) -> _Choice:
    try:
        return kind(value)
    except ValueError as error:
        known = ", ".join(member.value for member in kind)
        raise UsageError(f"{option}: expected one of {known}, got {value!r}") from error


def _default_better(response: str) -> Better:
    known = RESPONSES.get(response) or RESPONSES.get(response.rpartition(".")[0])
    return known.better if known and known.better is not Better.NEITHER else Better.LOWER


def _checked(table: Columns, options: _Options, by: str | None) -> _Options:
    named = [options.response, *options.factors, *([options.block] if options.block else []), *([by] if by else [])]
    for name in named:
        if name not in table:
            raise UsageError(f"no column {name!r}; {nearest(name, table)}")
        if named.count(name) > 1:
            raise UsageError(f"column {name!r} is named twice among response, factors, block and by")
    if not options.factors:
        raise UsageError("no factor to analyse by: name at least one column")
    for name in options.compare:
        if name not in options.factors or options.compare.count(name) > 1:
            raise UsageError(f"compare: {name!r} must be one of the factors, once; {nearest(name, options.factors)}")
    if not options.compare:
        raise UsageError("compare: name at least one factor")
    if not 0 < options.alpha < 1:
        raise UsageError(f"alpha: expected a level between 0 and 1, got {options.alpha}")
    if options.min_ratio is not None and not 1 <= options.min_ratio < math.inf:
        raise UsageError(f"min_ratio: expected a factor of 1 or more, got {options.min_ratio}")
    if len({len(table[name]) for name in named}) > 1:
        raise DataError("the columns differ in length")
    return options


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _number(value: object, response: str, row: int) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise DataError(f"{response}: row {row + 1}: expected a number, got {value!r}")
    if not math.isfinite(value):
        raise DataError(f"{response}: row {row + 1}: expected a finite number, got {value!r}")
    return float(value)


def _analyse_one(table: Columns, options: _Options) -> Analysis:
    needed = [options.response, *options.factors, *([options.block] if options.block else [])]
    total = len(table[options.response])
    rows = [row for row in range(total) if not any(_missing(table[name][row]) for name in needed)]
    if len(rows) < 2:
        raise DataError(f"{options.response}: {len(rows)} complete rows of {total}; at least two groups are needed")
    notes = []
    if len(rows) < total:
        notes.append(f"{total - len(rows)} of {total} rows dropped: a value is missing")

    raw = np.array([_number(table[options.response][row], options.response, row) for row in rows])
    y = to_scale(raw, options.scale, options.response)
    factors = [Factor.of(name, [table[name][row] for row in rows]) for name in options.factors]
    block = Factor.of(options.block, [table[options.block][row] for row in rows]) if options.block else None
    for factor in [*factors, *([block] if block else [])]:
        if len(factor.levels) == 1:
            notes.append(f"{factor.name} has one level only ({factor.levels[0]}) and is left out")
    factors = [factor for factor in factors if len(factor.levels) > 1]
    block = block if block and len(block.levels) > 1 else None
    if not factors:
        raise DataError(f"{options.response}: a single group; no factor has two levels, so there is nothing to compare")

    kept = {factor.name for factor in factors}
    compare = tuple(name for name in options.compare if name in kept)
    if not compare:
        raise DataError(f"{', '.join(options.compare)} has one level only: nothing to compare")
    options = replace(options, factors=tuple(factor.name for factor in factors), compare=compare)
    table_of_variance = anova(y, factors, block=block, ss_type=options.ss_type)
    full = cell_means(y, factors, block=block)
    means = marginal_means(full, factors, options.compare)
    groups, pairs = _compared(raw, means, table_of_variance, options)
    return Analysis(
        response=options.response,
        factors=options.factors,
        block=block.name if block else None,
        scale=options.scale,
        alpha=options.alpha,
        better=options.better,
        modelled=options.modelled,
        min_ratio=options.min_ratio,
        n=int(y.size),
        anova=table_of_variance,
        groups=groups,
        pairs=pairs,
        diagnostics=diagnose(full.residuals, full.member),
        notes=(*notes, *table_of_variance.notes, *_model_notes(options)),
    )


def _compared(
    raw: FloatArray, means: CellMeans, model: Anova, options: _Options
) -> tuple[tuple[Group, ...], tuple[Pair, ...]]:
    """Groups and pairs in display order, letters from the pairs' verdicts."""
    sign = -1 if options.better is Better.HIGHER else 1
    order = sorted(range(len(means.cells)), key=lambda cell: sign * means.mean[cell])
    pairs_by_cell = tukey(
        means.mean, means.covariance, model.error_ms, model.error_df, alpha=options.alpha, order=order
    )
    levels = [dict(zip(means.names, cell, strict=True)) for cell in means.cells]
    differ = np.zeros((len(order), len(order)), dtype=bool)
    pairs = []
    for found in pairs_by_cell:
        pair = _pair(found, levels, means, options)
        differ[found.first, found.second] = differ[found.second, found.first] = pair.significant
        pairs.append(pair)
    letters = compact_letters(differ, order) if options.judged else [None] * len(order)
    groups = tuple(
        _group(raw[means.member == cell], levels[cell], means, cell, model, options.scale, letters[cell])
        for cell in order
    )
    return groups, tuple(pairs)


def _group(
    values: FloatArray,
    levels: dict[str, str],
    means: CellMeans,
    cell: int,
    model: Anova,
    scale: Scale,
    letters: str | None,
) -> Group:
    mean = float(means.mean[cell])
    low, high = interval(mean, float(means.covariance[cell, cell]), model.error_ms, model.error_df)
    return Group(
        levels=levels,
        n=int(values.size),
        mean=from_scale(mean, scale),
        ci95=(from_scale(low, scale), from_scale(high, scale)),
        letters=letters,
        mean_arithmetic=float(values.mean()),
        sd=float(values.std(ddof=1)) if values.size > 1 else None,
        median=float(np.median(values)),
        min=float(values.min()),
        max=float(values.max()),
    )


def _pair(found: TukeyPair, levels: list[dict[str, str]], means: CellMeans, options: _Options) -> Pair:
    ratio = _ratio(found, means, options.scale)
    why_not = _why_not(found.p_adj, ratio, options)
    log = options.scale is Scale.LOG
    return Pair(
        a=levels[found.first],
        b=levels[found.second],
        difference=found.difference,
        ci=(found.low, found.high),
        ratio=ratio,
        ratio_ci=(from_scale(found.low, Scale.LOG), from_scale(found.high, Scale.LOG)) if log else None,
        p_adj=found.p_adj,
        significant=why_not is None,
        why_not=why_not,
    )


def _ratio(found: TukeyPair, means: CellMeans, scale: Scale) -> float | None:
    if scale is Scale.LOG:
        return from_scale(found.difference, Scale.LOG)
    a, b = float(means.mean[found.first]), float(means.mean[found.second])
    return a / b if a > 0 and b > 0 else None


def _model_notes(options: _Options) -> list[str]:
    if not options.modelled:
        return []
    notes = [
        f"{options.response} is modelled, not measured: F, p and the intervals tell how the model's inputs vary "
        "between runs, and know nothing of the model's own error"
    ]
    if not options.judged:
        notes.append(
            "so there are no letters, and no groups are called different: give the least ratio of means that the model "
            "resolves, --min-ratio R (a report states its model's under Method, `edgejoule meters` this machine's)"
        )
    return notes


def _why_not(p_adj: float, ratio: float | None, options: _Options) -> str | None:
    if not options.judged:
        return "modelled values, and no min_ratio says which ratio of means the model resolves"
    if not p_adj < options.alpha:
        return f"p_adj is not below {options.alpha:g}"
    if options.min_ratio is None:
        return None
    if ratio is None:
        return "no ratio of means that are not positive, so the least ratio cannot be checked"
    if 1 / options.min_ratio <= ratio <= options.min_ratio:
        return f"the ratio of means lies within a factor of {options.min_ratio:g}, which is too close to tell apart"
    return None


def _row_json(row: AnovaRow) -> Json:
    return {
        "source": row.source,
        "df": row.df,
        "ss": finite(row.ss),
        "ms": finite(row.ms),
        "F": finite(row.f),
        "p": finite(row.p),
        "eta2": finite(row.eta2),
        "omega2": finite(row.omega2),
    }


def _check_json(check: Check) -> Json:
    return {"statistic": finite(check.statistic), "p": finite(check.p)}
