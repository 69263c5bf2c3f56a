"""Levels and factors as a reader names them: leveldb, 4 threads, target 4,000, policy eco."""

from __future__ import annotations

import re
from collections.abc import Sequence

from edgejoule.experiment.model import Level
from edgejoule.findings.text import listed

_BARE = ("database", "workload")  # factors whose levels are names by themselves
_COUNTED = ("clients", "connections", "cpus", "nodes", "servers", "threads", "workers")  # factors that count things
_LISTED_MAX = 4  # levels named one by one; more are counted
_PLAIN_WORD = re.compile(r"[a-z][a-z-]*")


def names(factor: str, levels: Sequence[Level], last: str = "and") -> str:
    """Describes levels: leveldb and sqlite; 1, 2 or 4 threads; target 4,000. More than _LISTED_MAX are counted."""
    if len(levels) > _LISTED_MAX:
        return counted_levels(factor, len(levels))
    text = listed([level_text(level) for level in levels], last)
    if _counts_things(factor, levels):
        return f"{text} {factor[:-1] if list(levels) == [1] else factor}"
    bare = factor in _BARE and not any(level_text(level)[:1].isdigit() for level in levels)
    return text if bare else f"{factor_name(factor)} {text}"


def counted_levels(factor: str, count: int) -> str:
    """Describes a number of levels: 5 databases, 5 levels of threads."""
    if factor in _BARE:
        return f"{count} {factor}{'s' if count != 1 else ''}"
    return f"{count} level{'s' if count != 1 else ''} of {factor_name(factor)}"


def one_level(factor: str) -> str:
    """Names a level without its value: database; level of threads."""
    return factor if factor in _BARE else f"level of {factor_name(factor)}"


def factor_name(factor: str) -> str:
    """Returns the factor without its program: policy for eco.policy."""
    return "policy" if factor == "eco.policy" else factor


def condition_level(factor: str, level: Level) -> str:
    """Describes a level as part of a condition, where every name stands for itself."""
    return level if isinstance(level, str) else names(factor, [level])


def level_text(level: Level) -> str:
    """Formats a level: 4,000 for a number, true for a truth value."""
    if isinstance(level, bool):
        return str(level).lower()
    return f"{level:,}" if isinstance(level, int) else str(level)


def in_order(levels: Sequence[Level]) -> list[Level]:
    """Sorts numbers by size; leaves names in their order."""
    numbers = [level for level in levels if isinstance(level, int | float)]
    return sorted(numbers) if len(numbers) == len(levels) else list(levels)


def capital(text: str) -> str:
    """Begins a sentence with a capital letter, unless it begins with a name such as A.sh or ycsb_a."""
    first = text.split(" ", 1)[0].rstrip(",:;")
    return f"{text[0].upper()}{text[1:]}" if _PLAIN_WORD.fullmatch(first) else text


def _counts_things(factor: str, levels: Sequence[Level]) -> bool:
    return factor in _COUNTED and all(isinstance(v, int) and not isinstance(v, bool) for v in levels)
