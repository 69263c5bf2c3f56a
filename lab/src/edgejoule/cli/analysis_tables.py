"""An analysis on the terminal: the verdict, then the tables it rests on."""

from __future__ import annotations

import math

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from edgejoule.cli.analysis_extras import print_extras
from edgejoule.stats.declared import DeclaredTest
from edgejoule.stats.figures import figure, p_value
from edgejoule.stats.model import Analysis, Pair
from edgejoule.stats.verdict import response_words, source_label, verdict

_BAR_WIDTH = 16
_PAIRS_MAX = 45
_WIDE = 100


def print_analysis(out: Console, analysis: Analysis) -> None:
    """The verdict, then the tables it rests on."""
    out.print()
    out.print(Text(verdict(analysis), style="bold"))
    out.print()
    out.print(_anova_table(analysis))
    out.print()
    out.print(_group_table(analysis, plot_width=28 if out.width >= _WIDE else 18))
    out.print()
    if len(analysis.pairs) <= _PAIRS_MAX:
        out.print(_pair_table(analysis, with_effect=out.width >= _WIDE))
    else:
        out.print(Text(f" {len(analysis.pairs)} pairs: shown with --json", style="dim"))
    out.print()
    print_extras(out, analysis)
    remarks = Table.grid(padding=(0, 1))
    for line in (_checks(analysis), *analysis.notes):
        remarks.add_row("·", escape(line), style="dim")
    out.print(remarks)
    out.print()


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=True)


def _anova_table(analysis: Analysis) -> Table:
    scale = "on the log scale" if analysis.scale == "log" else "on the raw scale"
    model = f"{scale}, type {analysis.anova.ss_type}, n = {analysis.n}"
    table = _table(f"Analysis of variance of {escape(response_words(analysis))}, {model}")
    table.add_column("source")
    for heading in ("df", "SS", "F", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("share (η²)", no_wrap=True)
    table.add_column("ω²", justify="right", no_wrap=True)
    for row in analysis.anova.table:
        significant = row.p is not None and row.p < analysis.alpha
        table.add_row(
            escape(source_label(row.source)),
            str(row.df),
            figure(row.ss),
            figure(row.f),
            p_value(row.p),
            _share(row.eta2) if row is not analysis.anova.total else "",
            "" if row.omega2 is None else f"{row.omega2:.3f}",
            style="bold" if significant else None,
            end_section=row is analysis.anova.rows[-1],
        )
    return table


def _group_table(analysis: Analysis, plot_width: int) -> Table:
    kind = "Geometric means" if analysis.scale == "log" else "Means"
    table = _table(f"{kind} with 95 % interval{_of_replications(analysis)}; {_letters_words(analysis)}")
    for name in analysis.groups[0].levels:
        table.add_column(escape(name))
    for heading in ("loads" if analysis.unit else "n", "mean", "95 % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    if analysis.judged:
        table.add_column("letters", style="bold cyan", no_wrap=True)
    low = min(group.ci95[0] for group in analysis.groups)
    high = max(group.ci95[1] for group in analysis.groups)
    for group in analysis.groups:
        table.add_row(
            *(escape(level) for level in group.levels.values()),
            str(group.n),
            figure(group.mean),
            f"{figure(group.ci95[0])} – {figure(group.ci95[1])}",
            _interval(group.mean, group.ci95, (low, high), plot_width),
            *([group.letters] if group.letters is not None else []),
        )
    return table


def _method(analysis: Analysis) -> str:
    return " (modelled)" if analysis.modelled else ""


def _of_replications(analysis: Analysis) -> str:
    return " from replications alone" if analysis.modelled else ""


def _letters_words(analysis: Analysis) -> str:
    if not analysis.judged:
        return "modelled: no letters without --min-ratio"
    if analysis.min_ratio is None:
        return f"groups sharing a letter do not differ (α = {analysis.alpha:.4g})"
    by = "the model resolves" if analysis.modelled else "is asked for"
    return (
        f"groups sharing a letter do not differ (α = {analysis.alpha:.4g}), or by less than {by}: "
        f"{analysis.min_ratio:.4g}×"
    )


def _pair_table(analysis: Analysis, *, with_effect: bool) -> Table:
    """All pairs; the effect size, which --json always has, only where there is room."""
    log = analysis.scale == "log"
    level = f"{100 * (1 - analysis.alpha):.4g} %"
    alone = f"; interval and p{_of_replications(analysis)}" if analysis.modelled else ""
    legend = _legend(analysis, with_effect)
    table = _table(f"All pairs{_method(analysis)}: {analysis.test.words}{_df_words(analysis)}{legend}{alone}")
    table.add_column("group")
    table.add_column("against")
    ranked = analysis.test is DeclaredTest.KRUSKAL_DUNN_HOLM
    limits = [] if ranked else [f"{level} interval"]
    effect = ["δ" if ranked else "g"] if with_effect else []
    same = [] if analysis.margin is None else ["p same"]
    for heading in ("ratio" if log else "difference", *limits, *effect, "p", *same):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("differ?", no_wrap=True)
    for pair in analysis.pairs:
        table.add_row(
            escape(", ".join(pair.a.values())),
            escape(", ".join(pair.b.values())),
            figure(pair.ratio if log else pair.difference),
            *([] if ranked else [_limits(pair, log)]),
            *("" if pair.effect is None else f"{pair.effect:.2f}" for _ in effect),
            p_value(pair.p_adj),
            *(p_value(pair.p_equivalent) for _ in same),
            _differ(pair, analysis),
            style="bold" if pair.significant else None,
        )
    return table


def _limits(pair: Pair, log: bool) -> str:
    ci = pair.ratio_ci if log else pair.ci
    if ci is None:
        return ""
    return f"{figure(ci[0])} – {figure(ci[1])}" if log else f"{figure(ci[0])} to {figure(ci[1])}"


def _df_words(analysis: Analysis) -> str:
    """The degrees of freedom where all pairs have the same."""
    found = {pair.df for pair in analysis.pairs}
    if found == {None}:
        return ""
    one = found.pop()
    return f", {one:.4g} df" if not found and one is not None else ", each pair its own df"


def _legend(analysis: Analysis, with_effect: bool) -> str:
    name = "δ: Cliff's" if analysis.test is DeclaredTest.KRUSKAL_DUNN_HOLM else "g: Hedges'"
    effect = f"; {name} effect size" if with_effect else ""
    if analysis.margin is None:
        return effect
    width = f"{analysis.margin:g}×" if analysis.scale == "log" else f"± {analysis.margin:g}"
    return f"{effect}; same: within {width}"


def _differ(pair: Pair, analysis: Analysis) -> str:
    if not analysis.judged:
        return "not judged"
    words = "yes" if pair.significant else "too close" if pair.p_adj < analysis.alpha else ""
    same = "" if not pair.equivalent else "but within the margin" if pair.significant else "same"
    return ", ".join(filter(None, [words, same]))


def _checks(analysis: Analysis) -> str:
    normal, equal = analysis.diagnostics.shapiro_wilk, analysis.diagnostics.brown_forsythe
    serial = analysis.serial
    order = (
        ""
        if serial is None
        else (
            f"; independent in order, lag-1 autocorrelation {serial.lag1:.2f} (expected {serial.expected:.2f}), "
            f"p = {p_value(serial.p)}"
        )
    )
    return (
        f"checks, shown but never choosing the test: residuals normal, Shapiro-Wilk p = {p_value(normal.p) or 'n/a'}; "
        f"equal variances, Brown-Forsythe p = {p_value(equal.p) or 'n/a'}{order}"
    )


def _share(share: float | None) -> str:
    if share is None:
        return "not estimable"
    eighths = round(max(0.0, min(share, 1.0)) * _BAR_WIDTH * 8)
    bar = "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8] if eighths % 8 else "")
    return f"{100 * share:5.1f} % [cyan]{bar}[/]"


def _interval(mean: float, limits: tuple[float, float], axis: tuple[float, float], width: int) -> str:
    """The interval as a line, the mean as a dot; empty where a limit is beyond all numbers."""
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
