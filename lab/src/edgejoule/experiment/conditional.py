"""[[when]]: settings that hold for some levels only.

A rule holds in a cell when all its conditions hold: the cell's level of that factor is the named one or among the named
ones. The order of the rules does not matter: two rules that give a setting different values in a cell are an error.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from edgejoule.dictionary.properties import Level
from edgejoule.dictionary.responses import nearest
from edgejoule.experiment.exclusions import Exclusion

Levels = Mapping[str, Level]
Complaint = tuple[str, str]  # dotted key, message


class When(BaseModel):
    """Settings of the cells in which every condition (any further key: a factor and its level or levels) holds."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, allow_inf_nan=False)
    __pydantic_extra__: dict[str, Level | list[Level]] = Field(init=False)
    set: dict[str, Level] = Field(min_length=1, description="settings of these cells; each wins over [fixed]")

    def conditions(self) -> dict[str, list[Level]]:
        """Returns factor -> the levels at which the rule holds."""
        extra: Mapping[str, Any] = self.model_extra or {}
        return {factor: levels if isinstance(levels, list) else [levels] for factor, levels in extra.items()}

    def holds(self, levels: Levels) -> bool:
        """Returns whether the rule holds in a cell with these levels."""
        return all(any(same(levels.get(f), one) for one in wanted) for f, wanted in self.conditions().items())

    def describe(self) -> str:
        """Describes the rule: "database sqlite, workload write: threads = 1"."""
        conditions = ", ".join(f"{f} {' or '.join(map(str, levels))}" for f, levels in self.conditions().items())
        return f"{conditions}: {', '.join(f'{name} = {value}' for name, value in self.set.items())}"


def same(a: object, b: object) -> bool:
    """Compares two levels; true differs from 1, although Python regards them as equal."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def cells_of(factors: Mapping[str, Sequence[Level]]) -> Iterator[dict[str, Level]]:
    """Returns every combination of the factors' levels; the last factor varies fastest."""
    return (dict(zip(factors, combo, strict=True)) for combo in itertools.product(*factors.values()))


def settings_of(rules: Sequence[When], levels: Levels) -> dict[str, Level]:
    """Returns the settings that the rules state for a cell."""
    return {name: value for rule in rules if rule.holds(levels) for name, value in rule.set.items()}


def condition_complaints(
    rules: Sequence[When], factors: Mapping[str, Sequence[Level]], left_out: Mapping[str, Sequence[Level]]
) -> list[Complaint]:
    """Finds conditions on unknown factors or levels, settings that are factors, and conflicts.

    left_out: levels that the spec has and `--set` does not; a rule may name them, it holds nowhere.
    """
    known = {factor: [*levels, *left_out.get(factor, ())] for factor, levels in factors.items()}
    errors: list[Complaint] = []
    for i, rule in enumerate(rules):
        if not rule.conditions():
            errors.append(
                (f"when.{i}", "has no condition; name a factor and its levels, or put the settings in [fixed]")
            )
        for factor, wanted in rule.conditions().items():
            errors += [(f"when.{i}.{factor}", message) for message in _wrong_condition(factor, wanted, known)]
        why = "a setting is either varied or set; remove it from the rule to vary it"
        errors += [(f"when.{i}.set.{name}", Exclusion(f"factors.{name}", why)) for name in rule.set if name in factors]
    return errors or _conflicts(rules, factors)


def _wrong_condition(factor: str, wanted: Sequence[Level], factors: Mapping[str, Sequence[Level]]) -> Iterator[str]:
    if factor not in factors:
        yield f"{factor!r} is no factor, and a condition is on a factor; {nearest(factor, factors)}"
        return
    if not wanted:
        yield "names no level, so it never holds"
    for level in wanted:
        if not any(same(level, known) for known in factors[factor]):
            yield f"{level!r} is no level of {factor}; {nearest(str(level), map(str, factors[factor]))}"


def _conflicts(rules: Sequence[When], factors: Mapping[str, Sequence[Level]]) -> list[Complaint]:
    for cell in cells_of(factors) if len(rules) > 1 else ():
        given: dict[str, tuple[int, Level]] = {}
        for i, rule in enumerate(rules):
            for name, value in rule.set.items() if rule.holds(cell) else ():
                first, earlier = given.setdefault(name, (i, value))
                if not same(earlier, value):
                    where = ", ".join(f"{f} {level}" for f, level in cell.items())
                    why = f"{value!r} here and {earlier!r} there, and both rules hold for {where}; narrow one condition"
                    return [(f"when.{i}.set.{name}", Exclusion(f"when.{first}.set.{name}", why))]
    return []
