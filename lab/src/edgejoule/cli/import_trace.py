"""The energy of a power trace that another program recorded; stored with the runs of an experiment if asked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from edgejoule.cli.common import EXIT_FLAGGED, console, echo_json, fail
from edgejoule.cli.interval_options import IntervalOptions
from edgejoule.cli.layout import print_wrapped
from edgejoule.cli.recording_options import RecordingOptions
from edgejoule.cli.table_text import print_bare, print_omitted
from edgejoule.energy import Energy, energy
from edgejoule.energy.integral import share_text
from edgejoule.errors import UsageError
from edgejoule.findings.table import Table
from edgejoule.findings.text import count, listed
from edgejoule.meters.plugins.imported import METER, Recorded, read_csv, trace_of
from edgejoule.meters.plugins.imported.read import moment_ns
from edgejoule.meters.trace import Trace
from edgejoule.recordings.attaching import Attached, DeclaredClock, attached, detached
from edgejoule.stats.figures import plain, plus_minus
from edgejoule.store import Primary, Run, Store

_BUDGETS_MAX = 2  # parts of a trace whose budgets are printed
_ROUNDING_REL = 1e-9  # of the energy; smaller uncertainties are errors of rounding


@dataclass(frozen=True)
class _Part:
    """An interval of the trace and its energy; of a run, how the trace is tied to it, and its flags. readings: lines in
    the interval, readings_missing of them without a number.
    """

    name: str
    energy: Energy
    readings: int
    readings_missing: int
    clock: str | None = None
    flags: Sequence[str] = ()
    edges_ns: tuple[int, int] | None = None  # since the trace's first line; None: those of the energy

    @property
    def edges_s(self) -> tuple[float, float]:
        """From when to when, in s since the trace's first line."""
        begin_ns, end_ns = self.edges_ns or (self.energy.start_ns, self.energy.end_ns)
        return begin_ns / 1e9, end_ns / 1e9


def import_trace(
    file: Path, store: Path, as_json: bool, recording: RecordingOptions, intervals: IntervalOptions
) -> None:
    """Report the energy of a CSV file's trace, and store it with runs if asked."""
    recorder = recording.recorder(file)
    recorded = read_csv(file, recording.columns)
    if intervals.attach is None:
        trace = trace_of(recorded, recorder)
        if intervals.names_runs:
            raise UsageError("--run, --starts, --clock-within, --replace and --primary go with --attach EXPERIMENT")
        interval = _interval(recorded, intervals.begin, intervals.end)
        part = _Part("trace", energy(trace, *interval), *trace.counts(*interval))
        _report(file, recorded, [part], as_json)
        return
    if intervals.begin is not None or intervals.end is not None:
        raise UsageError("--from and --to are of a trace by itself; --attach takes the run's intervals")
    begin_ns = max(0, recorded.begin_ns)
    starts_ns = None if intervals.starts is None else begin_ns + moment_ns(recorded, intervals.starts)
    clock = DeclaredClock(intervals.clock_within_s, starts_ns)
    with Store.open(store) as opened:
        attached = _attach(opened, intervals, recorded, trace_of(recorded, recorder, begin_ns), file.name, clock)
    parts = [
        _Part(
            f"run {x.run.run_index + 1} {name}",
            part,
            *x.trace.counts(*(begin_ns + edge for edge in _in_trace(x.trace, part, begin_ns))),
            x.description,
            x.run.facts["imported"]["flags"],
            _in_trace(x.trace, part, begin_ns),
        )
        for x in attached
        for name, part in (("active", x.active), ("settled", x.settled))
    ]
    _report(file, recorded, parts, as_json)


def detach_trace(store: Path, as_json: bool, intervals: IntervalOptions) -> None:
    """Remove the attached trace of an experiment's runs."""
    which, number = intervals.detach, intervals.run_number
    assert which is not None
    others = (intervals.begin, intervals.end, intervals.attach, intervals.clock_within_s, intervals.starts)
    if intervals.primary or intervals.replace or any(value is not None for value in others):
        raise UsageError("--detach goes with --run and --store alone")
    with Store.open(store) as opened:
        every = opened.runs(opened.find(which).id)
        if number is not None:
            runs = [_run(every, number, which)]
        elif not (runs := [run for run in every if "imported" in run.facts]):
            raise UsageError(f"{which} has no attached trace")
        opened.detach([detached(run) for run in runs], METER)
    files = sorted({run.facts["imported"]["file"] for run in runs})
    if as_json:
        echo_json({"detached": files, "runs": [run.run_index + 1 for run in runs]})
        return
    console().print(f"{listed(files)}: detached from {count(len(runs), 'run')} of {which}", markup=False)


def _in_trace(trace: Trace, part: Energy, begin_ns: int) -> tuple[int, int]:
    """The edges of a run's energy by the trace's clock, in ns since its first line at begin_ns."""
    relation = trace.relation
    assert relation is not None, "an attached trace is tied"
    return relation.to_device_ns(part.start_ns) - begin_ns, relation.to_device_ns(part.end_ns) - begin_ns


def _interval(recorded: Recorded, begin: str | None, end: str | None) -> tuple[int, int]:
    """ns since the trace's first reading."""
    first, last = int(recorded.t_ns[0]), int(recorded.t_ns[-1])
    t0_ns = first if begin is None else moment_ns(recorded, begin)
    t1_ns = last if end is None else moment_ns(recorded, end)
    if t1_ns <= t0_ns:
        raise UsageError(f"the interval ends ({plain(t1_ns / 1e9, 6)} s) before it begins ({plain(t0_ns / 1e9, 6)} s)")
    return t0_ns, t1_ns


def _attach(
    store: Store, intervals: IntervalOptions, recorded: Recorded, trace: Trace, file: str, clock: DeclaredClock
) -> list[Attached]:
    """Store the trace with the run, or with every finished run of the experiment that it covers."""
    assert intervals.attach is not None
    which, number, primary = intervals.attach, intervals.run_number, intervals.primary
    experiment = store.find(which)
    finished = [run for run in store.runs(experiment.id) if run.intervals is not None]
    if not finished:
        raise UsageError(f"{which} has no finished run yet")
    runs = finished if number is None else [_run(store.runs(experiment.id), number, which)]
    if clock.starts_ns is not None and len(runs) > 1:
        raise UsageError("--starts is a time in one run: name the run by --run N")
    if primary and (number is not None or len(finished) < sum(experiment.counts.values())):
        raise UsageError(
            "--primary: its joules must be those of all runs: leave --run out, and finish the experiment (run --resume)"
        )
    results = attached(
        store, runs, finished, trace, recorded, file, clock, replacing=intervals.replace, primary=primary
    )  # fmt: skip
    store.attach(
        experiment.id, [(each.run, each.trace) for each in results], _meter(results[0].run) if primary else None
    )
    return results


def _meter(run: Run) -> Primary:
    """Returns the recorder, which is now a run's first meter."""
    first = run.meters[0]
    sentence = f"Energy here is MEASURED: {first['describe']}; attached afterwards."
    return Primary(first["name"], first["describe"], sentence)


def _run(runs: list[Run], number: int, which: str) -> Run:
    if number > len(runs):
        raise UsageError(f"{which} has no run {number}; it has {len(runs)} runs")
    run = runs[number - 1]
    if run.intervals is None:
        raise UsageError(f"run {number} of {which} is {run.status}: it has no intervals")
    return run


def _report(file: Path, recorded: Recorded, parts: list[_Part], as_json: bool) -> None:
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
    columns = {"time": mapping.time, **{role.value: column for role, column in mapping.roles.items()}}
    given = {} if mapping.voltage_v is None else {"voltage": f"{mapping.voltage_v:g} V, given"}
    return {role: f"{column.name} in {column.unit}" for role, column in columns.items()} | given


def _print(file: Path, recorded: Recorded, parts: list[_Part]) -> None:
    out = console()
    columns = ", ".join(f"{role}: {text}" for role, text in _columns(recorded).items())
    length = plain(float(recorded.t_ns[-1]) / 1e9, 6)
    print_wrapped(
        out, f"{file}: {count(len(recorded.t_ns), 'line')} over {length} s from {_begin(recorded)} ({columns})"
    )
    out.print()
    headings = ("interval", "from s", "to s", "energy\nJ (measured)\n± (k=2)", "mean W", "readings", "time in gaps")
    rows = tuple(_row(part) for part in parts)
    table = Table("energy", headings, (False, *[True] * 6), rows, optional=(4, 1, 2, 6, 5))
    print_omitted(out, print_bare(out, table))
    for part in parts:
        least_j = _ROUNDING_REL * abs(part.energy.energy_j or 0.0)
        lines = [f"{line.name} {plain(line.value_j, 2)} J" for line in part.energy.budget if line.value_j > least_j]
        if lines and len(parts) <= _BUDGETS_MAX:  # of more runs `show --run N` has them
            out.print()
            print_wrapped(out, f"{part.name}: uncertainty (k=1) of {', '.join(lines)}")
        if part.energy.renewal:
            print_wrapped(out, f"{part.name}: {part.energy.renewal.description}")
        for note in part.energy.notes:
            if note not in part.flags:
                print_wrapped(out, f"{part.name}: {note}")
    out.print()
    for message, runs in _messages(parts[::2]).items():
        print_wrapped(out, f"{_runs_text(runs, len(parts) // 2)}: {message}")


def _messages(parts: Sequence[_Part]) -> dict[str, list[str]]:
    """Returns how the trace is tied to the runs, and their flags, each with the runs' numbers. parts: one per run."""
    messages: dict[str, list[str]] = {}
    for part in parts:
        flags = [f"flag: {flag}" for flag in part.flags]
        shown = part.clock and not any(part.clock in flag for flag in flags)
        for message in (*([part.clock] if part.clock and shown else []), *flags):
            messages.setdefault(message, []).append(part.name.split()[1])
    return messages


def _runs_text(numbers: Sequence[str], total: int) -> str:
    if len(numbers) == 1:
        return f"run {numbers[0]}"
    return f"all {total} runs" if len(numbers) == total else f"runs {listed(numbers)}"


def _begin(recorded: Recorded) -> str:
    """Returns the first time for people: a date if the file has times since 1970."""
    assert recorded.mapping.time is not None
    if recorded.origin_ns is None or recorded.mapping.time.unit == "iso":
        return recorded.origin
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(recorded.origin_ns / 1e9))


def _row(part: _Part) -> tuple[str, ...]:
    energy = part.energy
    figures = ("none", "")
    if energy.energy_j is not None and energy.uncertainty_k2_j is not None and energy.power_mean_w is not None:
        figures = (plus_minus(energy.energy_j, energy.uncertainty_k2_j), plain(energy.power_mean_w, 4))
    missing = f"{part.readings - part.readings_missing:,} of " if part.readings_missing else ""
    gaps = share_text(1 - energy.coverage) if energy.gaps else "none"
    if part.readings_missing == part.readings:
        gaps = "all"
    edges = (f"{edge:,.3f}".rstrip("0").rstrip(".") for edge in part.edges_s)
    return (part.name, *edges, *figures, f"{missing}{part.readings:,}", gaps)


def _as_json(part: _Part) -> dict[str, object]:
    energy = part.energy
    return {
        "interval": part.name,
        "from_s": part.edges_s[0],
        "to_s": part.edges_s[1],
        "energy_j": energy.energy_j,
        "uncertainty_k2_j": energy.uncertainty_k2_j,
        "power_mean_w": energy.power_mean_w,
        "method": energy.method.value,
        "domain": energy.domain.value,
        "coverage": energy.coverage,
        "readings": part.readings,
        "readings_missing": part.readings_missing,
        "budget_j": {line.name: line.value_j for line in energy.budget},
        "renewal": None if energy.renewal is None else asdict(energy.renewal),
        "notes": list(energy.notes),
        "missing_reason": energy.missing_reason,
        **({"clock": part.clock, "flags": list(part.flags)} if part.clock else {}),
    }
