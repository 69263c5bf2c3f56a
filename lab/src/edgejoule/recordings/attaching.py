"""A power trace that another program recorded becomes part of stored runs, beside their own meters.

Where in the trace a run is, by the first of these that there is: the exchanges with the recorder's host (meter.clocks);
the trace's wall clock, or a given moment, with the limit of how far it may be off; the markers that the runs
played, anywhere in the trace. Markers also check and refine the first three. An untied recording is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from edgejoule.clocks.alignment import Aligned, by_markers
from edgejoule.clocks.marker import SEARCH_S, Marker, Sighting, check, relation_text
from edgejoule.dictionary.responses import is_energy
from edgejoule.energy import Energy, Readings, domain_energy
from edgejoule.errors import DataError, UsageError
from edgejoule.experiment.command_complaints import OPERATIONS
from edgejoule.findings.text import listed
from edgejoule.meters.base import Clock
from edgejoule.meters.clocks import DRIFT_UNKNOWN, ClockRelation
from edgejoule.meters.plugins.imported import METER, Recorded
from edgejoule.meters.trace import Trace
from edgejoule.store import Intervals, ResponseValue, Run, Store
from edgejoule.study.command_figures import shell_share_of, without_shell
from edgejoule.study.measured_load import load_energies
from edgejoule.study.metering import disagreement, energy_facts
from edgejoule.study.run_clocks import clock_check_text, refined
from edgejoule.study.run_energy import Quiet, QuietWindows, energies, only_whole

_RECTANGULAR = 1 / math.sqrt(3)
_ELSEWHERE = "; by the exchanges it is elsewhere: did `edgejoule clock serve` answer with the clock of its times?"
_AROUND_NS = 5_000_000_000  # of the trace kept around a run that does not say how long it was sampled


@dataclass(frozen=True)
class DeclaredClock:
    """What the user says of the trace's clock. within_s: limit of how far it, or `starts`, may be off this host's.

    starts_ns: the trace's time at which the (only) run's active interval begins.
    """

    within_s: float | None = None
    starts_ns: int | None = None


@dataclass(frozen=True)
class PlacedTrace:
    """How a trace's times become the host's in a run, and what says so. source, sightings: as in the run's record."""

    relation: ClockRelation
    source: str
    sightings: tuple[dict[str, Any], ...]
    description: str
    agree: bool = True


@dataclass(frozen=True)
class Attached:
    """A run with a trace: the energies of its intervals, and the run as it is kept."""

    run: Run
    trace: Trace
    active: Energy
    settled: Energy
    description: str


def attached(
    store: Store,
    runs: Sequence[Run],
    everyone: Sequence[Run],
    trace: Trace,
    recorded: Recorded,
    file: str,
    declared: DeclaredClock,
    *,
    replacing: bool,
    primary: bool = False,
) -> list[Attached]:
    """The runs with their parts of the trace; nothing is stored yet (Store.attach).

    everyone: all finished runs of the experiment, whose markers the trace may show. trace: on the recorder's own clock.
    Of several runs those that the trace covers; of a single one it must.
    primary: the trace's joules become the runs' responses; it must cover them all, and none may be without.
    Raises UsageError for a run that has a trace already, DataError where the trace cannot be tied or covers nothing.
    """
    for run in runs:
        _check_free(run, replacing, primary)
    placements = _placements(runs, everyone, trace, recorded, declared)
    placed_runs = [
        _attached(store, run, _part(run, trace, placements[run.run_index]), placements[run.run_index], file)
        for run in runs
        if len(runs) == 1 or _covers(trace, placements[run.run_index].relation, run)
    ]
    if not placed_runs:
        raise DataError(f"{file}: covers none of the {len(runs)} runs: {_ranges(runs, trace, recorded, placements)}")
    for each in placed_runs:
        if each.settled.energy_j is None:
            number = each.run.run_index + 1
            raise DataError(f"{file}: run {number} is not covered: {each.settled.missing_reason}; {each.description}")
    if not primary:
        return placed_runs
    if len(placed_runs) < len(everyone):
        covered = {each.run.run_index for each in placed_runs}
        lacking = [str(run.run_index + 1) for run in everyone if run.run_index not in covered]
        raise DataError(
            f"{file}: covers {len(placed_runs)} of {len(everyone)} runs, not run {listed(lacking)}; joules of two "
            "meters are not compared: give a trace of all runs, or leave --primary out, and it becomes one more meter"
        )
    loads = {str(each.run.run_index + 1): _joules_of_load(each, each.run) for each in placed_runs}
    uncovered = [number for number, load in loads.items() if load and load["load_energy_j"].value is None]
    if uncovered:
        raise DataError(
            f"{file}: does not cover the load of run {listed(uncovered)}; joules of two meters are not compared: give "
            "a trace of all loads and runs, or leave --primary out, and it becomes one more meter"
        )
    return [replace(each, run=_with_its_joules(store, each)) for each in placed_runs]


def _ranges(runs: Sequence[Run], trace: Trace, recorded: Recorded, placements: Mapping[int, PlacedTrace]) -> str:
    """The times of the trace and of the runs, both by the trace's clock."""
    edges = []
    for run in runs:
        relation, i = placements[run.run_index].relation, _intervals(run)
        edges += [relation.to_device_ns(i.active_start_ns), relation.to_device_ns(i.settled_end_ns)]
    first_ns = int(trace.t_ns[0])
    if recorded.origin_ns is None:
        shown = [f"{(ns - first_ns) / 1e9:.6g} s" for ns in (int(trace.t_ns[-1]), min(edges), max(edges))]
        return f"it has {shown[0]} from its first line, the runs are from {shown[1]} to {shown[2]}"
    moments = [first_ns, int(trace.t_ns[-1]), min(edges), max(edges)]
    begin, end, runs_begin, runs_end = (
        f"{datetime.fromtimestamp(ns // 10**9, UTC):%Y-%m-%d %H:%M:%S}" for ns in moments
    )
    assumed = "" if recorded.has_zone else "; its times have no time zone and are read as UTC"
    return f"it is from {begin} to {end} UTC, the runs from {runs_begin} to {runs_end} UTC{assumed}"


def detached(run: Run) -> Run:
    """The run without its attached trace. Raises UsageError if it has none, or its responses are that trace's."""
    imported = run.facts.get("imported")
    if imported is None:
        raise UsageError(f"run {run.run_index + 1} has no attached trace")
    if imported["primary"]:
        raise UsageError(
            f"run {run.run_index + 1} has its joules from {imported['file']}, which replaced the others: put another "
            "trace in its place (--attach with --primary and --replace), or import the bundle from before"
        )
    metering = run.facts["metering"]
    clocks = metering["clocks"]
    facts = {name: value for name, value in run.facts.items() if name != "imported"}
    facts["metering"] = {
        **metering,
        "meters": _without(metering["meters"], "meter"),
        "clocks": {**clocks, "meters": _without(clocks["meters"], "meter")},
    }
    return replace(
        run,
        facts=facts,
        flags=tuple(flag for flag in run.flags if flag not in imported["flags"]),
        meters=tuple(_without(run.meters, "name")),
    )


def _with_its_joules(store: Store, each: Attached) -> Run:
    """The run with responses and baselines by the trace: those that its own meter gave."""
    run, events = each.run, store.data(each.run).events
    operations = sum(int(event.get("operations", 0)) for event in events if event["event"] == "end") or 1
    if (printed := run.value(OPERATIONS)) is not None:
        operations = round(printed * run.repeated)
    baselines = run.facts.get("baselines", {})
    quiet = Quiet(_windows(baselines.get("idle")), _windows(baselines.get("quiet")))
    result = energies([each.trace], _intervals(run), quiet, operations)
    shell_share = shell_share_of(run)
    of_load = _joules_of_load(each, run)
    of_one = [only_whole(r, run.repeated) if run.repeated > 1 else r for r in result.responses]
    joules = {r.name: without_shell(r, shell_share) for r in of_one} | of_load
    facts = {
        **run.facts,
        **(
            {"baselines": {name: {**old, **result.baselines[name]} for name, old in baselines.items()}}
            if baselines
            else {}
        ),
        "imported": {**run.facts["imported"], "primary": True},
    }
    first = [meter for meter in run.meters if meter["name"] == METER]
    metering = run.facts["metering"]
    own = [meter for meter in metering["meters"] if meter["meter"] == METER]
    facts["metering"] = {**metering, "meters": [*own, *_without(metering["meters"], "meter")]}
    return replace(
        run,
        facts=facts,
        meters=(*first, *_without(run.meters, "name")),
        responses=tuple(joules.get(r.name, r) if is_energy(r.name) else r for r in run.responses),
    )


def _joules_of_load(each: Attached, run: Run) -> dict[str, ResponseValue]:
    """The energies of the load that was made for the run, by the trace; empty if none was made."""
    load = _measured_load(run)
    if load is None:
        return {}
    before, after = load["idle_windows_ns"]
    idle = QuietWindows(tuple(before), tuple(after))
    values, _ = load_energies([each.trace], Intervals(**load["intervals"]), idle, load["records"])
    return {value.name: value for value in values}


def _windows(baseline: Mapping[str, Any] | None) -> QuietWindows:
    """The windows that a run's own baseline had."""
    windows = None if baseline is None else baseline["windows_ns"]
    if windows is None:
        return QuietWindows(
            why_none="the run has no such quiet windows" if baseline is None else baseline["missing_reason"]
        )
    return QuietWindows(tuple(windows[0]), tuple(windows[1]))


def _check_free(run: Run, replacing: bool, primary: bool) -> None:
    names = [meter["name"] for meter in run.meters]
    if METER not in names:
        return
    if "imported" not in run.facts:
        raise UsageError(f"run {run.run_index + 1} was measured by following a recording; that one stays")
    if not replacing:
        file = run.facts["imported"]["file"]
        raise UsageError(f"run {run.run_index + 1} has a trace already, {file}; --replace puts this one in its place")
    if run.facts["imported"]["primary"] and not primary:
        raise UsageError(f"run {run.run_index + 1} has its joules from {run.facts['imported']['file']}: add --primary")


def _placements(
    runs: Sequence[Run], everyone: Sequence[Run], trace: Trace, recorded: Recorded, declared: DeclaredClock
) -> dict[int, PlacedTrace]:
    """Run index -> where it is in the trace."""
    stated = [(run, relation) for run in runs if (relation := _stated(run, trace, recorded, declared))]
    if len(stated) == len(runs):
        return {run.run_index: _checked(run, trace, *relation) for run, relation in stated}
    markers = sorted((m for run in everyone for m in _markers(run)), key=lambda m: m.start_ns)
    try:
        if not markers:
            raise DataError("the runs played no marker (timing.marker = true does)")
        aligned = by_markers(trace, markers)
    except DataError as error:
        way = (
            "give the largest difference of its wall clock from this host's: --clock-within S"
            if recorded.origin_ns is not None
            else "its times are relative: give the time at which the run begins, --starts TIME with --clock-within S"
        )
        also = _ELSEWHERE if any(_exchanged(run) for run in runs) else ""
        raise DataError(f"the trace cannot be tied to this host's clock: {error}; {way}{also}") from error
    by_start = {m.start_ns: s for m, s in zip(markers, aligned.sightings, strict=True)}
    return {run.run_index: _by_markers(aligned, [by_start[m.start_ns] for m in _markers(run)]) for run in runs}


def _by_markers(aligned: Aligned, own: Sequence[Sighting]) -> PlacedTrace:
    """own: the sightings of the run's markers."""
    agree = [aligned.agrees(seen) for seen in own]
    doubt = ": they do NOT agree" if False in agree else ""
    of_run = f"; of this run {relation_text(own)}{doubt}" if own else ""
    sightings = tuple({**asdict(seen), "agrees": right} for seen, right in zip(own, agree, strict=True))
    return PlacedTrace(aligned.relation, "markers", sightings, aligned.description + of_run, not doubt)


def _stated(run: Run, trace: Trace, recorded: Recorded, declared: DeclaredClock) -> tuple[ClockRelation, str] | None:
    """How the trace's times become the host's without markers, and what says so."""
    clocks = _clocks(run)
    if declared.starts_ns is not None:
        if declared.within_s is None:
            raise UsageError("--starts goes with --clock-within S: how far that moment may be off")
        return _known(declared.starts_ns, _intervals(run).active_start_ns, declared.within_s), "told"
    exchanged = _exchanged(run)
    if exchanged is not None and _covers(trace, exchanged, run):
        return exchanged, "exchanges"
    if declared.within_s is not None:
        if recorded.origin_ns is None or not clocks.get("wall"):
            raise UsageError("--clock-within: the trace has no wall-clock times; it goes with --starts TIME then")
        at = clocks["wall"][0]
        return _known(at["realtime_ns"], at["monotonic_ns"], declared.within_s), "wall clock"
    return None


def _exchanged(run: Run) -> ClockRelation | None:
    """The clock of the recorder's host, as the exchanges around the run have it."""
    for exchange in _clocks(run).get("exchanges", ()):
        if exchange["meter"] == METER and exchange["relation"] is not None:
            return ClockRelation(**exchange["relation"])
    return None


def _known(device_ns: int, host_ns: int, within_s: float) -> ClockRelation:
    return ClockRelation(device_ns, host_ns, 0.0, within_s * _RECTANGULAR, DRIFT_UNKNOWN * _RECTANGULAR)


def _checked(run: Run, trace: Trace, stated: ClockRelation, source: str) -> PlacedTrace:
    """With what the run's markers show."""
    markers = _markers(run)
    search_s = max(SEARCH_S, 2 * stated.offset_s / _RECTANGULAR)
    checks = [check(replace(trace, relation=stated), marker, search_s) for marker in markers]
    known = refined(stated, markers, checks) or stated
    clock_text = clock_check_text(checks) if checks else "no marker checks the clock"
    return PlacedTrace(
        known,
        source,
        tuple({**asdict(each.sighting), "agrees": each.agrees} for each in checks),
        f"tied to this host's clock by {_SOURCES[source]}, ±{2e3 * known.offset_s:.3g} ms (k=2); {clock_text}",
        all(each.agrees is not False for each in checks),
    )


_SOURCES = {
    "exchanges": "exchanges with its host",
    "wall clock": "its wall clock, within the stated limit",
    "told": "the declared moment",
}


def _markers(run: Run) -> list[Marker]:
    return [Marker(tuple((on, off) for on, off in busy)) for busy in _clocks(run).get("markers_ns", ())]


def _clocks(run: Run) -> Mapping[str, Any]:
    clocks: Mapping[str, Any] = run.facts.get("metering", {}).get("clocks", {})
    return clocks


def _intervals(run: Run) -> Intervals:
    assert run.intervals is not None, "a finished run has intervals"
    return run.intervals


def _sampled_ns(run: Run) -> tuple[int, int]:
    """From the begin of a run to its end, with its quiet windows and markers."""
    if wall := _clocks(run).get("wall"):
        begin_ns, end_ns = wall[0]["monotonic_ns"], wall[-1]["monotonic_ns"]
    else:
        begin_ns, end_ns = _intervals(run).active_start_ns - _AROUND_NS, _intervals(run).settled_end_ns + _AROUND_NS
    load = _measured_load(run)
    return min(begin_ns, load["idle_windows_ns"][0][0]) if load else begin_ns, end_ns


def _measured_load(run: Run) -> Mapping[str, Any] | None:
    """The facts of the load that was made for the run; None if none was."""
    load: Mapping[str, Any] = run.facts.get("load", {})
    return load if "intervals" in load else None


def _part(run: Run, trace: Trace, placed: PlacedTrace) -> Trace:
    """The run's part of the trace, on the recorder's clock."""
    begin_ns, end_ns = (placed.relation.to_device_ns(t) for t in _sampled_ns(run))
    channel = replace(trace.channel, clock=Clock.DEVICE)
    return replace(trace.between(begin_ns, end_ns), channel=channel, relation=placed.relation)


def _covers(trace: Trace, relation: ClockRelation, run: Run) -> bool:
    i = _intervals(run)
    begin_ns, end_ns = (relation.to_device_ns(t) for t in (i.active_start_ns, i.settled_end_ns))
    return bool(trace.t_ns[0] <= begin_ns and end_ns <= trace.t_ns[-1])


def _attached(store: Store, run: Run, part: Trace, placed: PlacedTrace, file: str) -> Attached:
    i = _intervals(run)
    settled = domain_energy([part], i.active_start_ns, i.settled_end_ns)
    active = domain_energy([part], i.active_start_ns, i.active_end_ns)
    flags = list(dict.fromkeys((*settled.notes, *active.notes)))
    flags += [] if placed.agree else [f"the clock of {METER}: {placed.description}"]
    assert run.id is not None, "a stored run has a number"
    flags += [message for name, other in _others(store, run) if (message := disagreement(name, other, METER, settled))]
    return Attached(_kept(run, part, settled, placed, file, flags), part, active, settled, placed.description)


def _others(store: Store, run: Run) -> list[tuple[str, Energy]]:
    """The energies of the run's own meters."""
    assert run.id is not None, "a stored run has a number"
    by_meter: dict[str, list[Readings]] = {}
    for each in store.readings(run.id):
        if each.channel.meter != METER:
            by_meter.setdefault(each.channel.meter, []).append(each)
    i = _intervals(run)
    return [(name, domain_energy(own, i.active_start_ns, i.settled_end_ns)) for name, own in by_meter.items()]


def _kept(run: Run, part: Trace, settled: Energy, placed: PlacedTrace, file: str, flags: Sequence[str]) -> Run:
    """The run as it is with the trace; what an earlier one left is taken out."""
    before = run.facts.get("imported", {}).get("flags", [])
    metering = {"meters": [], "recording_cpu_s": 0.0, **run.facts.get("metering", {})}
    clocks = {"meters": [], **metering.get("clocks", {})}
    clock = {
        "meter": METER,
        "source": placed.source,
        "relation": asdict(placed.relation),
        "sightings": list(placed.sightings),
        "words": placed.description,
    }
    meter = {"meter": METER, "energy": energy_facts(settled), "sampling": None}
    facts = {
        **run.facts,
        "metering": {
            **metering,
            "meters": [*_without(metering["meters"], "meter"), meter],
            "clocks": {**clocks, "meters": [*_without(clocks["meters"], "meter"), clock]},
        },
        "imported": {"file": file, "flags": list(flags), "primary": False},
    }
    channel = part.channel
    description = f"{file}, the {channel.domain}'s supply as another program recorded it"
    own = {
        "name": METER,
        "method": str(channel.method),
        "describe": description,
        "accuracy": [f"gain {channel.gain_rel:.3g} of the value, offset {channel.offset_w:.3g} W (k=1), as stated"],
    }
    return replace(
        run,
        facts=facts,
        flags=(*(flag for flag in run.flags if flag not in before), *flags),
        meters=(*_without(run.meters, "name"), own),
    )


def _without(entries: Sequence[Mapping[str, Any]], key: str) -> list[Mapping[str, Any]]:
    return [entry for entry in entries if entry[key] != METER]
