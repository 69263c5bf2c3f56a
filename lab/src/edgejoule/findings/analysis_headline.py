"""The headline of an analysis of any table, in at most WORDS_MAX words."""

from __future__ import annotations

from edgejoule.dictionary.responses import Better
from edgejoule.findings.templates import fitting, forms
from edgejoule.findings.text import count, listed
from edgejoule.stats import AnalysisResult, verdict
from edgejoule.stats.figures import figure, plain
from edgejoule.stats.verdict import margin_text, response_text, source_label


def headline(a: AnalysisResult) -> str:
    """Returns the whole verdict if it is short, else its longest form that fits: the effects, then the best group."""
    best, names = a.groups[0], list(a.groups[0].levels)
    values: dict[str, object] = {
        "response": response_text(a), "groups": listed(names), "factors": listed(a.factors, "or"),
        "most": f"{'highest' if a.better is Better.HIGHER else 'lowest'} {'modelled ' * a.modelled}mean",
        "best": best.label, "mean": figure(best.mean), "standing": _standing(a), "all": count(len(a.groups), "group"),
        "alpha": f"{a.alpha:.4g}", "factor_count": count(len(a.factors), "factor"),
    }  # fmt: skip
    rows = [row for row in a.anova.rows if row.source != a.block and row.p is not None and row.p < a.alpha]
    rows.sort(key=lambda row: row.eta2 or 0.0, reverse=True)
    if rows:
        values |= {
            "sources": listed([f"{source_label(row.source)} ({_percent(row.eta2 or 0.0)})" for row in rows]),
            "first": source_label(rows[0].source), "more": f" and {len(rows) - 1} more" if len(rows) > 1 else "",
        }  # fmt: skip
    if a.omnibus:
        case = "groups differ" if a.omnibus.p < a.alpha else "no difference"
    else:
        case = "an effect" if rows else "no difference"
    if case == "no difference" and a.margin is not None and a.pairs and all(pair.equivalent for pair in a.pairs):
        case, values["margin"] = "all equal", margin_text(a.margin, log=a.scale == "log")
    return fitting([verdict(a), *forms(case, values)])


def _percent(share: float) -> str:
    """Returns whole percents, of less than one the first digit: 36 %, 0.3 %."""
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{plain(100 * share, 1)} %"


def _standing(a: AnalysisResult) -> str:
    """Returns how many of the other groups the best one is shown to beat."""
    if not a.judged:
        return "not judged without --min-ratio"
    against = [pair for pair in a.pairs if pair.b == a.groups[0].levels]
    return f"different from {sum(pair.significant for pair in against)} of {len(against)} others"
