"""Templates for the verdict on one factor, with one, two or many levels, names or numbers.

A template has no verb that must agree with a level's name. A sentence has one verdict and about 25 words at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgejoule.experiment.model import Level
from edgejoule.findings.text import listed, number, ratio

_NAMED = ("database", "workload")  # levels shown without their factor
_LISTED_MAX = 3  # levels named one by one


@dataclass(frozen=True)
class Ranked:
    """A level against the best one. times: how many times better the best is. more: the difference as text, where
    there is no ratio. differs, equal: None where nothing can be said.
    """

    level: Level
    times: float | None = None
    more: str | None = None
    differs: bool | None = None
    equal: bool | None = None


@dataclass(frozen=True)
class Question:
    """The comparison. label: of the response with its method. value: of the best level, as text. equal_text: the
    declared margin, "within 5 %". resolved: the ratio that a model resolves.
    """

    factor: str
    label: str
    value: str
    least: str = "lowest"
    higher: bool = False
    equal_text: str | None = None
    resolved: float | None = None


def sentence(q: Question, best: Level, others: Sequence[Ranked]) -> str:
    """Returns the verdict on a factor. others: the best first."""
    if not others:
        return f"Only {names(q.factor, [best])} has values of {q.label}, so there is nothing to compare."
    head = f"{q.least[0].upper()}{q.least[1:]} {q.label} with"
    if all(o.differs is None for o in others):
        return f"{head} {names(q.factor, [best])}: {q.value}{_others(q, others)}; not tested."
    tied, behind = [o for o in others if not o.differs], [o for o in others if o.differs]
    if not behind:
        return _undecided(q, best, tied)
    leaders = names(q.factor, _in_order([best, *(o.level for o in tied)]), last="or")
    equal = f" (equal {q.equal_text})" if tied and all(o.equal for o in tied) else " (tie)" if tied else ""
    return f"{head} {leaders}{equal}: {q.value}{_others(q, behind)}."


def interaction_sentence(
    factors: Sequence[str], *, shows: bool | None, at_most: str | None, resolved: float | None
) -> str:
    """Returns the verdict on an interaction. shows: None without a test. at_most: the largest change of an effect."""
    if shows is None:
        return f"Whether the effects of {listed(factors)} depend on each other is not tested."
    if not shows:
        bound = f": {at_most} at most, and the model resolves {ratio(resolved)}×" if resolved and at_most else ""
        return f"No interaction of {listed(factors)} shows{bound}."
    if len(factors) > 2:
        return f"The effects of {listed(factors)} depend on each other."
    much = f": it differs by up to {at_most}" if at_most else ""
    return f"The effect of {factors[0]} depends on {factors[1]}{much}."


def names(factor: str, levels: Sequence[Level], last: str = "and") -> str:
    """Describes levels. A name stands for itself, everything else stands with its factor: threads 1, 2 and 4."""
    texts = [_level(level) for level in levels]
    if len(texts) > _LISTED_MAX + 1:
        return f"{len(texts)} levels of {factor}"
    bare = factor in _NAMED and not any(word[0].isdigit() for word in texts if word)
    return listed(texts, last) if bare else f"{factor} {listed(texts, last)}"


def _in_order(levels: Sequence[Level]) -> list[Level]:
    """Sorts numbers by size; leaves names in their order."""
    numbers = [level for level in levels if isinstance(level, int | float)]
    return sorted(numbers) if len(numbers) == len(levels) else list(levels)


def _level(level: Level) -> str:
    if isinstance(level, bool):
        return str(level).lower()
    return f"{level:,}" if isinstance(level, int) else str(level)


def _undecided(q: Question, best: Level, tied: Sequence[Ranked]) -> str:
    label = f"{q.label[0].upper()}{q.label[1:]}"
    levels = names(q.factor, _in_order([best, *(o.level for o in tied)]))
    equal = [o for o in tied if o.equal]
    if len(equal) == len(tied) and q.equal_text:
        return f"{label}: equal {q.equal_text} with {levels}."
    text = f"{label}: no difference shows between {levels}"
    times = [o.times for o in tied if o.times is not None]
    if times:
        text += f", {ratio(max(times))}× at most"
    if q.resolved is not None:
        return f"{text}; the model resolves {ratio(q.resolved)}×."
    if equal and q.equal_text:
        return f"{text}; {names(q.factor, _in_order([best, *(o.level for o in equal)]))} are equal {q.equal_text}."
    return f"{text}."


def _others(q: Question, others: Sequence[Ranked]) -> str:
    """Describes the other levels, the best first; many of them as a range."""
    if any(o.times is None for o in others):
        more = "less" if q.higher else "more"
        differences = [f"{o.more} {more} with {names(q.factor, [o.level])}" for o in others if o.more]
        return f"; {listed(differences)}" if differences and len(differences) <= _LISTED_MAX else ""
    times = [f"{ratio(o.times)}×" for o in others if o.times is not None]
    that = "that with" if q.higher else "as much with"
    if len(others) > _LISTED_MAX:
        return f"; {times[0]} to {times[-1]} {that} the {len(others)} others"
    first, *rest = [
        f"{much} {that if i == 0 else 'with'} {names(q.factor, [o.level])}"
        for i, (much, o) in enumerate(zip(times, others, strict=True))
    ]
    return f"; {listed([first, *rest])}"


def difference_text(difference: float, scale: float, symbol: str) -> str:
    """Formats the absolute difference on the raw scale with its unit."""
    return f"{number(abs(difference) / scale)} {symbol}".strip()
