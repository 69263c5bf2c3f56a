"""What stands beside an analysis on the terminal: the best, precision, looks, distributions, A/A, extremes, lines."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from edgejoule.stats import Analysis, AnalysisBy, Best, Line, Precision, Regression, Scale, Sequential
from edgejoule.stats.distribution import QUANTILES
from edgejoule.stats.figures import figure, p_value
from edgejoule.stats.verdict import response_words


def table_of(title: str, *columns: str, texts: int = 1) -> Table:
    """A table whose first `texts` columns are words and whose others are figures."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=True)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index < texts else "right", no_wrap=index >= texts)
    return table


def print_extras(out: Console, analysis: Analysis) -> None:
    """What was asked for beside the comparison, each with its own heading."""
    if analysis.to_best and len(analysis.groups) > 2:
        out.print(_best_table(analysis))
        out.print()
    if analysis.groups[0].distribution:
        out.print(_quantile_table(analysis))
        out.print()
    for line in _sentences(analysis):
        out.print(Text(f" {line}"))
    if _sentences(analysis):
        out.print()


def _best_table(analysis: Analysis) -> Table:
    log = analysis.scale is Scale.LOG
    level = f"{100 * (1 - analysis.alpha):.4g} %"
    title = f"Each group against the best of the others (Hsu), {'ratios' if log else 'differences'}"
    table = table_of(title, "group", "to the best other", f"{level} interval", "")
    for best in analysis.to_best:
        low, high = best.ratio_ci or best.ci
        table.add_row(
            escape(", ".join(best.levels.values())),
            figure(best.ratio if log else best.difference),
            f"{figure(low)} – {figure(high)}" if log else f"{figure(low)} to {figure(high)}",
            _standing(best),
            style="bold" if best.is_best else None,
        )
    return table


def _standing(best: Best) -> str:
    return "the best" if best.is_best else "may be the best" if best.can_be_best else "not the best"


def _quantile_table(analysis: Analysis) -> Table:
    levels = [f"{100 * level:g} %" for level in QUANTILES]
    title = f"Distribution of {escape(response_words(analysis))}: shares of the values below"
    table = table_of(title, "group", "n", *levels, "band")
    for group in analysis.groups:
        assert group.distribution is not None
        table.add_row(
            escape(", ".join(group.levels.values())),
            str(group.n),
            *(figure(value) for value in group.distribution.quantiles.values()),
            f"± {100 * group.distribution.band:.0f} %",
        )
    return table


def _sentences(analysis: Analysis) -> list[str]:
    found = []
    if analysis.sequential:
        found.append(_look_words(analysis.sequential, analysis.alpha))
    if analysis.precision:
        found += _precision_words(analysis.precision, analysis.scale)
    if analysis.same:
        found += _same_words(analysis)
    return found


def _look_words(sequential: Sequential, alpha: float) -> str:
    looks = sequential.looks
    text = (
        f"look {sequential.look} of {len(looks.runs)} (after {', '.join(map(str, looks.runs))} replications, "
        f"{looks.spending}): p must be below {alpha:.3g}, so that all looks together keep α = {looks.alpha:g}; "
        f"{sequential.decided} of {sequential.pairs} pairs differ. "
    )
    if sequential.last:
        return text + "This was the last look."
    if sequential.stop:
        return text + "All are decided: stop."
    return text + f"Go on to {looks.runs[sequential.look]} replications."


def _precision_words(precision: Precision, scale: Scale) -> list[str]:
    width = f"a factor of {precision.declared:g}" if scale is Scale.LOG else f"± {precision.declared:g}"
    more = precision.needed.more(precision.have)
    runs = (
        "no more runs"
        if more.high == 0
        else f"about {more.estimate} more runs of each group ({more.low} to {more.high})"
    )
    kept = precision.stein.total - precision.have
    return [
        f"each mean within {width}: {runs}, an estimate with the range that the spread's own uncertainty leaves",
        f"if these {precision.have} runs are the declared first stage of Stein's procedure: {kept} more of each group, "
        "then the interval keeps its 95 % whatever the spread turns out to be",
    ]


def _same_words(analysis: Analysis) -> list[str]:
    same = analysis.same
    assert same is not None
    low, high = (f"{100 * limit:.1f}" for limit in same.ci95)
    text = (
        f"A/A, random halves of each group: {100 * same.false_alarms:.1f} % of {same.splits} called different "
        f"[{low}, {high}], declared {100 * same.alpha:g} %"
    )
    drifting = [d for d in same.drifts if d.p < same.alpha]
    if not drifting:
        return [text, "A/A, first half against second half: no group has drifted"]
    names = "; ".join(f"{analysis.groups[d.group].label} (p {p_value(d.p)})" for d in drifting)
    return [text, f"A/A, first half against second half: drift in {names}"]


def print_extremes(out: Console, result: AnalysisBy) -> None:
    """Lowest and highest median of each level."""
    table = table_of(
        f"Lowest and highest median by {escape(result.by)}", result.by, "lowest", "", "highest", "", texts=1
    )
    for extreme in result.extremes:
        table.add_row(
            escape(extreme.level),
            figure(extreme.lowest.median),
            escape(", ".join(extreme.lowest.levels.values())),
            figure(extreme.highest.median),
            escape(", ".join(extreme.highest.levels.values())),
        )
    out.print(table)
    out.print()


def print_regression(out: Console, found: Regression) -> None:
    """One line per group, and whether they are the same line."""
    title = f"{escape(found.y)} = intercept + slope × {escape(found.x)}, n = {found.n}; 95 % intervals"
    table = table_of(title, "group", "n", "slope", "", "intercept", "", "R²")
    for line in found.lines:
        table.add_row(*_line_cells(line))
    out.print(table)
    out.print()
    if found.tests:
        tests = table_of("Are they one line?", "hypothesis", "df", "F", "p")
        for test in found.tests:
            tests.add_row(test.name, f"{test.df1}, {test.df2}", figure(test.f), p_value(test.p))
        out.print(tests)
        out.print()
    for note in found.notes:
        out.print(Text(f" · {note}", style="dim"))


def _line_cells(line: Line) -> list[str]:
    def limits(ci: tuple[float, float] | None) -> str:
        return "" if ci is None else f"{figure(ci[0])} to {figure(ci[1])}"

    return [
        escape(", ".join(line.levels.values()) or "all"),
        str(line.n),
        figure(line.slope),
        limits(line.slope_ci),
        figure(line.intercept),
        limits(line.intercept_ci),
        "" if line.r2 is None else f"{line.r2:.4f}",
    ]
