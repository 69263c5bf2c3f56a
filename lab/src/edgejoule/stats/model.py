"""The results of an analysis: groups, pairs and tables, with their JSON form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from edgejoule.dictionary.responses import Better
from edgejoule.stats.aa import SameAgainstSame
from edgejoule.stats.anova import Anova, AnovaRow
from edgejoule.stats.autocorrelation import Serial
from edgejoule.stats.declared import DeclaredTest
from edgejoule.stats.diagnostics import Check, Diagnostics
from edgejoule.stats.distribution import Distribution
from edgejoule.stats.omnibus import Omnibus
from edgejoule.stats.precision import RunsNeeded, Stein
from edgejoule.stats.scale import Scale
from edgejoule.stats.spending import Looks

Json = dict[str, object]
Limits = tuple[float, float]


@dataclass(frozen=True)
class Group:
    """A cell of the compared factors.

    n: number of values, or of loads if runs share loads. mean: geometric on the log scale, arithmetic on the raw scale,
    adjusted for blocks. ci95: 95 % interval of the mean from the errors that the declared test uses; nan if these are
    unknown. letters: None unless AnalysisResult.judged. sd, median, min, max, mean_arithmetic: of the raw values. sd:
    None for one value. mean_rank: only for a test on ranks. distribution: only on request.
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
    mean_rank: float | None = None
    distribution: Distribution | None = None

    @property
    def label(self) -> str:
        """Returns the levels as text: "wool A, tension L"."""
        return label_of(self.levels)

    def to_json(self) -> Json:
        """Returns one entry of "groups"."""
        return {
            "levels": dict(self.levels),
            "n": self.n,
            "mean": finite(self.mean),
            "ci95": limits_json(self.ci95),
            "letters": self.letters,
            "mean_arithmetic": finite(self.mean_arithmetic),
            "sd": finite(self.sd),
            "median": self.median,
            "min": self.min,
            "max": self.max,
            "mean_rank": self.mean_rank,
            **({"distribution": self.distribution.to_json()} if self.distribution else {}),
        }


@dataclass(frozen=True)
class Pair:
    """Group a compared with the better group b.

    difference, ci: mean(a) - mean(b) on the scale of analysis (of logarithms on the log scale) and its simultaneous
    interval at 1 - alpha; ci is None for Dunn's test. ratio: mean(a) / mean(b), None unless both are positive.
    ratio_ci: only on the log scale. p_adj: of the declared test, independent of min_ratio. significant: p_adj < alpha
    and, if min_ratio is set, a ratio beyond it; modelled values require a min_ratio. why_not: the unmet condition, None
    if significant. statistic, df: t with its df, or z of mean ranks. effect: see AnalysisResult.effect_name.
    p_equivalent: p for the hypothesis that they differ by the margin or more; None without a margin.
    """

    a: dict[str, str]
    b: dict[str, str]
    difference: float
    ci: Limits | None
    ratio: float | None
    ratio_ci: Limits | None
    p_adj: float
    significant: bool
    why_not: str | None
    statistic: float | None = None
    df: float | None = None
    effect: float | None = None
    p_equivalent: float | None = None
    equivalent: bool | None = None

    def to_json(self) -> Json:
        """Returns one entry of "pairs"."""
        return {
            "a": dict(self.a),
            "b": dict(self.b),
            "difference": finite(self.difference),
            "ci": limits_json(self.ci),
            "ratio": finite(self.ratio),
            "ratio_ci": limits_json(self.ratio_ci),
            "statistic": finite(self.statistic),
            "df": finite(self.df),
            "p_adj": finite(self.p_adj),
            "significant": self.significant,
            "why_not": self.why_not,
            "effect": finite(self.effect),
            "p_equivalent": finite(self.p_equivalent),
            "equivalent": self.equivalent,
        }


@dataclass(frozen=True)
class Best:
    """A group compared with the best of the others: Hsu's constrained interval on the scale of analysis.

    ratio, ratio_ci: only on the log scale. is_best: the interval excludes that another group is better. can_be_best:
    the interval does not exclude that this group is the best. A group within min_ratio of another can be the best but
    is never is_best.
    """

    levels: dict[str, str]
    difference: float
    ci: Limits
    ratio: float | None
    ratio_ci: Limits | None
    can_be_best: bool
    is_best: bool

    def to_json(self) -> Json:
        """Returns one entry of "to_best"."""
        return {
            "levels": dict(self.levels),
            "difference": finite(self.difference),
            "ci": limits_json(self.ci),
            "ratio": finite(self.ratio),
            "ratio_ci": limits_json(self.ratio_ci),
            "can_be_best": self.can_be_best,
            "is_best": self.is_best,
        }


@dataclass(frozen=True)
class Precision:
    """A declared precision of each mean: the number of runs that it needs, and Stein's second stage."""

    declared: float
    have: int
    needed: RunsNeeded
    stein: Stein

    def to_json(self) -> Json:
        """Returns runs per group, in total ("needed") and beyond the existing ones ("more")."""
        more = self.needed.more(self.have)
        return {
            "declared": self.declared,
            "have": self.have,
            "needed": {"estimate": self.needed.estimate, "low": self.needed.low, "high": self.needed.high},
            "more": {"estimate": more.estimate, "low": more.low, "high": more.high},
            "stein": {"total": self.stein.total, "half_width": self.stein.half_width, "level": self.stein.level},
        }


@dataclass(frozen=True)
class LookTaken:
    """A look of a sequential design. look: its number, from 1. decided: pairs with p below this look's level."""

    looks: Looks
    look: int
    decided: int
    pairs: int

    @property
    def last(self) -> bool:
        """True when no look is left."""
        return self.look == len(self.looks.runs)

    @property
    def stop(self) -> bool:
        """True when everything is decided or no look is left."""
        return self.last or self.decided == self.pairs

    def to_json(self) -> Json:
        """Returns the plan, the look and the decision."""
        return {
            "looks": self.looks.to_json(),
            "look": self.look,
            "level": self.looks.level[self.look - 1],
            "decided": self.decided,
            "pairs": self.pairs,
            "stop": self.stop,
        }


@dataclass(frozen=True)
class AnalysisResult:
    """The analysis of one response. Groups are ordered from best to worst; the first letter marks the best.

    n: observations used; loads x cells if runs share loads. modelled, min_ratio: see `analyse`. omnibus: of the
    declared test; None for tukey, whose omnibus test is the ANOVA. effect_name: hedges_g or cliffs_delta. to_best:
    empty for modelled values and ranks. notes: limitations, sentences without full stop.
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
    test: DeclaredTest = DeclaredTest.TUKEY
    unit: str | None = None
    omnibus: Omnibus | None = None
    effect_name: str = "hedges_g"
    to_best: tuple[Best, ...] = ()
    margin: float | None = None
    serial: Serial | None = None
    same: SameAgainstSame | None = None
    precision: Precision | None = None
    sequential: LookTaken | None = None

    @property
    def judged(self) -> bool:
        """Whether groups can be called different: modelled values need a min_ratio."""
        return not self.modelled or self.min_ratio is not None

    def to_json(self) -> Json:
        """Returns the output of `edgejoule analyse --json`; a missing figure is null."""
        return {
            "response": self.response,
            "factors": list(self.factors),
            "block": self.block,
            "unit": self.unit,
            "scale": str(self.scale),
            "alpha": self.alpha,
            "better": str(self.better),
            "modelled": self.modelled,
            "min_ratio": self.min_ratio,
            "n": self.n,
            "ss_type": str(self.anova.ss_type),
            "test": str(self.test),
            "omnibus": self.omnibus.to_json() if self.omnibus else None,
            "anova": [_row_json(row) for row in self.anova.table],
            "error": {"df": self.anova.error_df, "ms": self.anova.error_ms},
            "groups": [group.to_json() for group in self.groups],
            "effect_name": self.effect_name,
            "margin": self.margin,
            "pairs": [pair.to_json() for pair in self.pairs],
            "to_best": [best.to_json() for best in self.to_best],
            "diagnostics": {
                "shapiro_wilk": _check_json(self.diagnostics.shapiro_wilk),
                "brown_forsythe": _check_json(self.diagnostics.brown_forsythe),
                "autocorrelation": _serial_json(self.serial),
            },
            "same_against_same": _same_json(self.same, self.groups),
            "precision": self.precision.to_json() if self.precision else None,
            "sequential": self.sequential.to_json() if self.sequential else None,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Extremes:
    """The groups with the lowest and the highest median under one level of a factor."""

    level: str
    lowest: Group
    highest: Group


@dataclass(frozen=True)
class AnalysisBy:
    """One analysis per level of the factor `by`, in the order of the levels."""

    by: str
    analyses: dict[str, AnalysisResult]

    @property
    def extremes(self) -> tuple[Extremes, ...]:
        """The lowest and the highest median of each level, as in table 2 of Liu, Wang and Chen."""
        return tuple(extremes_of(level, analysis) for level, analysis in self.analyses.items())

    def to_json(self) -> Json:
        """Returns {"by", "analyses": [{"level", ...}], "extremes": [{"level", "lowest", "highest"}]}."""
        return {
            "by": self.by,
            "analyses": [{"level": level, **analysis.to_json()} for level, analysis in self.analyses.items()],
            "extremes": [
                {
                    "level": extreme.level,
                    "lowest": {"levels": extreme.lowest.levels, "median": extreme.lowest.median},
                    "highest": {"levels": extreme.highest.levels, "median": extreme.highest.median},
                }
                for extreme in self.extremes
            ],
        }


def extremes_of(level: str, analysis: AnalysisResult) -> Extremes:
    """Returns the groups with the lowest and the highest median."""
    ordered = sorted(analysis.groups, key=lambda group: group.median)
    return Extremes(level, ordered[0], ordered[-1])


def finite(value: float | None) -> float | None:
    """Returns the value, or None if it is not finite, because JSON has no nan."""
    return value if value is not None and math.isfinite(value) else None


def limits_json(limits: Limits | None) -> list[float | None] | None:
    """Returns an interval as a list; None without one."""
    return None if limits is None else [finite(limits[0]), finite(limits[1])]


def label_of(levels: Mapping[str, str]) -> str:
    """Returns levels as text: "wool A, tension L"."""
    return ", ".join(f"{name} {level}" for name, level in levels.items())


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
        **({"error": row.error} if row.error else {}),
    }


def _check_json(check: Check) -> Json:
    reason = {} if check.reason is None else {"reason": check.reason}
    return {"statistic": finite(check.statistic), "p": finite(check.p), **reason}


def _serial_json(serial: Serial | None) -> Json | None:
    return None if serial is None else {"lag1": serial.lag1, "expected": serial.expected, "p": serial.p, "n": serial.n}


def _same_json(same: SameAgainstSame | None, groups: tuple[Group, ...]) -> Json | None:
    if same is None:
        return None
    return {
        "splits": same.splits,
        "false_alarms": same.false_alarms,
        "ci95": list(same.ci95),
        "alpha": same.alpha,
        "drift": [
            {"levels": dict(groups[drift.group].levels), "difference": drift.difference, "p": drift.p}
            for drift in same.drifts
        ],
    }
