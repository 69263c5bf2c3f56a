"""Summarises an analysis in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from edgejoule.dictionary.responses import Better
from edgejoule.stats.anova import AnovaRow
from edgejoule.stats.figures import figure, p_text, plain
from edgejoule.stats.model import AnalysisResult
from edgejoule.stats.omnibus import Omnibus


def verdict(analysis: AnalysisResult) -> str:
    """The response's effects, the best group, and the groups that differ from it."""
    if analysis.omnibus:
        return _by_omnibus(analysis, analysis.omnibus)
    significant = [
        row for row in analysis.anova.rows if row.source != analysis.block and _significant(row, analysis.alpha)
    ]
    if not significant:
        factors = _listed(analysis.factors, "or")
        return _without_difference(
            analysis,
            f"No effect of {factors} on {response_text(analysis)} shows at α = {analysis.alpha:.4g} (n = {analysis.n})",
        )
    significant.sort(key=lambda row: row.eta2 or 0.0, reverse=True)
    shares = [f"{100 * (row.eta2 or 0):.1f} %" for row in significant]
    shares[0] += " of its variation"
    sources = _listed(
        [f"{source_label(row.source)} ({share})" for row, share in zip(significant, shares, strict=True)], "and"
    )
    text = f"{response_text(analysis)} depends on {sources}, at α = {analysis.alpha:.4g}; {_best(analysis)}"
    return f"{text}{_within_margin(analysis)}."


def _by_omnibus(analysis: AnalysisResult, omnibus: Omnibus) -> str:
    df = f"{omnibus.df1:g}" + (f", {omnibus.df2:.1f}" if omnibus.df2 is not None else "")
    test = f"{omnibus.name}({df}) = {figure(omnibus.statistic)}, {p_text(omnibus.p)}"
    groups = _listed(list(analysis.groups[0].levels), "and")
    if omnibus.p >= analysis.alpha:
        return _without_difference(
            analysis,
            f"No difference of {response_text(analysis)} between groups of {groups} shows at α = {analysis.alpha:.4g} "
            f"({test}; n = {analysis.n})",
        )
    text = f"{response_text(analysis)} differs between groups of {groups} ({test}); {_best(analysis)}"
    return f"{text}{_within_margin(analysis)}."


def margin_text(margin: float, *, log: bool) -> str:
    """Formats a margin: within 5 %, within a factor of 2, within ± 3."""
    if not log:
        return f"within ± {plain(margin, 6)}"
    return f"within {100 * (margin - 1):.3g} %" if margin < 2 else f"within a factor of {margin:g}"


def _without_difference(analysis: AnalysisResult, text: str) -> str:
    """Completes a text without a difference: with a declared margin it adds which groups are equivalent."""
    if analysis.margin is None or not any(pair.equivalent is not None for pair in analysis.pairs):
        return f"{text}, which does not prove that there is none."
    within = margin_text(analysis.margin, log=analysis.scale == "log")
    equal = [pair for pair in analysis.pairs if pair.equivalent]
    if len(equal) == len(analysis.pairs):
        factors = _listed(list(analysis.groups[0].levels), "and")
        p = p_text(max(pair.p_equivalent or 0.0 for pair in equal))
        return (
            f"{response_text(analysis)} is equal {within} in {_all_groups(len(analysis.groups))} of {factors}: "
            f"equivalence is shown at α = {analysis.alpha:.4g} ({p}; "
            f"n = {analysis.n})."
        )
    shown = f"{len(equal)} of {len(analysis.pairs)} pairs are" if equal else "no pair is"
    return f"{text}, which does not prove that there is none; {shown} shown to be equal {within}."


def _all_groups(count: int) -> str:
    return "both groups" if count == 2 else f"all {count} groups"


def _within_margin(analysis: AnalysisResult) -> str:
    """Returns the number of equivalent pairs, to append to a verdict with a difference."""
    equal = [pair for pair in analysis.pairs if pair.equivalent]
    if analysis.margin is None or not equal:
        return ""
    within = margin_text(analysis.margin, log=analysis.scale == "log")
    apart = sum(pair.significant for pair in equal)
    clauses = []
    if same := len(equal) - apart:
        clauses.append(f"{same} of {len(analysis.pairs)} pairs are shown to be equal {within}")
    if apart:
        clauses.append(
            f"{apart} of {len(analysis.pairs)} pairs differ significantly, but are shown to lie {within} of each other"
        )
    return "".join(f"; {clause}" for clause in clauses)


def source_label(source: str) -> str:
    """Formats a source of variation: "wool × tension"."""
    return source.replace(":", " × ")


def response_text(analysis: AnalysisResult) -> str:
    """Returns the response's name, marked if it is modelled."""
    return f"{analysis.response.removesuffix('.modelled')} (modelled)" if analysis.modelled else analysis.response


def _significant(row: AnovaRow, alpha: float) -> bool:
    return row.p is not None and row.p < alpha


def _best(analysis: AnalysisResult) -> str:
    best = analysis.groups[0]
    against = [pair for pair in analysis.pairs if pair.b == best.levels]
    significant = sum(pair.significant for pair in against)
    highest = analysis.better is Better.HIGHER
    text = (
        f"the {'highest' if highest else 'lowest'} {'modelled ' * analysis.modelled}mean is {figure(best.mean)} "
        f"[{figure(best.ci95[0])}, {figure(best.ci95[1])}] ({best.label}), "
    )
    if not analysis.judged:
        return f"{text}but no groups are called different without --min-ratio, the ratio that the model resolves"
    text += _distinguished(significant, len(against), "above" if highest else "below")
    if analysis.modelled:
        text += f", as far as a model that resolves {analysis.min_ratio:g}× shows"
    if analysis.to_best and analysis.to_best[0].is_best and significant < len(against):
        text += ", yet the best by Hsu's comparison"
    too_close = sum(not pair.significant and pair.p_adj < analysis.alpha for pair in against)
    if too_close:
        text += f" ({too_close} more by too little: within a factor of {analysis.min_ratio:g})"
    return text


def _distinguished(count: int, others: int, side: str) -> str:
    if count == 0:
        return f"not significantly {side} " + ("any other group" if others > 1 else "the other group")
    if count == others:
        return f"significantly {side} " + (f"all {others} other groups" if others > 1 else "the other group")
    return f"significantly {side} {count} of the {others} other groups"


def _listed(items: Sequence[str], last: str) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}"
