"""The energy of a power trace that another program recorded, of a stored run's intervals if asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.table import Table

from edgejoule.cli.common import EXIT_FLAGGED, console, echo_json, fail
from edgejoule.energy import Energy, energy
from edgejoule.errors import DataError, UsageError
from edgejoule.meters.base import Domain
from edgejoule.meters.imported import Mapping, Recorded, Recorder, read_csv, trace_of
from edgejoule.meters.imported.columns import SCALES, TIME_UNITS, Column
from edgejoule.meters.imported.read import moment_ns
from edgejoule.meters.quantities import Role
from edgejoule.meters.trace import Trace
from edgejoule.store import Run, Store

NOTE = "imported traces"  # heading in the experiment's environment

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
    click.option(
        "--voltage-v", type=click.FloatRange(min=0, min_open=True), help="A voltage that is not in the file, V."
    ),
    click.option("--mean", is_flag=True, help="A power is the mean since the line before, not a sample at its time."),
    click.option(
        "--domain", type=click.Choice([domain.value for domain in Domain]), default="board", show_default=True
    ),
    click.option(
        "--gain-rel",
        type=click.FloatRange(0, 1, max_open=True),
        help="The recorder's gain, standard uncertainty (k=1), relative: a limit of 1 % is 0.0058. Needed.",
    ),
    click.option("--offset-w", type=click.FloatRange(0), help="The recorder's offset (k=1) in W. Needed."),
)
_INTERVALS = (
    click.option(
        "--from", "begin", metavar="TIME", help="Begin: s since the trace's first line, or a time in ISO 8601."
    ),
    click.option("--to", "end", metavar="TIME", help="End, likewise."),
    click.option("--attach", metavar="EXPERIMENT", help="Energy of a stored run's intervals: id, name or latest."),
    click.option("--run", "run_index", type=click.IntRange(0), help="Which run of it."),
    click.option("--starts", metavar="TIME", help="Where in the trace the run's active interval begins, as --from."),
)


@dataclass(frozen=True)
class _Part:
    """An interval of the trace and its energy."""

    name: str
    energy: Energy


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
    run_index: int | None = None,
    starts: str | None = None,
) -> None:
    """Tell the energy of a CSV file's trace. The arguments are the options of the same names."""
    if gain_rel is None or offset_w is None:
        raise UsageError(f"{file}: state the accuracy of what recorded it: --gain-rel and --offset-w (k=1)")
    told = mapping_of(time_name, time_unit, power, voltage, current, energy_name, voltage_v)
    recorded = read_csv(file, told)
    trace = trace_of(recorded, Recorder(gain_rel, offset_w, Domain(domain), mean))
    if attach is None:
        if starts is not None or run_index is not None:
            raise UsageError("--run and --starts go with --attach EXPERIMENT")
        parts = [_Part("trace", energy(trace, *_interval(recorded, begin, end)))]
    else:
        parts = _attached(store, attach, run_index, recorded, trace, starts, file)
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


def _attached(
    store: Path, which: str, run_index: int | None, recorded: Recorded, trace: Trace, starts: str | None, file: Path
) -> list[_Part]:
    """Energies of the run's intervals, also noted with the experiment."""
    if run_index is None or starts is None:
        raise UsageError("--attach needs --run N and --starts TIME (where the run's active interval begins)")
    with Store.open(store) as opened:
        experiment = opened.find(which)
        run = _run(opened.runs(experiment.id), run_index, which)
        assert run.intervals is not None
        at_ns, intervals = moment_ns(recorded, starts), run.intervals
        ends_ns = {"active": intervals.active_end_ns, "settled": intervals.settled_end_ns}
        parts = [
            _Part(name, energy(trace, at_ns, at_ns + end_ns - intervals.active_start_ns))
            for name, end_ns in ends_ns.items()
        ]
        refused = next((part.energy.missing_reason for part in parts if part.energy.energy_j is None), None)
        if refused is not None:
            raise DataError(f"{file}: run {run_index} of {experiment.name} is not covered: {refused}")
        before = experiment.environment.get(NOTE, [])
        noted = {"file": file.name, "run": run_index, "energies": [_as_json(part) for part in parts]}
        opened.note(experiment.id, NOTE, [*(before if isinstance(before, list) else []), noted])
    return parts


def _run(runs: list[Run], run_index: int, which: str) -> Run:
    for run in runs:
        if run.run_index == run_index:
            if run.intervals is None:
                raise UsageError(f"run {run_index} of {which} is {run.status}: it has no intervals")
            return run
    raise UsageError(f"{which} has no run {run_index}; it has {len(runs)} runs, from 0")


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
    if any(part.energy.notes for part in parts):
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
        if part.energy.budget:
            lines = ", ".join(f"{line.name} {line.value_j:.2g} J" for line in part.energy.budget)
            out.print(f"\n{part.name}: uncertainty (k=1) of {lines}")
        if part.energy.renewal:
            out.print(f"{part.name}: {part.energy.renewal.words}", markup=False)
        for note in part.energy.notes:
            out.print(f"{part.name}: {note}", markup=False)


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
    }
