"""The headline: the verdict on the response that decides, in at most WORDS_MAX words.

A second response follows if the first one separates nothing. Remarks follow: a database that is not here, other
programs, missed rates, a stand-in, a study that is not complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgejoule.dictionary.responses import Better
from edgejoule.findings.conditions import best_levels, condition_forms, within_margin
from edgejoule.findings.design import Layout
from edgejoule.findings.effects import level_forms, what_text
from edgejoule.findings.level_names import factor_name, names
from edgejoule.findings.model import Effect, Progress, ResponseFinding
from edgejoule.findings.other_programs import CLOCKED
from edgejoule.findings.rates import BESIDE_OTHERS, capitalised, is_asked_for, needs_its_rate, without_reached
from edgejoule.findings.templates import WORDS_MAX, fitting, forms, words
from edgejoule.findings.text import count, listed

_REMARK_WORDS_MAX = 14  # leaves room for a verdict; the caveats have every remark
_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_MISSED_LISTED_MAX = 2  # cells that missed their rate; more are counted


@dataclass(frozen=True)
class Circumstances:
    """The facts beside the comparison. other_cpu: share of the CPU that other programs took, as text. missed: one text
    for each cell that did not sustain its rate. stand_ins: levels of the database that a stand-in took the place of.
    not_here: optional levels of the database without a run.
    """

    progress: Progress
    other_cpu: str | None = None
    missed: Sequence[str] = ()
    stand_ins: Sequence[str] = ()
    not_here: Sequence[str] = ()


def headline(
    first: ResponseFinding | None,
    what: str,
    responses: Sequence[ResponseFinding],
    design: Layout,
    effects: Sequence[Effect],
    around: Circumstances,
) -> str:
    """Returns the headline. first: the response that decides; None if no run has it. what: its label. responses: all
    declared ones.
    """
    progress = around.progress
    if first is None and progress.failed and not progress.finished and not progress.planned:
        case = "one run failed" if progress.failed == 1 else "all failed"
        return complete(forms(case, {"runs": count(progress.failed, "run")}), [], _absent_levels(around))
    second = second_response(first, responses, design)
    lead = _lead(first, what, design, around)
    if lead is not None:
        if second is None:
            return complete(lead, [], _absent_levels(around))
        is_disturbed = first is not None and first.unusable
        remarks = _remarks(second, replace(around, other_cpu=None) if is_disturbed else around)
        return complete(lead, _naming(second, verdict_forms(second, design)), remarks)
    assert first is not None
    lead = verdict_forms(first, design, effects)
    if second is not None:
        lead = [*_without_difference(first), *lead]
        position = responses.index(second)
        ordinal = _ORDINALS[position] if position < len(_ORDINALS) else "later"
        second = replace(second, label=f"{second.label}, declared {ordinal}")
        return _complete_both(lead, _naming(second, verdict_forms(second, design)), first, around)
    return complete(lead, [], _remarks(first, around))


def headline_of_a_run(first: ResponseFinding | None, run_forms: Sequence[str], around: Circumstances) -> str:
    """Returns the headline of an experiment with one command in one cell. run_forms: what a run takes."""
    remarks = _remarks(first, around)
    if first is not None and first.unusable:
        return complete(forms("disturbed", {"share": around.other_cpu}), run_forms, remarks)
    return complete(run_forms, [], remarks)


def _naming(r: ResponseFinding, verdicts: Sequence[str]) -> list[str]:
    """Returns the verdicts that name the response: behind another response's verdict any other would be read as that
    response's."""
    return [text for text in verdicts if r.label.casefold() in text.casefold()]


def _complete_both(lead: Sequence[str], second: Sequence[str], first: ResponseFinding, around: Circumstances) -> str:
    """Joins two verdicts and the remarks. The remark on other programs gives way to the second verdict."""
    for known in (around, replace(around, other_cpu=None)):
        remarks = _remarks(first, known)
        text = complete([f"{start} {end}" for start in lead for end in second], [], remarks)
        if words(text) <= WORDS_MAX and text.endswith(" ".join(remarks)):
            return text
    return complete(lead, second, _remarks(first, around))


def complete(lead: Sequence[str], second: Sequence[str], remarks: Sequence[str]) -> str:
    """Joins the verdict on the first response, that on the second and the remarks, within WORDS_MAX words. Remarks that
    leave no room for a verdict are left out, the last one first.
    """
    verdicts = [*(f"{start} {end}" for start in lead for end in second), *lead]
    shortest = min(words(text) for text in verdicts)
    room = min(WORDS_MAX - shortest, _REMARK_WORDS_MAX)
    while remarks and words(" ".join(remarks)) > room:
        remarks = remarks[:-1]
    return " ".join([fitting(verdicts, WORDS_MAX - words(" ".join(remarks))), *remarks])


def second_response(
    first: ResponseFinding | None, responses: Sequence[ResponseFinding], design: Layout
) -> ResponseFinding | None:
    """Returns the response that the headline adds: one that separates levels where the first does not. If the first is
    not compared at all, any comparable one. Never one that only describes, such as syncs per write: no level is the
    best in it, and a difference alone answers no question.
    """
    if first is not None and _is_separated(first):
        return None
    able = [r for r in responses if r is not first and is_comparable(r, design)]
    apart = next((r for r in able if _is_separated(r)), None)
    if apart is not None or (first is not None and is_comparable(first, design)):
        return apart
    return next(iter(able), None)


def is_comparable(r: ResponseFinding, design: Layout) -> bool:
    """Returns whether the levels of the subject can be compared in this response."""
    wanted = r.better is not Better.NEITHER and not r.unusable and not is_asked_for(r.name, design.subject)
    return wanted and any(c.differs is not None for k in r.rankings for c in k.contrasts)


def verdict_forms(r: ResponseFinding, design: Layout, effects: Sequence[Effect] = ()) -> list[str]:
    """Returns the verdict on a response that can be compared, the longest form first."""
    ranked = [k for k in r.rankings if k.cells]
    if len(design.conditions) == 1:
        return level_forms(ranked[0], r, design.subject)
    of_conditions = condition_forms(r, design)
    own = next((e for e in effects if e.factors == (design.subject,) and not e.where), None)
    best = [set(best_levels(k, design)) for k in ranked if k.behind]
    agree = not best or bool(set.intersection(*best))
    if own is not None and design.subject != "database" and agree:
        return [own.text, *of_conditions]
    return of_conditions


def _without_difference(r: ResponseFinding) -> list[str]:
    """Returns the short verdict on a response that separates nothing."""
    if all(k.equal for k in r.rankings if k.cells):
        return forms("first is equal", {"label": what_text(r, capital=True), "margin": within_margin(r)})
    return forms("first is undecided", {"label": what_text(r, capital=True)})


def _is_separated(r: ResponseFinding) -> bool:
    return not r.unusable and any(k.behind for k in r.rankings)


def _lead(first: ResponseFinding | None, what: str, design: Layout, around: Circumstances) -> list[str] | None:
    """Returns why the first response is not compared; None if it is."""
    if first is None or not any(k.cells for k in first.rankings):
        if around.missed and first is not None and needs_its_rate(first.name):
            return forms("rate missed", {"missed": _missed(around.missed)})
        return forms("no value yet" if around.progress.planned else "no value", {"what": what})
    if first.unusable:
        return forms("disturbed", {"share": around.other_cpu})
    if is_asked_for(first.name, design.subject):
        return forms("set by a factor", {"factor": factor_name(design.subject), "what": first.label})
    contrasts = [c for k in first.rankings for c in k.contrasts]
    if not contrasts:
        if around.missed and needs_its_rate(first.name):
            return forms("rate missed", {"missed": _missed(around.missed)})
        best = names(design.subject, [next(k for k in first.rankings if k.cells).cells[0].levels[design.subject]])
        return forms("one level", {"what": what, "best": best})
    if all(c.differs is None for c in contrasts):
        why = why_none(first)
        return forms("not comparable", {"what": what, "why": why, "short_why": _first_clause(why)})
    return None


def why_none(r: ResponseFinding) -> str:
    """Returns why a response with values has no comparison."""
    if max(c.n for c in r.cells) == 1:
        return "each cell has one run"
    reasons = [p.reason for p in r.parts if p.reason] or [n for n in r.notes if "judged" in n]
    return reasons[0] if reasons else "the cells cannot be compared"


def _first_clause(text: str) -> str:
    return text.partition(": ")[0].partition("; ")[0]


def _remarks(r: ResponseFinding | None, around: Circumstances) -> list[str]:
    """Returns the remarks on a verdict, the most important first. r: the response that is compared."""
    if r is None:
        return _absent_levels(around)
    missed = _missed(around.missed) if around.missed and any(k.contrasts for k in r.rankings) else ""
    remarks = _absent_levels(around)
    if around.other_cpu and not r.unusable and (r.is_energy or r.unit in CLOCKED) and BESIDE_OTHERS not in missed:
        remarks += forms("other programs", {"share": around.other_cpu})
    if missed:
        remarks += forms("rate not sustained", {"missed": capitalised(missed)})
    for name in around.stand_ins:
        remarks += forms("stand-in", {"database": name})
    if around.progress.planned:
        done = around.progress.total - around.progress.planned - around.progress.not_here
        remarks += forms("preliminary", {"done": done, "runs": count(around.progress.total, "run")})
    return remarks


def _absent_levels(around: Circumstances) -> list[str]:
    return [text for name in around.not_here for text in forms("not here", {"database": name})]


def _missed(missed: Sequence[str]) -> str:
    """Describes the cells that did not sustain their rate."""
    if len(missed) > _MISSED_LISTED_MAX:
        beside = sum(text.endswith(BESIDE_OTHERS) for text in missed)
        some = "" if beside == len(missed) else f", {beside}"
        return f"{len(missed)} cells do not sustain their rate{f'{some}{BESIDE_OTHERS}' if beside else ''}"
    return listed([without_reached(text) for text in missed])
