"""The result that `edgejoule exec` shows: a row for each command, from the findings, and the noise floor."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edgejoule.dictionary.properties import Level
from edgejoule.exec.options import parameter_of
from edgejoule.exec.spec import control_name
from edgejoule.experiment.plan import cells
from edgejoule.findings import Cell, Findings, ResponseFinding, phases
from edgejoule.stats import Pair
from edgejoule.stats.describe import describe
from edgejoule.store import Experiment, Run
from edgejoule.study import sequential

NAMES = {"energy_j": "energy", "energy_net_j": "energy above idle", "cpu_s": "CPU time", "active_s": "wall time"}
_PHASE_FIGURES = ("duration_s", "energy_j", "uncertainty_k2_j", "read_bytes", "write_bytes")


@dataclass(frozen=True)
class Row:
    """One command at one value of each parameter. cells: response -> its figures.

    Means in `cells` are arithmetic, with Student's interval of the command's own runs, so that amounts add up. ratio:
    of geometric means, to the best command, with its simultaneous interval; None where a mean, its interval or a value
    holds 0. typical: the geometric mean of the response that decides, which the tests compare; arithmetic where values
    are not positive. tied: not shown to differ from the best; None where nothing is tested. letters: commands that
    share one are not shown to differ. resolved: no value, mean or interval of the response that decides holds 0.
    short: the command takes less than its shell's start, in wall or CPU time.
    """

    label: str
    levels: Mapping[str, Level]
    cells: Mapping[str, Cell]
    ratio: float | None = None
    ratio_ci: tuple[float, float] | None = None
    letters: str | None = None
    tied: bool | None = None
    control: bool = False
    typical: float | None = None
    resolved: bool = True
    short: bool = False

    def mean(self, response: str) -> float | None:
        """Returns the mean of a response, or None."""
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
        """Returns the largest difference that the same command may show."""
        return max(math.exp(abs(math.log(end))) for end in self.ratio_ci) - 1


@dataclass(frozen=True)
class Result:
    """The whole result. decides: the response that the verdict is about; None: no run has a value of it."""

    experiment: Experiment
    findings: Findings
    runs: Sequence[Run]
    rows: tuple[Row, ...]
    decides: ResponseFinding | None
    floor: NoiseFloor | None

    @property
    def compared(self) -> tuple[Row, ...]:
        """Returns the rows that the verdict is about, those with a value, the best first."""
        return tuple(_in_order(self.rows))

    @property
    def in_turn(self) -> bool:
        """Returns whether the commands ran one after another, not in randomised blocks."""
        return self.experiment.spec.design.order == "one-after-another"

    @property
    def looks(self) -> Sequence[Mapping[str, Any]]:
        """Returns the interim decisions of both stages."""
        return sequential.looks_of(self.experiment)

    def runs_of(self, row: Row) -> list[Run]:
        """Returns the finished runs of a row."""
        return [run for run in self.runs if run.status == "finished" and dict(run.levels) == dict(row.levels)]

    def phases(self, row: Row) -> list[PhaseMeans]:
        """Returns the phases of a row's runs, in the order in which they were announced."""
        facts_by_name: dict[str, list[Mapping[str, Any]]] = {}
        for run in self.runs_of(row):
            for fact in run.facts.get("phases", []):
                facts_by_name.setdefault(fact["name"], []).append(fact)
        return [
            PhaseMeans(name, *(phases.mean(facts, key) for key in _PHASE_FIGURES))
            for name, facts in facts_by_name.items()
        ]

    def response(self, name: str) -> ResponseFinding | None:
        """Returns a response by its name."""
        return self.findings.response(name)

    def flags(self) -> list[tuple[str, int]]:
        """Returns each kind of flag, its figures as ranges, with the number of runs that have it; the most frequent
        first."""
        kinds: dict[str, list[tuple[int, str]]] = {}
        for run in self.runs:
            for flag in run.flags:
                kinds.setdefault(_FIGURE.sub("#", flag), []).append((run.run_index, flag))
        merged = [(_merged([flag for _, flag in own]), len({index for index, _ in own})) for own in kinds.values()]
        return sorted(merged, key=lambda pair: -pair[1])


_FIGURE = re.compile(r"\d(?:[\d.,]*\d)?")


def _merged(flags: Sequence[str]) -> str:
    """Merges flags that differ only in figures into one with the range of each figure."""
    columns = [sorted(set(values), key=_figure) for values in zip(*map(_FIGURE.findall, flags), strict=True)]
    ranges = iter(own[0] if len(own) == 1 else f"{own[0]}–{own[-1]}" for own in columns)
    return _FIGURE.sub(lambda _: next(ranges), flags[0])


def _figure(text: str) -> tuple[float, str]:
    try:
        return float(text.replace(",", "")), text
    except ValueError:  # not a number: a version, or a list of exit codes
        return math.inf, text


def result_of(experiment: Experiment, findings: Findings, runs: Sequence[Run], about: str | None = None) -> Result:
    """Returns the rows in the order of the commands. about: the response that decides; default: the first."""
    known = {r.name: r for r in (*findings.responses, *findings.others)}
    decides = known.get(about or experiment.spec.analysis.responses[0])
    pairs = [pair for part in (decides.parts if decides else ()) if part.analysis for pair in part.analysis.pairs]
    rows = [_row(experiment, levels, known, runs, decides) for levels in cells(experiment.spec)]
    best = next(iter(_in_order(rows)), None)
    rows = [_compared(row, best, pairs, decides) for row in rows]
    return Result(experiment, findings, runs, tuple(rows), decides, _floor(rows, pairs))


def _row(
    experiment: Experiment,
    levels: Mapping[str, Level],
    known: Mapping[str, ResponseFinding],
    runs: Sequence[Run],
    decides: ResponseFinding | None,
) -> Row:
    """Returns a row with its means, before it is compared."""
    analysed = {name: cell for name, r in known.items() for cell in r.cells if dict(cell.levels) == levels}
    done = [run for run in runs if run.status == "finished" and dict(run.levels) == levels]
    own = {name: _arithmetic(cell, done, name, _first_stage(experiment, runs)) for name, cell in analysed.items()}
    name = decides.name if decides else ""
    return Row(
        label_of(levels),
        levels,
        own,
        control=_is_control(experiment, levels),
        typical=analysed[name].mean if name in analysed else None,
        resolved=name not in own or _above_zero(own[name]),
        short=_is_short(own, done),
    )


def _first_stage(experiment: Experiment, runs: Sequence[Run]) -> int | None:
    declared = experiment.spec.design.sequential
    blocks = max((run.block for run in runs if run.status != "planned"), default=-1) + 1
    return declared.first_stage(blocks) if declared else None


def _arithmetic(cell: Cell, done: Sequence[Run], name: str, first: int | None) -> Cell:
    """Returns the cell with the arithmetic mean of its runs and Student's interval.

    Power is that of the mean energy over the mean wall time, so that the three agree; its interval is that of a ratio
    of means (W. G. Cochran, Sampling Techniques, 3rd ed., eq. 2.46).
    """
    values = {run.block: value for run in done if (value := run.value(name)) is not None}
    if cell.mean is None or not values:
        return cell
    if name == "power_mean_w":
        values = _linear_power(done) or values
    stage = [value for block, value in values.items() if first is None or block < first]
    summary = describe(list(values.values()), stage=stage)
    return replace(cell, mean=summary.mean, ci=summary.ci95)


def _linear_power(done: Sequence[Run]) -> dict[int, float] | None:
    """Returns block -> a value of power, linear in the run's energy and time, whose mean is mean energy over mean
    time."""
    known = {run.block: (run.value("energy_j"), run.value("active_s")) for run in done}
    pairs = {block: (e, t) for block, (e, t) in known.items() if e is not None and t is not None}
    total_s = sum(t for _, t in pairs.values())
    if len(pairs) < len(known) or total_s <= 0:
        return None
    power, mean_s = sum(e for e, _ in pairs.values()) / total_s, total_s / len(pairs)
    return {block: power + (e - power * t) / mean_s for block, (e, t) in pairs.items()}


def _above_zero(cell: Cell) -> bool:
    ends = [end for end in (cell.minimum, cell.mean, *(cell.ci or ())) if end is not None]
    return all(end > 0 for end in ends)


def _is_short(own: Mapping[str, Cell], done: Sequence[Run]) -> bool:
    shell = next((run.facts["shell"] for run in done if run.facts.get("shell")), None)
    if shell is None:
        return False
    starts = (("active_s", shell["start_s"]), ("cpu_s", shell["cpu_s"]))
    return any(name in own and (mean := own[name].mean) is not None and mean < start for name, start in starts)


def _in_order(rows: Sequence[Row]) -> list[Row]:
    """Returns the rows with a value, without the control, the best first."""
    known = [(row.typical, row) for row in rows if not row.control and row.typical is not None]
    return [row for _, row in sorted(known, key=lambda pair: pair[0])]


def label_of(levels: Mapping[str, Level]) -> str:
    """Returns a command's label: with the values of its parameters in place, or behind it if it has a name."""
    name, behind = str(levels["workload"]), []
    for factor, value in levels.items():
        if factor == "workload":
            continue
        parameter = parameter_of(factor)
        if f"{{{parameter}}}" in name:
            name = name.replace(f"{{{parameter}}}", str(value))
        else:
            behind.append(f"{parameter} = {value}")
    return f"{name} ({', '.join(behind)})" if behind else name


def _is_control(experiment: Experiment, levels: Mapping[str, Level]) -> bool:
    names = experiment.spec.factors["workload"]
    return len(names) > 1 and levels["workload"] == names[-1] == control_name(str(names[0]))


def _compared(row: Row, best: Row | None, pairs: Sequence[Pair], decides: ResponseFinding | None) -> Row:
    """Returns the row with its ratio to the best, unless a figure of either contains 0."""
    if best is None or decides is None or row.typical is None:
        return row
    letters = row.cells[decides.name].letters if row.resolved else None
    has_ratio = row.resolved and best.resolved and decides.scale == "log"
    if row.label == best.label:
        return replace(row, ratio=1.0 if has_ratio else None, letters=letters, tied=True if row.resolved else None)
    pair = _pair(pairs, row, best)
    if pair is None:
        assert best.typical is not None
        plain = row.typical / best.typical if row.resolved and best.resolved else None
        return replace(row, ratio=plain, letters=letters)
    judged = not decides.unusable and letters is not None and best.resolved
    tied = not pair.significant if judged else None
    if not has_ratio:
        return replace(row, letters=letters, tied=tied)
    return replace(row, ratio=pair.ratio, ratio_ci=pair.ratio_ci, letters=letters, tied=tied)


def _pair(pairs: Sequence[Pair], row: Row, other: Row) -> Pair | None:
    """Returns the comparison row / other, inverted if the analysis has the reverse."""
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
    """Returns the control that differs most from its own command; None without one, or without a comparison."""
    floors = []
    for control in (row for row in rows if row.control):
        same = next(row for row in rows if {**control.levels, "workload": row.levels["workload"]} == row.levels)
        pair = _pair(pairs, control, same)
        if control.resolved and same.resolved and pair and pair.ratio and pair.ratio_ci:
            floors.append(NoiseFloor(pair.ratio, pair.ratio_ci, pair.significant))
    return max(floors, key=lambda floor: (floor.differs, floor.share), default=None)
