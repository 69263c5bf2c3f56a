"""The plan of a study, for `run --dry-run`: cells, duration, what cannot run here, and the difference that it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.text import Text

from edgejoule.cli.design_table import print_design
from edgejoule.cli.layout import print_rows
from edgejoule.databases.checks import address_of_users_server, not_here, why_absent
from edgejoule.databases.system_under_test import SystemUnderTest, system_of
from edgejoule.experiment.conditional import settings_of
from edgejoule.experiment.model import Level, Spec
from edgejoule.experiment.plan import PlannedRun, cell_label
from edgejoule.experiment.read import SpecReading
from edgejoule.findings.answer import duration_text
from edgejoule.findings.design import subject_of
from edgejoule.findings.facts import deciding_response, effective_responses
from edgejoule.findings.text import count, percent, ratio
from edgejoule.machine.wiped_disk import Wiping
from edgejoule.meters.base import Method
from edgejoule.stats.power import POWER, pooled_spread, smallest_ratio, spread_of
from edgejoule.store import Run, Store
from edgejoule.study.open_baseline import quiet_s
from edgejoule.study.run_clocks import ClockPlan

_CELLS_MAX = 40  # more cells are shown by the levels of the first factor
_RATIO_MAX = 100  # larger differences are not shown as a number
_ASSUMED = (0.02, 0.05, 0.1)  # coefficients of variation, where no earlier run shows one

#: Parts of a spec that do not change how long a cell takes.
_NOT_TIME = {"design", "analysis", "question", "meter", "name"}


@dataclass(frozen=True)
class Time:
    """A duration in s, between low and high. high: None if nothing bounds it."""

    low: float
    high: float | None

    def __add__(self, other: Time) -> Time:
        high = None if self.high is None or other.high is None else self.high + other.high
        return Time(self.low + other.low, high)

    def text(self) -> str:
        """Returns "about 2 min 3 s", "at most 5 min" or "at least 20 s"."""
        if self.high is None:
            return f"at least {duration_text(self.low)}"
        return f"{'about' if self.high <= self.low else 'at most'} {duration_text(self.high)}"


@dataclass(frozen=True)
class Plan:
    """The runs to be made. wipes: the disks that may be wiped. nowhere: why no run can be made on this machine, with a
    remedy. method: None without a meter. min_ratio: the smallest ratio that modelled energy resolves.
    """

    reading: SpecReading
    runs: Sequence[PlannedRun]
    store: Path
    wipes: Wiping
    clocks: ClockPlan = field(default_factory=ClockPlan)
    nowhere: Sequence[str] = ()
    method: Method | None = None
    min_ratio: float | None = None

    @property
    def spec(self) -> Spec:
        """The experiment."""
        return self.reading.spec

    def not_here(self) -> dict[str, str]:
        """Returns why the runs of a cell cannot be made on this machine, by the cell's label; the first reason."""
        known: dict[tuple[object, ...], str | None] = {}
        result = {}
        for run in self.runs:
            needs = (
                run.adapter, run.database, tuple(run.options.items()), run.command is None, run.cold,
                run.memory_limit_bytes is None, run.file_system, run.link, run.data_path,
            )  # fmt: skip
            if needs not in known:
                known[needs] = why_absent(run) or next(iter(not_here([run], self.wipes)), None)
            if reason := known[needs]:
                result[run.label()] = reason
        return result

    def wiped(self) -> list[WipedDevice]:
        """Returns the devices that are wiped for runs."""
        made = dict.fromkeys(run.file_system for run in self.runs if run.file_system and run.file_system.device)
        kinds: dict[str, list[str]] = {}
        for file_system in made:
            kinds.setdefault(file_system.device, []).append(file_system.kind)
        return [
            WipedDevice(device, self.wipes.text_of(device), " or ".join(dict.fromkeys(own)), self.wipes.why_not(device))
            for device, own in kinds.items()
        ]


@dataclass(frozen=True)
class WipedDevice:
    """A device that runs wipe. what: its description; None: it is not here. refused: why it may not be wiped; None: it
    may.
    """

    device: str
    what: str | None
    kind: str
    refused: str | None

    def text(self) -> str:
        """Returns the line of the plan."""
        may_not = "" if self.refused is None else " (not permitted, see below)"
        return f"each run wipes {self.device} and makes {self.kind} on it{may_not}: {self.what}"

    def to_json(self) -> dict[str, str | None]:
        """Returns the device with the reason why it may not be wiped."""
        return {"device": self.device, "what": self.what, "refused": self.refused}


def print_plan(out: Console, plan: Plan, *, full: bool) -> bool:
    """Prints the plan. Returns whether at least one run can be made here."""
    not_here, earlier = plan.not_here(), _earlier(plan.spec, plan.store)
    out.print(Text(f"{plan.spec.name}: {plan.spec.question}", style="bold"))
    out.print()
    cells = list(dict.fromkeys(run.label() for run in plan.runs))
    times = {run.label(): _time(plan, run, earlier) for run in plan.runs}
    if full:
        _print_runs(out, plan)
    elif len(cells) <= _CELLS_MAX:
        _print_cells(out, plan, times, not_here)
    else:
        _print_groups(out, plan, times, not_here)
    print_design(out, plan.reading)
    for line in _conditions(plan):
        out.print(line, markup=False)
    out.print(f"{_size(plan, len(cells))}; {_duration(plan, times, earlier)}", markup=False)
    for line in _clock_lines(plan):
        out.print(line, markup=False)
    _print_difference(out, plan, earlier)
    return _print_missing(out, plan, not_here)


def _print_missing(out: Console, plan: Plan, not_here: Mapping[str, str]) -> bool:
    """Prints what is missing here and how many runs remain. Returns whether one remains."""
    reasons = dict.fromkeys((*plan.nowhere, *not_here.values()))
    if reasons:
        out.print()
    for reason in reasons:
        out.print(Text(f"! {reason}", style="yellow"))
    left = 0 if plan.nowhere else sum(run.label() not in not_here for run in plan.runs)
    if left and left < len(plan.runs):
        here = f"{left:,} of {count(len(plan.runs), 'run')} can be done here"
        out.print(f"{here}; {_way_to_the_others(plan, not_here)}", markup=False)
    elif not left and plan.runs:
        out.print(f"0 of {count(len(plan.runs), 'run')} can be done here", markup=False)
    return left > 0 or not plan.runs


def _way_to_the_others(plan: Plan, not_here: Mapping[str, str]) -> str:
    """Describes what becomes of the runs that cannot be done here, or how to make the others."""
    absent = [run for run in plan.runs if run.label() in not_here]
    if any(why_absent(run) is None for run in absent):
        return "--only FACTOR=LEVEL makes them"
    if all(plan.spec.is_optional(run.database) for run in absent):
        return "the others are optional and left out"
    return "--keep-going makes them"


def _print_runs(out: Console, plan: Plan) -> None:
    conditional, own = _conditional(plan.spec)
    rows = [(str(run.index + 1), str(run.block + 1), *_levels(run), *own(run)) for run in plan.runs]
    print_rows(out, ("run", "block", *plan.spec.factors, *conditional), rows, numeric=(0, 1))


def _print_cells(out: Console, plan: Plan, times: Mapping[str, Time], not_here: Mapping[str, str]) -> None:
    conditional, own = _conditional(plan.spec)
    shown = _shown(times)
    rows = []
    by_cell: dict[str, list[PlannedRun]] = {}
    for run in sorted(plan.runs, key=_place(plan.spec)):
        by_cell.setdefault(run.label(), []).append(run)
    for label, runs in by_cell.items():
        row = [*_levels(runs[0]), *own(runs[0]), str(len(runs))]
        row += [times[label].text()] if shown else []
        rows.append([*row, *(["no" if label in not_here else ""] if not_here else [])])
    headings = [*plan.spec.factors, *conditional, "runs", *["each"] * shown, *["here"] * bool(not_here)]
    print_rows(out, headings, rows, numeric=(len(plan.spec.factors) + len(conditional),))


def _print_groups(out: Console, plan: Plan, times: Mapping[str, Time], not_here: Mapping[str, str]) -> None:
    """Prints a row for each level of the first factor."""
    first = next(iter(plan.spec.factors))
    shown, rows = _shown(times), []
    ordered = sorted(plan.runs, key=_place(plan.spec))
    for level, group in groupby(ordered, key=lambda run: run.levels[first]):
        runs = list(group)
        cells = dict.fromkeys(run.label() for run in runs)
        row = [str(level), f"{len(cells):,}", f"{len(runs):,}"]
        row += [_sum(times[run.label()] for run in runs).text()] if shown else []
        absent = sum(label in not_here for label in cells)
        here = "" if not absent else "no" if absent == len(cells) else f"{len(cells) - absent} cells"
        rows.append([*row, *([here] if not_here else [])])
    print_rows(out, [first, "cells", "runs", *["time"] * shown, *["here"] * bool(not_here)], rows, numeric=(1, 2))
    out.print("\n--full prints each run.")


def _place(spec: Spec) -> Callable[[PlannedRun], tuple[int, ...]]:
    """Returns the key that orders runs by cell, as the levels are written."""
    levels = {name: [str(level) for level in own] for name, own in spec.factors.items()}
    return lambda run: tuple(levels[name].index(str(level)) for name, level in run.levels.items())


def _shown(times: Mapping[str, Time]) -> bool:
    return any(time.high is not None for time in times.values())


def _conditional(spec: Spec) -> tuple[list[str], Callable[[PlannedRun], list[str]]]:
    """Returns the names of conditional settings, and a function for a run's values of them."""
    names = list(dict.fromkeys(name for rule in spec.when for name in rule.set))

    def own(run: PlannedRun) -> list[str]:
        in_force: dict[str, Level] = dict(spec.fixed) | settings_of(spec.when, run.levels)
        return [str(in_force.get(name, "default")) for name in names]

    return names, own


def _levels(run: PlannedRun) -> list[str]:
    return [str(level) for level in run.levels.values()]


def _conditions(plan: Plan) -> Iterator[str]:
    """Yields the rules of the design, and what happens before and after each run."""
    spec = plan.spec
    for rule in spec.when:
        yield f"when {rule.describe()}"
    quiet, still_s = "", _still_s(plan)
    if any(system_of(run).opens_database for run in plan.runs):
        quiet = f"{f', then {still_s:g} s' if still_s else ', none'} with the database open and quiet"
    yield f"before and after each run {spec.timing.idle_s:g} s idle{quiet}"
    addresses = {run.database: address for run in plan.runs if (address := address_of_users_server(run))}
    for database, address in addresses.items():
        yield f"{database} is your server at {address}: the study neither starts nor loads it"
    yield from (device.text() for device in plan.wiped() if device.what)
    if limit_s := spec.timing.cool_down_s_max:
        power = "temperature alone" if plan.method is Method.MODELLED else "temperature and idle power"
        yield f"before each run up to {limit_s:g} s more to cool down ({power})"


def _still_s(plan: Plan) -> float:
    """Returns the length of each quiet window of the open database."""
    if not any(system_of(run).opens_database for run in plan.runs):
        return 0.0
    return quiet_s(plan.spec.timing, plan.method or Method.MEASURED)


def _clock_lines(plan: Plan) -> Iterator[str]:
    clocks = plan.clocks
    if clocks.marker and plan.runs:
        took = duration_text(clocks.marker_s * len(plan.runs))
        yield (
            f"a marker burst before and after each run, with {clocks.rest_s:g} s of rest after the first: {took} of "
            "that time"
        )
    for name, address in clocks.servers.items():
        yield f"the clock of {name} is read at {address} before and after each run"


def _size(plan: Plan, cells: int) -> str:
    design = plan.spec.design
    return f"{count(len(plan.runs), 'run')} of {count(cells, 'cell')}, order {design.order}, seed {design.seed}"


def _duration(plan: Plan, times: Mapping[str, Time], earlier: Sequence[Run]) -> str:
    """Returns the duration of all runs with its source."""
    total = _sum(times[run.label()] for run in plan.runs)
    if earlier:
        return f"{total.text()}, from earlier runs in {plan.store}"
    if total.high is not None:
        loads = any(not system_of(run).starts_empty for run in plan.runs)
        return f"{total.text()}, and the loads before" if loads else total.text()
    counted = {system_of(run).counts for run in plan.runs}
    what = counted.pop() if len(counted) == 1 else SystemUnderTest.counts
    return f"{total.text()} and the {what} themselves, known after the first block"


def _sum(times: Iterator[Time]) -> Time:
    return sum(times, Time(0, 0))


def _time(plan: Plan, run: PlannedRun, earlier: Sequence[Run]) -> Time:
    """Returns the duration of a run with the time around its work."""
    timing = plan.spec.timing
    around_s = 2 * (timing.idle_s + _still_s(plan)) + 1 + plan.clocks.marker_s
    around = Time(around_s, around_s)
    seen: dict[str, list[float]] = {}
    for other in earlier:
        assert other.intervals is not None
        settled_s = (other.intervals.settled_end_ns - other.intervals.active_start_ns) / 1e9
        settled_s += other.value("load_settled_s") or 0.0  # of a load that was made for the run
        seen.setdefault(cell_label(other.levels), []).append(settled_s)
    if seen:
        own = seen.get(run.label()) or [cost for costs in seen.values() for cost in costs]
        work_s = sum(own) / len(own)
        return around + Time(work_s, work_s)
    if run.load_percent is not None:
        return around + Time(timing.level_s, timing.level_s)
    limit_s = float(run.properties.get("maxexecutiontime") or 0)
    if not limit_s:
        return around + Time(0, None)
    return around + Time(0 if run.properties.get("operationcount") else limit_s, limit_s)


def _print_difference(out: Console, plan: Plan, earlier: Sequence[Run]) -> None:
    """Prints the smallest ratio between two levels that the replications show, see stats.power."""
    spec = plan.spec
    design, subject = spec.design, subject_of(spec)
    levels = len(spec.factors[subject])
    if levels < 2:
        return
    number, noun = (design.loads, "load") if design.load == "cell" else (design.replications, "replication")
    if number < 2:
        out.print(f"smallest difference shown: none, one {noun} has no spread; raise design.{noun}s")
        return
    blocks = design.order == "randomised-blocks" and design.load != "cell"

    def least(spread: float) -> float:
        return smallest_ratio(spread, number, levels, alpha=spec.analysis.alpha, blocks=blocks)

    out.print()
    circumstances = f"{count(number, noun)}, α = {spec.analysis.alpha:g}, power {percent(POWER)}"
    out.print(f"smallest difference shown between two levels of {subject} ({circumstances})", markup=False)
    response = _deciding(spec, earlier)
    spread = _spread(earlier, response)
    known = [("as in earlier runs", spread)] if spread is not None else [("assumed", spread_of(cv)) for cv in _ASSUMED]
    rows = [(name, percent(one), _difference(least(one))) for name, one in known]
    if plan.min_ratio is not None:
        rows.append(("modelled energy", "", f"not below {ratio(plan.min_ratio)}×"))
    print_rows(out, ("spread of runs", "", "difference"), rows)
    if spread is None:
        return
    out.print(f"earlier runs: the spread of their {response}", markup=False, highlight=False)
    if least(spread) > _RATIO_MAX:
        out.print(
            f"these runs cannot rank the levels of {subject} by {response}: raise design.{noun}s, or find out why runs "
            "of one cell differ so much",
            markup=False,
            highlight=False,
        )


def _difference(least: float) -> str:
    return f"more than {_RATIO_MAX}×" if least > _RATIO_MAX else f"{ratio(least)}×"


def _deciding(spec: Spec, earlier: Sequence[Run]) -> str:
    """Returns the name of the response that the headline will be about."""
    return deciding_response(spec, effective_responses(spec, earlier), earlier)


def _spread(earlier: Sequence[Run], response: str) -> float | None:
    """Returns the standard deviation of the response's logarithms within the cells of earlier runs."""
    by_cell: dict[str, list[float]] = {}
    for run in earlier:
        if (value := run.value(response)) is not None:
            by_cell.setdefault(cell_label(run.levels), []).append(value)
    return pooled_spread(list(by_cell.values()))


def _earlier(spec: Spec, store: Path) -> list[Run]:
    """Returns the runs of the latest experiment in the store whose cells take as long as these."""
    if not store.is_file():
        return []
    wanted = spec.model_dump(exclude=_NOT_TIME)
    with Store.open(store) as opened:
        same = [e for e in opened.experiments() if e.spec.model_dump(exclude=_NOT_TIME) == wanted]
        return [run for e in same[-1:] for run in opened.runs(e.id) if run.intervals]
