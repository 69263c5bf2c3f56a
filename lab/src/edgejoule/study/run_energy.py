"""Computes the energies of one run from the traces and intervals, with the run's flags."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from edgejoule import energy
from edgejoule.dictionary.responses import BASELINE_NET, BASELINE_POWER, PER_SERVER, RESPONSES
from edgejoule.errors import DataError, require
from edgejoule.store import Intervals, ResponseValue
from edgejoule.study.servers.meter import of_server

TIMED = "timed"  # the method of a response without energy


_WHOLE = ("energy_j", "energy_net_j", "energy_net_quiet_j")  # of all executions of a run
_PARTS = ("energy_active_j", "energy_debt_j")  # of one execution

_WINDOW_NS_MIN = 200_000_000  # a shorter window gives no usable mean power


@dataclass(frozen=True)
class QuietWindows:
    """The quiet windows before and after a run, ns; or why there are none."""

    before: tuple[int, int] = (0, 0)
    after: tuple[int, int] = (0, 0)
    why_none: str | None = None

    @property
    def refusal(self) -> str | None:
        """Returns why the windows give no baseline, if that is known without the readings."""
        if self.why_none is None and min(t1 - t0 for t0, t1 in (self.before, self.after)) < _WINDOW_NS_MIN:
            return "the quiet windows around the run are shorter than 0.2 s"
        return self.why_none


@dataclass(frozen=True)
class Quiet:
    """The baselines of a run's energy. idle: no database is open. open: the database is open and receives no requests.

    `open` comes from whoever knows when the database was quiet: the driver, for databases that it opens itself.
    """

    idle: QuietWindows
    open: QuietWindows


@dataclass(frozen=True)
class RunEnergies:
    """All responses with energy, the flags, and the baselines (facts.baselines of a run record).

    settled: the energy of the settled interval, from which most of the responses are computed.
    """

    responses: list[ResponseValue]
    flags: list[str]
    baselines: dict[str, dict[str, Any]]
    settled: energy.Energy


def energies(traces: Sequence[energy.Readings], intervals: Intervals, quiet: Quiet, operations: float) -> RunEnergies:
    """Returns gross energy over both intervals; each baseline and the settled energy above it, reported separately and
    never clamped.
    """
    require(intervals.active_end_ns <= intervals.settled_end_ns, f"a run settles after its last request: {intervals}")
    settled = energy.domain_energy(traces, intervals.active_start_ns, intervals.settled_end_ns)
    active = settled
    if intervals.settled_end_ns != intervals.active_end_ns:
        active = energy.domain_energy(traces, intervals.active_start_ns, intervals.active_end_ns)
    flags = list(dict.fromkeys((*settled.notes, *active.notes)))
    if settled.energy_j is None:
        flags.append(f"no energy: {settled.missing_reason}")
    values = [
        _joules("energy_j", settled),
        _joules("energy_active_j", active),
        _joules("energy_per_op_uj", settled, 1e6 / operations),
        _joules("power_mean_w", settled, 1 / settled.duration_s),
    ]
    if intervals.settled_end_ns > intervals.active_end_ns:
        debt = energy.domain_energy(traces, intervals.active_end_ns, intervals.settled_end_ns)
        values.append(_joules("energy_debt_j", debt))
    else:
        values.append(response("energy_debt_j", 0.0, str(settled.method)))
    baselines = {}
    for name, windows in (("idle", quiet.idle), ("quiet", quiet.open)):
        result = _above(traces, settled, windows)
        values += _side_by_side(name, result, settled)
        baselines[name] = {"method": str(settled.method), "windows_ns": _spans(windows), **_facts(result)}
    return RunEnergies(values, flags, baselines, settled)


@dataclass(frozen=True)
class _Above:
    """A baseline at the time of the run, its two windows and the settled energy above it; or why there is none."""

    before: energy.Baseline | None = None
    after: energy.Baseline | None = None
    at_run: energy.Baseline | None = None
    net: energy.Energy | None = None
    why_none: str | None = None


def _above(traces: Sequence[energy.Readings], settled: energy.Energy, windows: QuietWindows) -> _Above:
    if windows.refusal:
        return _Above(why_none=windows.refusal)
    try:
        before, after = (energy.baseline(traces, *window) for window in (windows.before, windows.after))
        at_run = energy.interpolated_baseline(before, after, settled.start_ns, settled.end_ns)
    except DataError as error:
        return _Above(why_none=str(error))
    return _Above(before, after, at_run, energy.net_energy(settled, at_run))


def _side_by_side(name: str, above: _Above, settled: energy.Energy) -> list[ResponseValue]:
    """Returns the baseline's power and the energy above it; above idle also as power."""
    if above.at_run is None or above.net is None:
        names = [BASELINE_POWER[name], BASELINE_NET[name], *(["power_net_w"] if name == "idle" else [])]
        return [response(n, None, str(settled.method), above.why_none) for n in names]
    source = above.at_run.source
    values = [_joules(BASELINE_POWER[name], source, 1 / source.duration_s), _joules(BASELINE_NET[name], above.net)]
    return [*values, *([_joules("power_net_w", above.net, 1 / settled.duration_s)] if name == "idle" else [])]


def _spans(windows: QuietWindows) -> list[list[int]] | None:
    """Returns the windows, even if this meter has no power in them: a trace imported later may."""
    return None if windows.refusal else [list(windows.before), list(windows.after)]


def _facts(above: _Above) -> dict[str, Any]:
    if above.before is None or above.after is None or above.net is None:
        return {"before_w": None, "after_w": None, "net_budget_j": {}, "missing_reason": above.why_none}
    return {
        "before_w": above.before.power_w,
        "after_w": above.after.power_w,
        "net_budget_j": {line.name: line.value_j for line in above.net.budget},
        "missing_reason": above.net.missing_reason,
    }


def only_whole(joules: ResponseValue, executions: int) -> ResponseValue:
    """Drops active and debt energy if several executions form the run: only the whole is measured, and it is given per
    execution.
    """
    require(executions > 1, "one execution is whole")
    if joules.name.partition("@")[0] in _WHOLE and joules.value is not None:
        spread = None if joules.uncertainty_k2 is None else joules.uncertainty_k2 / executions
        return dataclasses.replace(joules, value=joules.value / executions, uncertainty_k2=spread)
    if joules.name not in _PARTS:
        return joules
    reason = "several executions back to back form the run, and the meter is too slow to resolve their parts"
    return dataclasses.replace(joules, value=None, uncertainty_k2=None, missing_reason=reason)


def of_servers(
    names: Sequence[str],
    traces: Sequence[energy.Readings],
    intervals: Intervals,
    quiet: Quiet,
    operations: float,
) -> list[ResponseValue]:
    """Returns each server's part of the energies, named NAME@SERVER. operations: of the first server's database."""
    return [
        dataclasses.replace(each, name=f"{each.name}@{server}")
        for server in names
        for each in energies(of_server(server, traces), intervals, quiet, operations).responses
        if each.name in PER_SERVER
    ]


def _joules(name: str, source: energy.Energy, factor: float = 1.0) -> ResponseValue:
    if source.energy_j is None or source.uncertainty_k2_j is None:
        return response(name, None, str(source.method), source.missing_reason)
    half_width = source.uncertainty_k2_j * factor
    return dataclasses.replace(response(name, source.energy_j * factor, str(source.method)), uncertainty_k2=half_width)


def response(name: str, value: float | None, method: str = TIMED, missing: str | None = None) -> ResponseValue:
    """Builds a response with its unit. A response without a value needs a reason."""
    reason = None if value is not None else missing or "could not be read"
    return ResponseValue(name, value, RESPONSES[name].unit, method, None, reason)
