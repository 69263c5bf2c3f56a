"""The statistics beside the comparison: each with a sentence and a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgejoule.findings import analysis_tables
from edgejoule.findings.analysis_tables import p_text, page
from edgejoule.findings.compare import where_text
from edgejoule.findings.model import AnalysisPart, EnergyLines, Findings, ResponseFinding
from edgejoule.findings.table import Cell, Table, soft
from edgejoule.findings.tables import alone, heading, unit_for_response
from edgejoule.findings.text import number
from edgejoule.stats import AnalysisResult
from edgejoule.stats.diagnostics import Check
from edgejoule.stats.model import extremes_of
from edgejoule.stats.regression import Regression

_NAMES_MAX = 4


@dataclass(frozen=True)
class Sentence:
    """A sentence and the table that supports it."""

    text: str
    table: Table | None = None


def against_best(r: ResponseFinding, part: AnalysisPart) -> Sentence | None:
    """Returns Hsu's comparison of each cell with the best of the others; None below three groups or without a test."""
    a = part.analysis
    if a is None or len(a.groups) < 3 or not a.to_best or not a.judged:
        return None
    figures = page(unit_for_response(r).number)
    table = analysis_tables.against_best(a, figures, _caption(r, part), alone=alone(r))
    return Sentence(_best_text(r, part, a), table)


def _best_text(r: ResponseFinding, part: AnalysisPart, a: AnalysisResult) -> str:
    able = [", ".join(b.levels.values()) for b in a.to_best if b.can_be_best]
    rest = len(a.to_best) - len(able)
    if len(able) == 1:
        sure = f"with {100 * (1 - a.alpha):g} % confidence in all of that together"
        return f"{_caption(r, part)}: {able[0]} is the best; {_others(rest)} not, {sure}."
    excluded = f"; {_others(rest)} excluded" if rest else ""
    return f"{_caption(r, part)}: the best is one of {len(able)} cells ({_names(able)}){excluded}."


def _others(several: int) -> str:
    return "the other one is" if several == 1 else f"the other {several} are"


def _names(names: Sequence[str]) -> str:
    more = len(names) - _NAMES_MAX
    return "; ".join(names[:_NAMES_MAX]) + (f" and {more} more" if more > 0 else "")


def checks(f: Findings) -> Sentence | None:
    """Describes the model's assumptions of every analysis."""
    analyses = [(r, p, p.analysis) for r in f.responses for p in r.parts if p.analysis is not None]
    if not analyses:
        return None
    several = any(a.omnibus is not None for _, _, a in analyses)
    rows = tuple(
        (
            _caption(r, p),
            _check(a.diagnostics.shapiro_wilk, a.alpha, "no deviation from normal", "are not normal"),
            _check(a.diagnostics.brown_forsythe, a.alpha, "no difference shows", "differ between cells"),
            *_serial(a),
            *([_omnibus(a)] if several else []),
        )
        for r, p, a in analyses
    )
    last = ("all cells at once",) if several else ()
    columns = ("analysis", "residuals", "variances", "order of the runs", "lag-1 autocorrelation", *last)
    doubts = _doubt_text([(p, a.alpha) for _, _, a in analyses for p in _p_values(a)])
    return Sentence(
        doubts + "The test was declared before the data; these checks never change it.",
        Table("Checks of the model's assumptions", columns, (False,) * len(columns), rows),
    )


def _p_values(a: AnalysisResult) -> list[float]:
    """Returns the p values of the checks that the data allow."""
    p = [a.diagnostics.shapiro_wilk.p, a.diagnostics.brown_forsythe.p, a.serial.p if a.serial else None]
    return [one for one in p if one is not None]


def _doubt_text(checked: Sequence[tuple[float, float]]) -> str:
    """Counts the significant checks and the number expected by chance. checked: p and alpha of each check."""
    against = sum(p < alpha for p, alpha in checked)
    if not against:
        return "No check rejects an assumption of the model. "
    chance = number(sum(alpha for _, alpha in checked), 2)
    claim = "reject an assumption of the model"
    return f"{against} of {len(checked)} checks {claim}, where about {chance} would do so by chance. "


def _check(check: Check, alpha: float, well: str, ill: str) -> Cell:
    if check.p is None:
        return soft(f"cannot be tested: {check.reason}")
    text = ill if check.p < alpha else well
    return (f"{text} ", soft(f"(p {p_text(check.p)})"))


def _serial(a: AnalysisResult) -> tuple[Cell, Cell]:
    if a.serial is None:
        return soft("not tested"), ""
    text = "runs depend on the run before" if a.serial.p < a.alpha else "no dependence shows"
    chance = soft(f"({_signed(a.serial.expected)} by chance)")
    return (f"{text} ", soft(f"(p {p_text(a.serial.p)})")), (f"{_signed(a.serial.lag1)} ", chance)


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _omnibus(a: AnalysisResult) -> Cell:
    o = a.omnibus
    if o is None:
        return ""
    return f"{o.name}: p {p_text(o.p)}, {o.effect_name} {_signed(o.effect)}"


def same(f: Findings) -> list[str]:
    """Describes A/A: the declared test of each cell against itself."""
    sentences = []
    for r in f.responses:
        for part in r.parts:
            a = part.analysis
            if a is None or a.same is None:
                continue
            low, high = (f"{100 * limit:.1f}" for limit in a.same.ci95)
            drifting = [a.groups[d.group].label for d in a.same.drifts if d.p < a.same.alpha]
            who = f"these drifted: {_names(drifting)}" if drifting else "no cell drifted"
            sentences.append(
                f"{_caption(r, part)}: random halves of the same cell were called different in "
                f"{100 * a.same.false_alarms:.1f} % of {a.same.splits:,} splits ({low} to {high} %; "
                f"{100 * a.same.alpha:g} % are allowed). From the first half of its runs to the second {who}."
            )
    return sentences


def extremes(f: Findings) -> list[Table]:
    """Returns the lowest and the highest median of each level of analysis.by."""
    tables = []
    for r in f.responses:
        parts = [(p, p.analysis) for p in r.parts if p.where and p.analysis is not None]
        if not parts:
            continue
        unit = unit_for_response(r)
        all_extremes = [extremes_of(where_text(part), a) for part, a in parts]
        by = ", ".join(parts[0][0].where)
        tables.append(analysis_tables.extremes(all_extremes, by, page(unit.number), heading(r, unit, capital=True)))
    return tables


def energy_lines(lines: EnergyLines | None) -> Sentence | None:
    """Returns the regression of energy on time with its interpretation; None without lines."""
    if lines is None:
        return None
    if lines.regression is None:
        return Sentence(f"No lines: {lines.reason}.")
    fit = lines.regression
    caption = f"Energy ({lines.method}) = intercept + slope × settled time"
    slope, start = f"slope (W, {lines.method})", f"intercept (J, {lines.method})"
    table = analysis_tables.lines(fit, page(), caption, slope=slope, intercept=start)
    return Sentence(_lines_text(fit, lines.method), table)


def _lines_text(fit: Regression, method: str) -> str:
    slopes = next((t for t in fit.tests if t.name == "equal slopes"), None)
    least = min((line.r2 for line in fit.lines if line.r2 is not None), default=None)
    follows = (
        "" if least is None else f"Time explains {100 * least:.1f} % of the variation of {method} energy, or more. "
    )
    if slopes is None:
        return f"{follows}The slope is the power that a longer run adds."
    if slopes.p < 0.05:
        meaning = "a second costs different amounts of energy, so time alone does not predict energy"
        return f"{follows}The slopes differ (p {p_text(slopes.p)}): {meaning}."
    meaning = "the energy of a second shows no difference, so energy follows mostly from time"
    return f"{follows}The slopes are not shown to differ (p {p_text(slopes.p)}): {meaning}."


def _caption(r: ResponseFinding, part: AnalysisPart) -> str:
    title = f"{r.title[0].upper()}{r.title[1:]}"
    return f"{title}, {where_text(part)}" if part.where else title
