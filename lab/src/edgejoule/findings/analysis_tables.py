"""Tables of one analysis, for the terminal and the HTML report."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from edgejoule.findings.table import Cell, CellMark, CellRole, Table, soft, strong
from edgejoule.findings.text import number, ratio
from edgejoule.stats import AnovaRow
from edgejoule.stats.distribution import QUANTILES
from edgejoule.stats.figures import figure, p_value, power_of_ten
from edgejoule.stats.model import AnalysisResult, Best, Extremes, Group, Limits, Pair
from edgejoule.stats.regression import Line, Regression
from edgejoule.stats.verdict import source_label

_EFFECTS = {"hedges_g": "effect (Hedges' g)", "cliffs_delta": "effect (Cliff's δ)"}


def p_text(p: float | None) -> str:
    """Formats a p value with three decimals, or as "< 0.001"; empty for None."""
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


@dataclass(frozen=True)
class Figures:
    """Number formats. value: in a response's unit. amount: any other quantity. minus: the minus sign."""

    value: Callable[[float], str]
    ratio: Callable[[float], str]
    amount: Callable[[float], str]
    p: Callable[[float | None], str]
    minus: str

    def interval(self, limits: Limits | None, write: Callable[[float], str]) -> str:
        """Formats two limits; empty for None."""
        return "" if limits is None else f"{write(limits[0])} to {write(limits[1])}"

    def decimals(self, value: float | None, digits: int) -> str:
        """Formats a number with fixed decimals; empty for None."""
        return "" if value is None else f"{value:.{digits}f}".replace("-", self.minus)

    def optional(self, value: float | None) -> str:
        """Formats an amount; empty for None."""
        return "" if value is None else self.amount(value)


#: Four significant digits, p to four decimals, in the data's units.
TERMINAL = Figures(figure, figure, figure, p_value, "-")


def page(value: Callable[[float], str] = number) -> Figures:
    """Returns the report's formats: three significant digits, p to three decimals."""
    return Figures(value, ratio, number, p_text, "−")


def anova(a: AnalysisResult, figures: Figures, caption: str, note: str | None = None) -> Table:
    """Returns the table of the analysis of variance."""
    exponent = _exponent([row.ss for row in a.anova.table if row.ss])
    unit = f" / {power_of_ten(exponent)}" if exponent else ""
    columns = ("source", "df", f"SS{unit}", f"MS{unit}", "F", "p", "share of variation", "ω²")
    rows = tuple(_anova_row(row, figures, 10.0**exponent, total=row is a.anova.total) for row in a.anova.table)
    seen = tuple(i for i, row in enumerate(a.anova.table) if row.p is not None and row.p < a.alpha)
    return Table(caption, columns, (False, *[True] * 7), rows, note, seen, optional=(3, 7, 2, 1, 4))


def _exponent(squares: Sequence[float]) -> int:
    """Returns the power of ten, a multiple of 3, in which sums of squares are short; 0 from 0.001 to a million."""
    largest = max(squares, default=1.0)
    return 0 if 1e-3 <= largest < 1e6 else 3 * math.floor(math.log10(largest) / 3)


def _anova_row(row: AnovaRow, figures: Figures, scale: float, *, total: bool) -> tuple[Cell, ...]:
    source = {"residual": "error"}.get(row.source, source_label(row.source))
    share: Cell = "" if total else soft("not estimable")
    if row.eta2 is not None:
        share = CellMark(CellRole.SHARE, f"{100 * row.eta2:.1f} %", row.eta2)
    return (
        source, str(row.df), *("" if x is None else figures.amount(x / scale) for x in (row.ss, row.ms)),
        figures.optional(row.f),
        figures.p(row.p), share, figures.decimals(row.omega2, 3),
    )  # fmt: skip


def pairs(
    a: AnalysisResult,
    chosen: Sequence[Pair],
    figures: Figures,
    caption: str,
    *,
    alone: str = "",
    note: str | None = None,
) -> Table:
    """Returns a row per pair with the declared test's p. alone: a qualifier of the CI and p headings."""
    log = a.scale == "log"
    columns = (
        "better",
        "other",
        "ratio other / better" if log else "difference",
        f"{100 * (1 - a.alpha):.4g} % CI{alone}",
        _EFFECTS[a.effect_name],
        f"p{alone}",
        *([] if a.margin is None else ["p same"]),
        "verdict",
    )
    rows = tuple(_pair_row(p, a, figures, log=log) for p in chosen)
    seen = tuple(i for i, p in enumerate(chosen) if p.significant)
    return Table(
        caption, columns, (False, False, *[True] * (len(columns) - 3), False), rows, note, seen, optional=(4, 3, 5)
    )


def _pair_row(p: Pair, a: AnalysisResult, figures: Figures, *, log: bool) -> tuple[Cell, ...]:
    if log and p.ratio is not None:
        value = figures.ratio(p.ratio)
        limits = figures.interval(p.ratio_ci, figures.ratio) or figures.interval(p.ci, figures.value)
    else:
        value, limits = figures.value(p.difference), figures.interval(p.ci, figures.value)
    same = [] if a.margin is None else [figures.p(p.p_equivalent)]
    effect = figures.decimals(p.effect, 1 if figures.minus == "−" else 2)
    names = (", ".join(p.b.values()), ", ".join(p.a.values()))
    return (*names, value, limits, effect, figures.p(p.p_adj), *same, _verdict(p, a))


def _verdict(p: Pair, a: AnalysisResult) -> Cell:
    if p.significant:
        return "differ, within the margin" if p.equivalent else "differ"
    if p.equivalent:
        return "the same within the margin"
    short = "not judged" if not a.judged else "too close" if p.p_adj < a.alpha else ""
    return soft(short, p.why_not or "")


def against_best(a: AnalysisResult, figures: Figures, caption: str, *, alone: str = "") -> Table:
    """Returns Hsu's comparison of each group with the best of the others, the best first."""
    log = a.scale == "log"
    level = f"{100 * (1 - a.alpha):.4g} % interval{alone}"
    columns = ("cell", "ratio to the best other" if log else "difference from the best other", level, "best?")
    ordered = sorted(a.to_best, key=lambda best: _place(a, best))
    rows = tuple(_best_row(b, figures, log=log) for b in ordered)
    return Table(caption, columns, (False, True, True, False), rows, optional=(2,))


def _place(a: AnalysisResult, best: Best) -> tuple[int, float]:
    sign = -1.0 if str(a.better) == "higher" else 1.0
    return (0 if best.is_best else 1 if best.can_be_best else 2, sign * best.difference)


def _best_row(best: Best, figures: Figures, *, log: bool) -> tuple[Cell, ...]:
    write = figures.ratio if log else figures.value
    value = best.ratio if log and best.ratio is not None else best.difference
    standing = "yes" if best.is_best else "maybe" if best.can_be_best else "no"
    result = strong(standing) if best.can_be_best else soft(standing)
    return (", ".join(best.levels.values()), write(value), figures.interval(best.ratio_ci or best.ci, write), result)


def lines(fit: Regression, figures: Figures, caption: str, *, slope: str, intercept: str) -> Table:
    """Returns a regression line per group. The note has the tests of equal slopes and intercepts."""
    columns = (", ".join(fit.factors) or "group", "n", slope, "95 % CI", intercept, "95 % CI", "R²")
    tests = [f"{t.name}: F({t.df1}, {t.df2}) = {figures.amount(t.f)}, p {figures.p(t.p)}" for t in fit.tests]
    note = "; ".join(filter(None, ["; ".join(tests), *fit.notes])) or None
    rows = tuple(_line_row(line, figures) for line in fit.lines)
    return Table(caption, columns, (False, *[True] * 6), rows, note, optional=(5, 3, 1))


def _line_row(line: Line, figures: Figures) -> tuple[Cell, ...]:
    return (
        ", ".join(line.levels.values()) or "all", str(line.n),
        figures.amount(line.slope), figures.interval(line.slope_ci, figures.amount),
        figures.amount(line.intercept), figures.interval(line.intercept_ci, figures.amount),
        "" if line.r2 is None else f"{line.r2:.4f}",
    )  # fmt: skip


def extremes(all_extremes: Sequence[Extremes], by: str, figures: Figures, caption: str) -> Table:
    """Returns the lowest and the highest median of each level."""
    columns = (by, "lowest median", "cell", "highest median", "cell")
    rows = []
    for extreme in all_extremes:
        ends = (extreme.lowest, extreme.highest)
        rows.append(
            (extreme.level, *(w for g in ends for w in (figures.value(g.median), ", ".join(g.levels.values()))))
        )
    return Table(caption, columns, (False, True, False, True, False), tuple(rows))


def groups(a: AnalysisResult, figures: Figures, caption: str, plot_width: int) -> Table:
    """Returns the groups' means with intervals, drawn on one axis `plot_width` characters wide, and letters."""
    names = list(a.groups[0].levels)
    low, high = min(g.ci95[0] for g in a.groups), max(g.ci95[1] for g in a.groups)
    rows = tuple(_group_row(group, a, figures, (low, high), plot_width) for group in a.groups)
    columns = (*names, "loads" if a.unit else "n", "mean", "95 % interval", "", *["letters"] * a.judged)
    numeric = (*[False] * len(names), True, True, True, False, *[False] * a.judged)
    drawing = len(names) + 3
    return Table(caption, columns, numeric, rows, optional=(drawing, drawing - 1))


def _group_row(group: Group, a: AnalysisResult, figures: Figures, axis: Limits, plot_width: int) -> tuple[Cell, ...]:
    interval = figures.interval(group.ci95, figures.value)
    drawn = CellMark(CellRole.DRAWING, _drawn(group.mean, group.ci95, axis, plot_width))
    letters = [strong(group.letters or "")] if a.judged else []
    return (*group.levels.values(), str(group.n), figures.value(group.mean), interval, drawn, *letters)


def _drawn(mean: float, limits: Limits, axis: Limits, width: int) -> str:
    """Draws the interval as a line and the mean as a dot; empty if the axis is infinite."""
    low, high = axis
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""

    def column(value: float) -> int:
        return round((value - low) / (high - low) * (width - 1))

    line = [" "] * width
    for at in range(column(limits[0]), column(limits[1]) + 1):
        line[at] = "─"
    line[column(mean)] = "●"
    return "".join(line)


def quantiles(a: AnalysisResult, figures: Figures, caption: str) -> Table:
    """Returns each group's quantiles. Every group must have a distribution."""
    columns = ("cell", "n", *(f"{100 * level:g} %" for level in QUANTILES), "band")
    rows = []
    for group in a.groups:
        dist = group.distribution
        assert dist is not None
        below = (figures.value(value) for value in dist.quantiles.values())
        rows.append((", ".join(group.levels.values()), str(group.n), *below, f"± {100 * dist.band:.0f} %"))
    return Table(caption, columns, (False, *[True] * (len(columns) - 1)), tuple(rows))
