"""The verdict on one response condition by condition: a short one for each, and their summary."""

from __future__ import annotations

from collections.abc import Sequence

from edgejoule.dictionary.responses import Better
from edgejoule.experiment.model import Level
from edgejoule.findings.design import Layout, label
from edgejoule.findings.effects import EXACT, most_text, scaled, what_text
from edgejoule.findings.level_names import capital, counted_levels, level_text, names
from edgejoule.findings.model import Cell, Contrast, Ranking, ResponseFinding
from edgejoule.findings.rates import BESIDE_OTHERS, without_reached
from edgejoule.findings.sentences import interval_text
from edgejoule.findings.templates import fitting, forms
from edgejoule.findings.text import count, listed, ratio, times_text, unit_for
from edgejoule.stats.verdict import margin_text

VERDICT_WORDS_MAX = 12
_WINS_MAX = 3  # levels whose conditions are counted


def best_levels(k: Ranking, design: Layout) -> tuple[Level, ...]:
    """Returns the levels that may be the best, the best first; empty if none is shown to be worse or equal."""
    if not k.cells or not (k.behind or k.equal):
        return ()
    return (k.cells[0].levels[design.subject], *(c.other for c in k.contrasts if not c.differs))


def row_verdict(k: Ranking, r: ResponseFinding, design: Layout) -> str:
    """Returns the verdict on one condition in at most VERDICT_WORDS_MAX words; empty for the only cell of a design."""
    verdicts = _verdicts(k, r, design)
    texts = [f"{verdict}{remark}" for verdict in verdicts for remark in _missed(k, design)]
    return fitting([*texts, *verdicts], VERDICT_WORDS_MAX)


def _verdicts(k: Ranking, r: ResponseFinding, design: Layout) -> list[str]:
    """Returns the verdict on one condition in several lengths, the longest first."""
    factor = design.subject
    if not k.cells:
        return [_why_empty(k.without_value)]
    best = names(factor, [k.cells[0].levels[factor]])
    if r.unusable:
        return ["not compared"]
    if not k.contrasts:
        nothing_to_say = len(design.subjects) == len(design.conditions) == 1
        return [""] if nothing_to_say else [f"only {best} has a value", "one level only"]
    if all(c.differs is None for c in k.contrasts):
        return [f"{best} {'highest' if r.better is Better.HIGHER else 'lowest'}, not tested", "not tested"]
    if k.equal:
        return [f"equal {EXACT if k.exact else within_margin(r)}"]
    if not k.behind:
        return ["undecided"]
    leaders = best_levels(k, design)
    heads = [f"{named}{_tie(k)}" for named in (leaders_text(leaders, design), counted_levels(factor, len(leaders)))]
    return [f"{head}{tail}" for head in heads for tail in (*_behind(k, r, factor), "")]


def _tie(k: Ranking) -> str:
    """Marks several levels that may be the best."""
    return "" if len(k.behind) == len(k.contrasts) else " (equal)" if k.exact else " (tie)"


def leaders_text(leaders: Sequence[Level], design: Layout) -> str:
    """Names the levels that may be the best, in the experiment's order: those tied have no other."""
    return names(design.subject, [level for level in design.subjects if level in leaders], last="or")


def _behind(k: Ranking, r: ResponseFinding, factor: str) -> list[str]:
    """Returns the levels behind the best with their ratios, then only the range of the ratios."""
    lower = " lower" if r.better is Better.HIGHER else ""
    lower += f" {EXACT}" if k.exact else ""
    if any(c.ratio is None for c in k.behind):
        worse = f"worse {EXACT}" if k.exact else "worse"
        return [f"; {names(factor, [c.other for c in k.behind])} {worse}", f"; {count(len(k.behind), 'other')} {worse}"]
    each = ", ".join(f"{names(factor, [c.other])} {times_text(c.ratio or 1)}" for c in k.behind)
    return [f"; {each}{lower}", f"; {count(len(k.behind), 'other')} {_range(k.behind)}{lower}"]


def _range(contrasts: Sequence[Contrast]) -> str:
    ratios = [c.ratio for c in contrasts if c.ratio is not None]
    least, most = times_text(min(ratios)), times_text(max(ratios))
    return least if least == most else f"{least} to {most}"


def _missed(k: Ranking, design: Layout) -> list[str]:
    """Returns the remark on levels that did not sustain their rate, in several lengths."""
    missed = [c for c in k.without_value if c.not_sustained] if k.cells else []
    if not missed:
        return [""]
    each = [
        f"{names(design.subject, [c.levels[design.subject]])} {without_reached(c.not_sustained or '')}" for c in missed
    ]
    return [f"; {listed(each)}", f"; {len(missed)} below the rate"]


def _why_empty(cells: Sequence[Cell]) -> str:
    if missed := [c.not_sustained for c in cells if c.not_sustained]:
        return f"rate not sustained{BESIDE_OTHERS if all(text.endswith(BESIDE_OTHERS) for text in missed) else ''}"
    if any(c.failed for c in cells):
        return "all runs failed"
    if any(c.open for c in cells):
        return "not run yet"
    return "not here" if any(c.not_here for c in cells) else "no value"


def within_margin(r: ResponseFinding) -> str:
    """Returns the declared margin of equivalence: within 5 %."""
    if r.exact:
        return EXACT
    margin = next(p.analysis.margin for p in r.parts if p.analysis)
    assert margin is not None, "groups are equal within a declared margin only"
    return margin_text(margin, log=r.scale == "log")


def condition_forms(r: ResponseFinding, design: Layout) -> list[str]:
    """Returns the verdict on several conditions, the longest form first."""
    ranked = [k for k in r.rankings if k.cells]
    all_levels = names(design.subject, _valued(ranked, design))
    values: dict[str, object] = {
        "most": most_text(r), "label": what_text(r, capital=True), "where": _where(ranked, design),
        "levels": all_levels, "count": counted_levels(design.subject, len(_valued(ranked, design))),
    }  # fmt: skip
    if all(k.equal for k in ranked):
        return forms("equal everywhere", {**values, "margin": within_margin(r)})
    if not any(k.behind or k.equal for k in ranked):
        return forms("undecided everywhere", values | _resolution(ranked, r))
    same = {frozenset(best_levels(k, design)) for k in ranked}
    texts = []
    if len(same) == 1:
        texts = forms("the same best", values | _same_best(ranked, r, design))
    return [*texts, *forms("conditions", values | _each_condition(ranked, r, design))]


def count_forms(r: ResponseFinding, design: Layout) -> list[str]:
    """Returns in how many conditions each level is best, the longest form first."""
    ranked = [k for k in r.rankings if k.cells]
    if not any(best_levels(k, design) for k in ranked):
        return forms("undecided everywhere, counted", {"where": _where(ranked, design)})
    return forms("count of the best", _each_condition(ranked, r, design))


def _valued(ranked: Sequence[Ranking], design: Layout) -> list[Level]:
    known = [c.levels[design.subject] for k in ranked for c in k.cells]
    return [level for level in design.subjects if level in known]


def _resolution(ranked: Sequence[Ranking], r: ResponseFinding) -> dict[str, object]:
    contrasts = [c for k in ranked for c in k.contrasts]
    unit = unit_for(r.unit, (c.mean for c in r.cells))
    differences = [c.difference_ci and scaled(c.difference_ci, unit.scale) for c in contrasts]
    return {
        "interval": interval_text([c.ci for c in contrasts], differences, unit.symbol),
        "resolved": f"; the model resolves {ratio(r.min_ratio)}×" if r.min_ratio is not None else "",
    }


def _same_best(ranked: Sequence[Ranking], r: ResponseFinding, design: Layout) -> dict[str, object]:
    leaders = best_levels(ranked[0], design)
    behind: dict[Level, list[Contrast]] = {}
    for c in (c for k in ranked for c in k.behind):
        behind.setdefault(c.other, []).append(c)
    others = [
        f"{names(design.subject, [level])} {_range(own)}" for level, own in behind.items()
        if all(c.ratio is not None for c in own)
    ]  # fmt: skip
    lower = " lower" if r.better is Better.HIGHER else ""
    lower += f" {EXACT}" if r.exact else ""
    return {
        "leaders": leaders_text(leaders, design), "tie": _tie(ranked[0]),
        "count": counted_levels(design.subject, len(leaders)),
        "others": f"{', '.join(others)}{lower}" if others and len(others) == len(behind) else None,
    }  # fmt: skip


def _each_condition(ranked: Sequence[Ranking], r: ResponseFinding, design: Layout) -> dict[str, object]:
    wins = _wins(ranked, design)
    shown = ", ".join(f"{name} in {n}" for name, n in wins[1:_WINS_MAX])
    first = f"{wins[0][0]} best or tied in {wins[0][1]} of {_conditions(len(ranked), design)}"
    open_ones = sum(not best_levels(k, design) for k in ranked)
    return {
        "verdicts": _grouped(ranked, [_verdicts(k, r, design)[0] for k in ranked], design),
        "short_verdicts": _grouped(ranked, [row_verdict(k, r, design) for k in ranked], design),
        "bests": _grouped(ranked, [_best_only(k, design) for k in ranked], design),
        "wins": f"{first}, {shown}" if shown else first,
        "open": f"{open_ones} undecided" if open_ones else None,
        "first_win": first,
        "often": _most_often(wins, len(ranked)),
        "decided": f"{len(ranked) - open_ones} of {_conditions(len(ranked), design)}",
    }


def _best_only(k: Ranking, design: Layout) -> str:
    leaders = best_levels(k, design)
    return leaders_text(leaders, design) if leaders else "undecided"


def _wins(ranked: Sequence[Ranking], design: Layout) -> list[tuple[str, int]]:
    """Counts the conditions in which a level is best or tied, the most frequent level first."""
    best = [level for k in ranked for level in best_levels(k, design)]
    counts = [(names(design.subject, [level]), best.count(level)) for level in design.subjects if level in best]
    return sorted(counts, key=lambda item: -item[1])


def _most_often(wins: Sequence[tuple[str, int]], conditions: int) -> str | None:
    """Names the level that is best or tied in most conditions, without their number; None if two levels are."""
    if len(wins) > 1 and wins[0][1] == wins[1][1]:
        return None
    return f"{wins[0][0]} {'always' if wins[0][1] == conditions else 'most often'} best or tied"


def _conditions(n: int, design: Layout) -> str:
    return f"{n} {'workload' if design.others == ('workload',) else 'condition'}{'' if n == 1 else 's'}"


def _where(ranked: Sequence[Ranking], design: Layout) -> str:
    plain = _conditions(len(ranked), design)
    return (
        label(ranked[0].condition) if len(ranked) == 1 else f"both{plain[1:]}" if len(ranked) == 2 else f"all {plain}"
    )


def _grouped(ranked: Sequence[Ranking], verdicts: Sequence[str], design: Layout) -> str:
    """Returns one sentence for each verdict with the conditions that have it; conditions without a best come last."""
    groups: dict[str, list[Ranking]] = {}
    for k, verdict in zip(ranked, verdicts, strict=True):
        groups.setdefault(verdict, []).append(k)
    ordered = sorted(
        groups.items(), key=lambda item: (not best_levels(item[1][0], design), not _name(item[1], ranked, design))
    )
    sentences = []
    for verdict, own in ordered:
        several = f"{len(own)} of {_conditions(len(ranked), design)}"
        is_rest = len(ordered) > 1 and own is ordered[-1][1]
        sentences.append(f"{capital(_name(own, ranked, design) or ('the rest' if is_rest else several))}: {verdict}.")
    return " ".join(sentences)


def _name(own: Sequence[Ranking], ranked: Sequence[Ranking], design: Layout) -> str | None:
    """Names conditions: one of them, or the levels of a single factor that select them; None if no factor does."""
    if len(own) == 1:
        return label(own[0].condition)
    for factor in design.others:
        levels = [v for v in design.levels[factor] if any(k.condition[factor] == v for k in own)]
        if sum(k.condition[factor] in levels for k in ranked) == len(own):
            if all(isinstance(v, str) for v in levels):
                return listed([level_text(v) for v in levels])
            return names(factor, levels)
    return None
