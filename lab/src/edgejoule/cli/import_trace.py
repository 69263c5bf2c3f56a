"""The energy of a power trace that another program recorded; stored with the runs of an experiment if asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.table import Table

from edgejoule.attaching import Attached, Told, attached
from edgejoule.cli.common import EXIT_FLAGGED, Number, console, echo_json, fail
from edgejoule.energy import Energy, energy
from edgejoule.errors import UsageError
from edgejoule.meters.base import Domain
from edgejoule.meters.imported import Mapping, Recorded, Recorder, read_csv, trace_of
from edgejoule.meters.imported.columns import SCALES, TIME_UNITS, Column
from edgejoule.meters.imported.read import moment_ns
from edgejoule.meters.quantities import Role
from edgejoule.meters.trace import Trace
from edgejoule.store import Primary, Run, Store

_BUDGETS_MAX = 2  # parts of a trace whose budgets are printed

F = TypeVar("F", bound=Callable[..., Any])

_RECORDING = (
    click.option("--time", "time_name", metavar="COLUMN", help="Column of the time; default: from the header."),
    click.option(
        "--time-unit", type=click.Choice(list(TIME_UNITS)), help="Unit of the time; default: from the header."
    ),
    click.option("--power", metavar="COLUMN[:UNIT]", help="Column of the power, for example 'P:mW'."),
    click.option("--voltage", metavar="COLUMN[:UNIT]", help="Column of the voltage, with --current."),
    click.option("--current", metavar="COLUMN[:UNIT]", help="Column of the current, with --voltage or --voltage-v."),
    click.option("--energy", "energy_name", metavar="COLUMN[:UNIT]", help="Column of a running total of energy."),
    click.option("--voltage-v", type=Number(min=0, min_open=True), help="A voltage that is not in the file, V."),
    click.option("--mean", is_flag=True, help="A power is the mean since the line before, not a sample at its time."),
    click.option(
        "--domain", type=click.Choice([domain.value for domain in Domain]), default="board", show_default=True
    ),
    click.option(
        "--gain-rel",
        type=Number(0, 1, max_open=True),
        help="The recorder's gain, standard uncertainty (k=1), relative: a limit of 1 % is 0.0058. Needed.",
    ),
    click.option("--offset-w", type=Number(0), help="The recorder's offset (k=1) in W. Needed."),
)
_INTERVALS = (
    click.option(
        "--from", "begin", metavar="TIME", help="Begin: s since the trace's first line, or a time in ISO 8601."
    ),
    click.option("--to", "end", metavar="TIME", help="End, likewise."),
    click.option(
        "--attach", metavar="EXPERIMENT", help="Store the trace with the runs of an experiment: id, name or latest."
    ),
    click.option(
        "--run", "run_number", type=click.IntRange(1), help="Which run, as `show` counts; default: all it covers."
    ),
    click.option(
        "--clock-within",
        "clock_within_s",
        type=Number(0, min_open=True),
        metavar="S",
        help="How far the trace's wall clock, or --starts, may be off this host's, at most; markers tell better.",
    ),
    click.option("--starts", metavar="TIME", help="Where in the trace the run's active interval begins, as --from."),
    click.option(
        "--primary", is_flag=True, help="Its joules become the runs': what is compared from now on. All runs or none."
    ),
    click.option("--replace", is_flag=True, help="Put it in the place of a trace that was attached before."),
)


@dataclass(frozen=True)
class _Part:
    """An interval of the trace and its energy; of a run, how the trace is tied to it, and what is doubtful with it."""

    name: str
    energy: Energy
    clock: str | None = None
    flags: Sequence[str] = ()


def trace_options(command: F) -> F:
    """The options of a trace, and of the intervals that are asked for."""
    for option in reversed(_INTERVALS):
        command = option(command)
    return recording_options(command)


def recording_options(command: F) -> F:
    """The options that say what a trace's columns are and what recorded it."""
    for option in reversed(_RECORDING):
        command = option(command)
    return command


def import_trace(
    file: Path,
    store: Path,
    as_json: bool,
    time_name: str | None = None,
    time_unit: str | None = None,
    power: str | None = None,
    voltage: str | None = None,
    current: str | None = None,
    energy_name: str | None = None,
    voltage_v: float | None = None,
    mean: bool = False,
    domain: str = "board",
    gain_rel: float | None = None,
    offset_w: float | None = None,
    begin: str | None = None,
    end: str | None = None,
    attach: str | None = None,
    run_number: int | None = None,
    starts: str | None = None,
    clock_within_s: float | None = None,
    replace: bool = False,
    primary: bool = False,
) -> None:
    """Tell the energy of a CSV file's trace, and store it with runs if asked. The arguments are the options' names."""
    if gain_rel is None or offset_w is None:
        raise UsageError(f"{file}: state the accuracy of what recorded it: --gain-rel and --offset-w (k=1)")
    told = mapping_of(time_name, time_unit, power, voltage, current, energy_name, voltage_v)
    recorded = read_csv(file, told)
    trace = trace_of(recorded, Recorder(gain_rel, offset_w, Domain(domain), mean))
    if attach is None:
        if starts is not None or run_number is not None or clock_within_s is not None or replace or primary:
            raise UsageError("--run, --starts, --clock-within, --replace and --primary go with --attach EXPERIMENT")
        _tell(file, recorded, [_Part("trace", energy(trace, *_interval(recorded, begin, end)))], as_json)
        return
    if begin is not None or end is not None:
        raise UsageError("--from and --to are of a trace by itself; --attach takes the run's intervals")
    begin_ns = max(0, recorded.begin_ns)
    starts_ns = None if starts is None else begin_ns + moment_ns(recorded, starts)
    own_times = trace_of(recorded, Recorder(gain_rel, offset_w, Domain(domain), mean), begin_ns)
    with Store.open(store) as opened:
        found = _attach(
            opened, attach, run_number, recorded, own_times, file, Told(clock_within_s, starts_ns), replace, primary
        )
    parts = [
        _Part(f"run {x.run.run_index + 1} {name}", part, x.words, x.run.facts["imported"]["flags"])
        for x in found
        for name, part in (("active", x.active), ("settled", x.settled))
    ]
    _tell(file, recorded, parts, as_json)


def mapping_of(
    time_name: str | None,
    time_unit: str | None,
    power: str | None,
    voltage: str | None,
    current: str | None,
    energy_name: str | None,
    voltage_v: float | None,
) -> Mapping:
    """The columns as the options of recording_options name them. Raises UsageError."""
    return Mapping(
        _time_column(time_name, time_unit),
        _column(power, Role.POWER),
        _column(voltage, Role.VOLTAGE),
        _column(current, Role.CURRENT),
        _column(energy_name, Role.ENERGY),
        voltage_v,
    )


def _time_column(name: str | None, unit: str | None) -> Column | None:
    if unit is not None and name is None:
        raise UsageError("--time-unit goes with --time COLUMN")
    return None if name is None else Column(name, unit)


def _column(text: str | None, role: Role) -> Column | None:
    if text is None:
        return None
    name, mark, unit = text.rpartition(":")
    if not mark:
        return Column(text)
    if unit not in SCALES[role]:
        raise UsageError(f"{text!r}: {unit!r} is no unit of {role}; known: {', '.join(SCALES[role])}")
    return Column(name, unit)


def _interval(recorded: Recorded, begin: str | None, end: str | None) -> tuple[int, int]:
    """ns since the trace's first reading."""
    first, last = int(recorded.t_ns[0]), int(recorded.t_ns[-1])
    t0_ns = first if begin is None else moment_ns(recorded, begin)
    t1_ns = last if end is None else moment_ns(recorded, end)
    if t1_ns <= t0_ns:
        raise UsageError(f"the interval ends ({t1_ns / 1e9:g} s) before it begins ({t0_ns / 1e9:g} s)")
    return t0_ns, t1_ns


def _attach(
    store: Store,
    which: str,
    run_number: int | None,
    recorded: Recorded,
    trace: Trace,
    file: Path,
    told: Told,
    replacing: bool,
    primary: bool,
) -> list[Attached]:
    """Store the trace with the run, or with every finished run of the experiment that it covers."""
    experiment = store.find(which)
    finished = [run for run in store.runs(experiment.id) if run.intervals is not None]
    if not finished:
        raise UsageError(f"{which} has no finished run yet")
    runs = finished if run_number is None else [_run(store.runs(experiment.id), run_number, which)]
    if told.starts_ns is not None and len(runs) > 1:
        raise UsageError("--starts is a moment of one run: say which, --run N")
    if primary and (run_number is not None or len(finished) < sum(experiment.counts.values())):
        raise UsageError(
            "--primary: its joules must be those of all runs: leave --run out, and finish the experiment (run --resume)"
        )
    found = attached(store, runs, finished, trace, recorded, file.name, told, replacing=replacing, primary=primary)
    store.attach(experiment.id, [(each.run, each.trace) for each in found], _meter(found[0].run) if primary else None)
    return found


def _meter(run: Run) -> Primary:
    """The recorder, which is a run's first meter now."""
    first = run.meters[0]
    words = f"Energy here is MEASURED: {first['describe']}; attached afterwards."
    return Primary(first["name"], first["describe"], words)


def _run(runs: list[Run], number: int, which: str) -> Run:
    if number > len(runs):
        raise UsageError(f"{which} has no run {number}; it has {len(runs)} runs")
    run = runs[number - 1]
    if run.intervals is None:
        raise UsageError(f"run {number} of {which} is {run.status}: it has no intervals")
    return run


def _tell(file: Path, recorded: Recorded, parts: list[_Part], as_json: bool) -> None:
    if as_json:
        echo_json(
            {
                "file": str(file),
                "begins": recorded.origin,
                "samples": len(recorded.t_ns),
                "columns": _columns(recorded),
                "intervals": [_as_json(part) for part in parts],
            }
        )
    else:
        _print(file, recorded, parts)
    for part in parts:
        if part.energy.energy_j is None:
            fail(f"{file}: {part.energy.missing_reason}", 1)
    if any(part.energy.notes or part.flags for part in parts):
        raise SystemExit(EXIT_FLAGGED)


def _columns(recorded: Recorded) -> dict[str, str]:
    mapping = recorded.mapping
    assert mapping.time is not None
    found = {"time": mapping.time, **{role.value: column for role, column in mapping.roles.items()}}
    given = {} if mapping.voltage_v is None else {"voltage": f"{mapping.voltage_v:g} V, given"}
    return {role: f"{column.name} in {column.unit}" for role, column in found.items()} | given


def _print(file: Path, recorded: Recorded, parts: list[_Part]) -> None:
    out = console()
    columns = ", ".join(f"{role}: {text}" for role, text in _columns(recorded).items())
    length_s = float(recorded.t_ns[-1]) / 1e9
    out.print(f"{file}: {len(recorded.t_ns)} readings over {length_s:.6g} s from {recorded.origin} ({columns})\n")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("interval", "from s", "to s", "energy J (measured)", "± (k=2)", "mean W", "known"):
        table.add_column(heading, justify="left" if heading == "interval" else "right")
    for part in parts:
        found = part.energy
        if found.energy_j is not None and found.uncertainty_k2_j is not None and found.power_mean_w is not None:
            figures = (f"{found.energy_j:.6g}", f"{found.uncertainty_k2_j:.2g}", f"{found.power_mean_w:.5g}")
        else:
            figures = ("none", "", "")
        edges = (f"{found.start_ns / 1e9:.6g}", f"{found.end_ns / 1e9:.6g}")
        table.add_row(part.name, *edges, *figures, f"{found.coverage:.1%}")
    out.print(table)
    for part in parts:
        if part.energy.budget and len(parts) <= _BUDGETS_MAX:  # of more runs `show --run N` has them
            lines = ", ".join(f"{line.name} {line.value_j:.2g} J" for line in part.energy.budget)
            out.print(f"\n{part.name}: uncertainty (k=1) of {lines}")
        if part.energy.renewal:
            out.print(f"{part.name}: {part.energy.renewal.words}", markup=False)
        for note in part.energy.notes:
            out.print(f"{part.name}: {note}", markup=False)
    out.print()
    for part in parts[::2]:
        run = part.name.rsplit(" ", 1)[0]
        flags = [f"flag: {flag}" for flag in part.flags]
        told = part.clock and not any(part.clock in flag for flag in flags)
        for words in (*([part.clock] if told else []), *flags):
            out.print(f"{run}: {words}", markup=False)


def _as_json(part: _Part) -> dict[str, object]:
    found = part.energy
    return {
        "interval": part.name,
        "from_s": found.start_ns / 1e9,
        "to_s": found.end_ns / 1e9,
        "energy_j": found.energy_j,
        "uncertainty_k2_j": found.uncertainty_k2_j,
        "power_mean_w": found.power_mean_w,
        "method": found.method.value,
        "domain": found.domain.value,
        "coverage": found.coverage,
        "budget_j": {line.name: line.value_j for line in found.budget},
        "renewal": None if found.renewal is None else asdict(found.renewal),
        "notes": list(found.notes),
        "missing_reason": found.missing_reason,
        **({"clock": part.clock, "flags": list(part.flags)} if part.clock else {}),
    }
