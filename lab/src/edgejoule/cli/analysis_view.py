"""An analysis on the terminal: the verdict, then the tables it rests on, and what stands beside it."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable
from rich.text import Text

from edgejoule.cli.layout import print_wrapped
from edgejoule.cli.table_text import print_bare, print_omitted, print_table
from edgejoule.findings import analysis_tables
from edgejoule.findings.analysis_headline import headline
from edgejoule.findings.analysis_tables import TERMINAL
from edgejoule.findings.compare import CONSTANT
from edgejoule.findings.exact_counts import ExactCounts
from edgejoule.stats import AnalysisBy, AnalysisResult, LookTaken, Precision, Regression, Scale
from edgejoule.stats.diagnostics import Check
from edgejoule.stats.figures import p_text, plain
from edgejoule.stats.verdict import response_text, verdict

_PAIRS_MAX = 45
_WIDE = 100
_SPREAD_MAX = 10  # largest value over the smallest of a group, on the raw scale


def print_analysis(out: Console, analysis: AnalysisResult) -> None:
    """Prints the headline, the whole verdict if that is longer, then its tables."""
    out.print()
    out.print(Text(short := headline(analysis), style="bold"))
    if (whole := verdict(analysis)) != short:
        out.print(Text(whole))
    out.print()
    print_table(out, analysis_tables.anova(analysis, TERMINAL, _anova_caption(analysis)))
    print_table(
        out,
        analysis_tables.groups(analysis, TERMINAL, _groups_caption(analysis), 28 if out.width >= _WIDE else 18),
    )
    if len(analysis.pairs) <= _PAIRS_MAX:
        print_table(out, analysis_tables.pairs(analysis, analysis.pairs, TERMINAL, _pairs_caption(analysis)))
    else:
        out.print(Text(f"{len(analysis.pairs):,} pairs: shown with --json", style="dim"))
        out.print()
    _print_extras(out, analysis)
    remarks = RichTable.grid(padding=(0, 1))
    for line in (_checks(analysis), *analysis.notes, *_scale_hint(analysis)):
        remarks.add_row("·", escape(line), style="dim")
    out.print(remarks)
    out.print()


def print_exact(out: Console, counts: ExactCounts) -> None:
    """Prints the comparison of constant counts."""
    out.print()
    out.print(Text(counts.headline, style="bold"))
    out.print()
    print_omitted(out, print_bare(out, counts.table))
    out.print()
    print_wrapped(out, f"{CONSTANT}: without error there is no test and no interval", "· ", style="dim")
    out.print()


def _print_extras(out: Console, analysis: AnalysisResult) -> None:
    """Prints each optional part beside the comparison under a heading."""
    if analysis.to_best and len(analysis.groups) > 2:
        caption = "Each group against the best of the others (Hsu)"
        print_table(out, analysis_tables.against_best(analysis, TERMINAL, caption))
    if analysis.groups[0].distribution:
        caption = f"Distribution of {response_text(analysis)}: shares of the values below"
        print_table(out, analysis_tables.quantiles(analysis, TERMINAL, caption))
    for line in _sentences(analysis):
        print_wrapped(out, line, indent=2)
    if _sentences(analysis):
        out.print()


def print_extremes(out: Console, result: AnalysisBy) -> None:
    """Prints the lowest and highest median of each level."""
    caption = f"Lowest and highest median by {result.by}"
    print_table(out, analysis_tables.extremes(result.extremes, result.by, TERMINAL, caption))


def print_regression(out: Console, regression: Regression) -> None:
    """Prints one line per group, and whether the lines agree."""
    caption = f"{regression.y} = intercept + slope × {regression.x}, n = {regression.n}"
    print_table(out, analysis_tables.lines(regression, TERMINAL, caption, slope="slope", intercept="intercept"))


def _anova_caption(analysis: AnalysisResult) -> str:
    scale = "on the log scale" if analysis.scale == "log" else "on the raw scale"
    model = f"{scale}, type {analysis.anova.ss_type}, n = {analysis.n}"
    return f"Analysis of variance of {response_text(analysis)}, {model}"


def _groups_caption(analysis: AnalysisResult) -> str:
    kind = "Geometric means" if analysis.scale == "log" else "Means"
    return f"{kind} with 95 % interval{_of_replications(analysis)}; {_letters_text(analysis)}"


def _pairs_caption(analysis: AnalysisResult) -> str:
    alone = f"; interval and p{_of_replications(analysis)}" if analysis.modelled else ""
    same = ""
    if analysis.margin is not None:
        same = (
            f"; same: within {analysis.margin:g}×"
            if analysis.scale == "log"
            else f"; same: within ± {plain(analysis.margin, 6)}"
        )
    method = " (modelled)" if analysis.modelled else ""
    return f"All pairs{method}: {analysis.test.display_name}{_df_text(analysis)}{same}{alone}"


def _of_replications(analysis: AnalysisResult) -> str:
    return " from replications alone" if analysis.modelled else ""


def _letters_text(analysis: AnalysisResult) -> str:
    if not analysis.judged:
        return "modelled: no letters without --min-ratio"
    if analysis.min_ratio is None:
        return f"groups sharing a letter are not shown to differ (α = {analysis.alpha:.4g})"
    by = "the model resolves" if analysis.modelled else "is requested"
    return (
        f"groups sharing a letter are not shown to differ (α = {analysis.alpha:.4g}), or by less than {by}: "
        f"{analysis.min_ratio:.4g}×"
    )


def _df_text(analysis: AnalysisResult) -> str:
    """Returns the degrees of freedom if all pairs have the same."""
    values = {pair.df for pair in analysis.pairs}
    if values == {None}:
        return ""
    one = values.pop()
    if values or one is None:
        return ", each pair its own df"
    return f", {one:,.0f} df" if one >= 1000 else f", {one:.4g} df"


def _checks(analysis: AnalysisResult) -> str:
    normal, equal = analysis.diagnostics.shapiro_wilk, analysis.diagnostics.brown_forsythe
    serial = analysis.serial
    order = (
        ""
        if serial is None
        else (
            f"; independent in order, lag-1 autocorrelation {serial.lag1:.2f} (expected {serial.expected:.2f}), "
            f"{p_text(serial.p)}"
        )
    )
    return (
        f"checks, shown but never choosing the test: residuals normal, Shapiro-Wilk {_check(normal)}; "
        f"equal variances, Brown-Forsythe {_check(equal)}{order}"
    )


def _check(check: Check) -> str:
    return f"cannot be used: {check.reason}" if check.p is None else p_text(check.p)


def _scale_hint(analysis: AnalysisResult) -> list[str]:
    """Returns a line if the raw scale suits the positive values badly."""
    groups = analysis.groups
    if analysis.scale == Scale.LOG or not all(group.min > 0 for group in groups):
        return []
    below_zero = any(group.ci95[0] < 0 for group in groups)
    if not below_zero and all(group.max < _SPREAD_MAX * group.min for group in groups):
        return []
    why = "an interval reaches below zero" if below_zero else f"they differ by {_SPREAD_MAX}× or more within a group"
    return [f"all values of {response_text(analysis)} are positive and {why}: --scale log compares ratios"]


def _sentences(analysis: AnalysisResult) -> list[str]:
    lines = []
    if analysis.sequential:
        lines.append(_look_text(analysis.sequential, analysis.alpha))
    if analysis.precision:
        lines += _precision_text(analysis.precision, analysis.scale)
    if analysis.same:
        lines += _same_text(analysis)
    return lines


def _look_text(sequential: LookTaken, alpha: float) -> str:
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
    return text + f"Continue to {looks.runs[sequential.look]} replications."


def _precision_text(precision: Precision, scale: Scale) -> list[str]:
    width = f"a factor of {precision.declared:g}" if scale is Scale.LOG else f"± {plain(precision.declared, 6)}"
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


def _same_text(analysis: AnalysisResult) -> list[str]:
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
    names = "; ".join(f"{analysis.groups[d.group].label} ({p_text(d.p)})" for d in drifting)
    return [text, f"A/A, first half against second half: drift in {names}"]
