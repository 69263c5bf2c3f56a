"""The energies of one run: what the traces say of its intervals, and what is doubtful about it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from edgejoule import energy
from edgejoule.errors import DataError
from edgejoule.responses import RESPONSES
from edgejoule.store import Intervals, ResponseValue

TIMED = "timed"  # the method of a response with no energy in it


@dataclass(frozen=True)
class Window:
    """The driver's part of the sampled time, ns."""

    sampling_start_ns: int
    driver_start_ns: int
    driver_end_ns: int
    sampling_end_ns: int


def energies(
    traces: Sequence[energy.Readings], intervals: Intervals, window: Window, operations: int
) -> tuple[list[ResponseValue], list[str]]:
    """All responses with energy in them, and what is doubtful about them."""
    settled = energy.domain_energy(traces, intervals.active_start_ns, intervals.settled_end_ns)
    active = energy.domain_energy(traces, intervals.active_start_ns, intervals.active_end_ns)
    flags = list(dict.fromkeys((*settled.notes, *active.notes)))
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
    net, why = _net(traces, settled, window)
    values.append(_joules("energy_net_j", net) if net else response("energy_net_j", None, str(settled.method), why))
    return values, flags


def _net(
    traces: Sequence[energy.Readings], settled: energy.Energy, window: Window
) -> tuple[energy.Energy | None, str | None]:
    """Energy above the idle baseline: the mean power of the quiet windows before and after the driver."""
    quiet = []
    for t0, t1 in (
        (window.sampling_start_ns, window.driver_start_ns),
        (window.driver_end_ns, window.sampling_end_ns),
    ):
        if t1 - t0 < 2e8:
            return None, "no quiet window around the run: timing.idle_s is below 0.2 s"
        try:
            quiet.append(energy.baseline(traces, t0, t1))
        except DataError as error:
            return None, str(error)
    return energy.net_energy(settled, energy.interpolated_baseline(*quiet)), None


def _joules(name: str, source: energy.Energy, factor: float = 1.0) -> ResponseValue:
    if source.energy_j is None or source.uncertainty_k2_j is None:
        return response(name, None, str(source.method), source.missing_reason)
    half_width = source.uncertainty_k2_j * factor
    return dataclasses.replace(response(name, source.energy_j * factor, str(source.method)), uncertainty_k2=half_width)


def response(name: str, value: float | None, method: str = TIMED, missing: str | None = None) -> ResponseValue:
    """A response in its unit; without a value it needs a reason."""
    reason = None if value is not None else missing or "could not be read"
    return ResponseValue(name, value, RESPONSES[name].unit, method, None, reason)
