"""The verdict on the levels of one factor, and on an interaction, from the templates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from edgejoule.experiment.model import Level
from edgejoule.findings.level_names import counted_levels, in_order, names
from edgejoule.findings.templates import WORDS_MAX, fitting, forms
from edgejoule.findings.text import listed, number, ratio, times_text

_LISTED_MAX = 3  # levels behind the best that are named one by one


@dataclass(frozen=True)
class Ranked:
    """A level against the best one. times: how many times better the best is. more: the difference as text, where
    there is no ratio. differs, equal: None where nothing can be said. ratio_ci, difference_ci: simultaneous intervals,
    the latter in the question's unit.
    """

    level: Level
    times: float | None = None
    more: str | None = None
    differs: bool | None = None
    equal: bool | None = None
    ratio_ci: tuple[float, float] | None = None
    difference_ci: tuple[float, float] | None = None


@dataclass(frozen=True)
class Question:
    """The comparison. label: of the response with its method. value: of the best level, as text. equal_text: the
    declared margin, "within 5 %". resolved: the ratio that a model resolves. exact: constant counts are compared.
    """

    factor: str
    label: str
    value: str
    least: str = "lowest"
    higher: bool = False
    equal_text: str | None = None
    resolved: float | None = None
    exact: bool = False
    symbol: str = ""


def sentence(q: Question, best: Level, others: Sequence[Ranked], words_max: int = WORDS_MAX) -> str:
    """Returns the verdict on a factor. others: the best first."""
    return fitting(sentence_forms(q, best, others), words_max)


def sentence_forms(q: Question, best: Level, others: Sequence[Ranked]) -> list[str]:
    """Returns the forms of the verdict, the longest first."""
    values: dict[str, object] = {
        "what": q.label, "label": _capital(q.label), "most": f"{_capital(q.least)} {q.label}",
        "best": names(q.factor, [best]), "value": q.value, "margin": q.equal_text,
        "exact": "; exact" if q.exact else "",
    }  # fmt: skip
    if not others:
        return forms("one level", values)
    if all(o.differs is None for o in others):
        return forms("untested", {**values, "others": _each(q, others), "range": _range(q, others)})
    tied, behind = [o for o in others if not o.differs], [o for o in others if o.differs]
    leaders = in_order([best, *(o.level for o in tied)])
    values["count"] = counted_levels(q.factor, len(leaders))
    if not behind:
        return _undecided(q, best, tied, values)
    values |= {
        "leaders": names(q.factor, leaders, last="or"), "tie": _tie(q, tied),
        "others": _each(q, behind), "range": _range(q, behind),
    }  # fmt: skip
    return forms("decided", values)


def interaction_sentence(
    factors: Sequence[str], *, shows: bool | None, at_most: str | None, resolved: float | None
) -> str:
    """Returns the verdict on an interaction. shows: None without a test. at_most: the largest change of an effect."""
    if shows is None:
        return f"Whether the effects of {listed(factors)} depend on each other is not tested."
    if not shows:
        bound = f": {at_most} by the means, and the model resolves {ratio(resolved)}×" if resolved and at_most else ""
        return f"No interaction of {listed(factors)} shows{bound}."
    if len(factors) > 2:
        return f"The effects of {listed(factors)} depend on each other."
    much = f": it differs by up to {at_most}" if at_most else ""
    return f"The effect of {factors[0]} depends on {factors[1]}{much}."


def _tie(q: Question, tied: Sequence[Ranked]) -> str:
    if not tied:
        return ""
    if q.exact:
        return " (equal)"
    return f" (equal {q.equal_text})" if q.equal_text and all(o.equal for o in tied) else " (tie)"


def _undecided(q: Question, best: Level, tied: Sequence[Ranked], values: dict[str, object]) -> list[str]:
    equal = [o for o in tied if o.equal] if q.equal_text else []
    values |= {
        "levels": names(q.factor, in_order([best, *(o.level for o in tied)])),
        "interval": interval_text([o.ratio_ci for o in tied], [o.difference_ci for o in tied], q.symbol),
        "resolved": f"; the model resolves {ratio(q.resolved)}×" if q.resolved is not None else "",
    }
    if len(equal) == len(tied):
        return forms("equal", values)
    if equal and q.resolved is None:
        return forms("some equal", {**values, "equal": names(q.factor, in_order([best, *(o.level for o in equal)]))})
    return forms("undecided", values)


def interval_text(
    ratios: Sequence[tuple[float, float] | None], differences: Sequence[tuple[float, float] | None], symbol: str
) -> str:
    """Describes the interval that holds all ratios to the best level, else all differences; empty where one has none.
    A point estimate bounds nothing.
    """
    for kind, intervals, text, unit in (("ratio", ratios, ratio, ""), ("difference", differences, number, symbol)):
        known = [limits for limits in intervals if limits is not None and all(map(math.isfinite, limits))]
        if known and len(known) == len(intervals):
            low, high = min(low for low, _ in known), max(high for _, high in known)
            return f", {kind} {text(low)} to {text(high)} {unit}".rstrip()
    return ""


def _each(q: Question, others: Sequence[Ranked]) -> str | None:
    """Describes the other levels, the best first; None if there are too many."""
    if len(others) > _LISTED_MAX:
        return None
    if any(o.times is None for o in others):
        more = "less" if q.higher else "more"
        differences = [f"{o.more} {more} with {names(q.factor, [o.level])}" for o in others if o.more]
        return f"; {listed(differences)}" if differences else ""
    that = _that(q)
    each = [
        f"{times_text(o.times or 1)} {that if i == 0 else 'with'} {names(q.factor, [o.level])}"
        for i, o in enumerate(others)
    ]
    return f"; {listed(each)}"


def _range(q: Question, others: Sequence[Ranked]) -> str:
    """Describes the other levels by the least and the largest ratio."""
    times = [o.times for o in others if o.times is not None]
    if len(times) < len(others):
        return ""
    least, most = times_text(min(times)), times_text(max(times))
    much = least if least == most else f"{least} to {most}"
    return f"; {much} {_that(q)} {'the other' if len(others) == 1 else f'the {len(others)} others'}"


def _that(q: Question) -> str:
    return "that with" if q.higher else "as much with"


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def difference_text(difference: float, scale: float, symbol: str) -> str:
    """Formats the absolute difference on the raw scale with its unit."""
    return f"{number(abs(difference) / scale)} {symbol}".strip()
