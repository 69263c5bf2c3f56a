"""The layout of an experiment: the compared factor and the conditions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgejoule.experiment.model import Level, Spec
from edgejoule.findings.level_names import condition_level
from edgejoule.findings.model import Levels
from edgejoule.store import Run


@dataclass(frozen=True)
class Layout:
    """The factors with their levels. subject: the factor whose levels are ranked. others: the remaining factors.
    conditions: the combinations of their levels, in order. declared_blocks: those of the plan; later ones were added.
    """

    levels: Mapping[str, tuple[Level, ...]]
    subject: str
    subjects: tuple[Level, ...]
    others: tuple[str, ...]
    conditions: tuple[Levels, ...]
    blocked: bool
    shares_loads: bool = False
    declared_blocks: int = 0

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of all factors, in the experiment's order."""
        return tuple(self.levels)

    def cells(self) -> list[Levels]:
        """Returns all cells, ordered by condition and then by subject."""
        return [
            {f: level if f == self.subject else condition[f] for f in self.factors}
            for condition in self.conditions
            for level in self.subjects
        ]


def subject_of(spec: Spec, largest: str | None = None) -> str:
    """Returns the factor that the headline compares: analysis.compare, else the database if it varies, else `largest`
    (the factor with the largest effect), else the first factor that varies.
    """
    varied = [name for name, levels in spec.factors.items() if len(levels) > 1]
    default = "database" if "database" in varied else (varied or list(spec.factors))[0]
    # The data must not choose the subject of an interim analysis: its level of significance would not hold.
    if spec.analysis.compare or default == "database" or spec.design.sequential:
        return spec.analysis.compare or default
    return largest or default


def design_of(spec: Spec, subject: str | None = None, *, added_blocks: int = 0) -> Layout:
    """Returns the layout with this subject. The factor analysis.by comes first in the conditions. added_blocks: beyond
    those of the plan.
    """
    subject = subject or subject_of(spec)
    rest = [name for name in spec.factors if name != subject]
    others = tuple(sorted(rest, key=lambda name: name != spec.analysis.by))
    combos = itertools.product(*(spec.factors[name] for name in others))
    return Layout(
        levels={name: tuple(levels) for name, levels in spec.factors.items()},
        subject=subject,
        subjects=tuple(spec.factors[subject]),
        others=others,
        conditions=tuple(dict(zip(others, combo, strict=True)) for combo in combos),
        shares_loads=spec.design.shares_loads,
        blocked=spec.design.order == "randomised-blocks" and spec.design.replications + added_blocks > 1,
        declared_blocks=spec.design.replications,
    )


def runs_of(runs: Sequence[Run], levels: Levels) -> list[Run]:
    """Returns the runs that have these levels."""
    return [r for r in runs if all(r.levels[name] == level for name, level in levels.items())]


def label(levels: Levels) -> str:
    """Describes a condition: a name stands for itself, a number stands with its factor."""
    return ", ".join(condition_level(name, level) for name, level in levels.items())
