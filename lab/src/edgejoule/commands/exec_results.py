"""What `edgejoule exec` shows of an experiment: a row for each command, from the findings, and the noise floor."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edgejoule import sequential
from edgejoule.commands.exec_spec import control_name
from edgejoule.findings import Cell, Findings, ResponseFinding
from edgejoule.plan import cells
from edgejoule.properties import Level
from edgejoule.stats import Pair
from edgejoule.store import Experiment, Run

NAMES = {"energy_j": "energy", "energy_net_j": "energy above idle", "cpu_s": "CPU time", "active_s": "wall time"}
_PHASE_FIGURES = ("duration_s", "energy_j", "uncertainty_k2_j", "read_bytes", "write_bytes")


@dataclass(frozen=True)
class Row:
    """One command at one value of each parameter. cells: response -> its figures.

    ratio: to the best command, with its simultaneous interval. tied: not shown to differ from the best; None where
    nothing is tested. letters: commands that share one are not shown to differ.
    """

    label: str
    levels: Mapping[str, Level]
    cells: Mapping[str, Cell]
    ratio: float | None = None
    ratio_ci: tuple[float, float] | None = None
    letters: str | None = None
    tied: bool | None = None
    control: bool = False

    def mean(self, response: str) -> float | None:
        """The mean of a response, or None."""
        cell = self.cells.get(response)
        return cell.mean if cell else None


@dataclass(frozen=True)
class PhaseMeans:
    """A phase that a command announced, the means over its runs; None where a run lacks the figure."""

    name: str
    duration_s: float | None
    energy_j: float | None
    uncertainty_k2_j: float | None
    read_bytes: float | None
    write_bytes: float | None


@dataclass(frozen=True)
class NoiseFloor:
    """The control against its own command. ratio_ci: the widest interval, of several values of a parameter."""

    ratio: float
    ratio_ci: tuple[float, float]
    differs: bool

    @property
    def share(self) -> float:
        """The largest difference that the same command may show."""
        return max(math.exp(abs(math.log(end))) for end in self.ratio_ci) - 1


@dataclass(frozen=True)
class Result:
    """All that is shown. decides: the response that the verdict is about; None: no run has a value of it."""

    experiment: Experiment
    findings: Findings
    runs: Sequence[Run]
    rows: tuple[Row, ...]
    decides: ResponseFinding | None
    floor: NoiseFloor | None

    @property
    def compared(self) -> tuple[Row, ...]:
        """The rows that the verdict is about, those with a value, the best first."""
        name = self.decides.name if self.decides else ""
        known = [(mean, row) for row in self.rows if not row.control and (mean := row.mean(name)) is not None]
        return tuple(row for _, row in sorted(known, key=lambda pair: pair[0]))

    @property
    def in_turn(self) -> bool:
        """The commands ran one after another, not in randomised blocks."""
        return self.experiment.spec.design.order == "one-after-another"

    @property
    def looks(self) -> Sequence[Mapping[str, Any]]:
        """What the looks of the two stages decided."""
        return sequential.looks_of(self.experiment)

    def runs_of(self, row: Row) -> list[Run]:
        """The finished runs of a row."""
        return [run for run in self.runs if run.status == "finished" and dict(run.levels) == dict(row.levels)]

    def phases(self, row: Row) -> list[PhaseMeans]:
        """The phases of a row's runs, in the order in which they were announced."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for run in self.runs_of(row):
            for fact in run.facts.get("phases", []):
                found.setdefault(fact["name"], []).append(fact)
        return [PhaseMeans(name, *(_mean(facts, key) for key in _PHASE_FIGURES)) for name, facts in found.items()]

    def response(self, name: str) -> ResponseFinding | None:
        """A response by its name."""
        return self.findings.response(name)

    def flags(self) -> list[tuple[str, int]]:
        """Every flag with the number of runs that have it, the most frequent first."""
        return Counter(flag for run in self.runs for flag in dict.fromkeys(run.flags)).most_common()


def _mean(facts: Sequence[Mapping[str, Any]], key: str) -> float | None:
    known = [float(fact[key]) for fact in facts if fact[key] is not None]
    return statistics.fmean(known) if len(known) == len(facts) else None


def result_of(experiment: Experiment, findings: Findings, runs: Sequence[Run]) -> Result:
    """The rows in the order in which the commands were given."""
    known = {r.name: r for r in (*findings.responses, *findings.others)}
    decides = known.get(experiment.spec.analysis.responses[0])
    pairs = [pair for part in (decides.parts if decides else ()) if part.analysis for pair in part.analysis.pairs]
    rows = []
    for levels in cells(experiment.spec):
        own = {name: cell for name, r in known.items() for cell in r.cells if dict(cell.levels) == levels}
        rows.append(Row(label_of(levels), levels, own, control=_is_control(experiment, levels)))
    best = _best(rows, decides)
    rows = [_compared(row, best, pairs, decides) for row in rows]
    return Result(experiment, findings, runs, tuple(rows), decides, _floor(rows, pairs))


def label_of(levels: Mapping[str, Level]) -> str:
    """A command as it is shown: with the values of its parameters in place, or behind it where it has a name."""
    name, behind = str(levels["workload"]), []
    for parameter, value in levels.items():
        if parameter == "workload":
            continue
        if f"{{{parameter}}}" in name:
            name = name.replace(f"{{{parameter}}}", str(value))
        else:
            behind.append(f"{parameter} = {value}")
    return f"{name} ({', '.join(behind)})" if behind else name


def _is_control(experiment: Experiment, levels: Mapping[str, Level]) -> bool:
    names = experiment.spec.factors["workload"]
    return len(names) > 1 and levels["workload"] == names[-1] == control_name(str(names[0]))


def _best(rows: Sequence[Row], decides: ResponseFinding | None) -> Row | None:
    if decides is None:
        return None
    known = [(mean, row) for row in rows if not row.control and (mean := row.mean(decides.name)) is not None]
    return min(known, key=lambda pair: pair[0])[1] if known else None


def _compared(row: Row, best: Row | None, pairs: Sequence[Pair], decides: ResponseFinding | None) -> Row:
    """The row with its ratio to the best."""
    if best is None or decides is None or row.mean(decides.name) is None:
        return row
    letters = row.cells[decides.name].letters
    if row.label == best.label:
        return replace(row, ratio=1.0, letters=letters, tied=True)
    pair = _pair(pairs, row, best)
    if pair is None:
        mean, least = row.mean(decides.name), best.mean(decides.name)
        return replace(row, ratio=mean / least if mean and least and least > 0 else None, letters=letters)
    judged = not decides.unusable and letters is not None
    tied = not pair.significant if judged else None
    return replace(row, ratio=pair.ratio, ratio_ci=pair.ratio_ci, letters=letters, tied=tied)


def _pair(pairs: Sequence[Pair], row: Row, other: Row) -> Pair | None:
    """The comparison row / other, turned round where the analysis has it the other way."""
    for pair in pairs:
        if _matches(pair.a, row.levels) and _matches(pair.b, other.levels):
            return pair
        if _matches(pair.b, row.levels) and _matches(pair.a, other.levels):
            return _turned(pair)
    return None


def _turned(pair: Pair) -> Pair:
    ratio = 1 / pair.ratio if pair.ratio else None
    ci = (1 / pair.ratio_ci[1], 1 / pair.ratio_ci[0]) if pair.ratio_ci else None
    return replace(pair, a=pair.b, b=pair.a, ratio=ratio, ratio_ci=ci)


def _matches(named: Mapping[str, str], levels: Mapping[str, Level]) -> bool:
    return all(str(levels[name]) == level for name, level in named.items())


def _floor(rows: Sequence[Row], pairs: Sequence[Pair]) -> NoiseFloor | None:
    """The control that differs most from its own command; None without one, or without a comparison."""
    found = []
    for control in (row for row in rows if row.control):
        same = next(row for row in rows if {**control.levels, "workload": row.levels["workload"]} == row.levels)
        pair = _pair(pairs, control, same)
        if pair and pair.ratio and pair.ratio_ci:
            found.append(NoiseFloor(pair.ratio, pair.ratio_ci, pair.significant))
    return max(found, key=lambda floor: (floor.differs, floor.share), default=None)
