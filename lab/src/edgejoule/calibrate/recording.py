"""A power trace recorded elsewhere while the stages ran (see `meters/imported`), tied to this host's clock.

Two marker bursts around the stages tie it within milliseconds where it has ten samples a second. A slower one, as USB
testers log, is tied by the stages themselves: in their shuffled order only one shift makes power rise with utilisation.
That is good to a part of the time that each stage settles unobserved, which is all that it needs to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from edgejoule.calibrate.drive import StageRun
from edgejoule.clocks.alignment import by_markers
from edgejoule.clocks.marker import Marker, correlation_of_chance
from edgejoule.errors import DataError
from edgejoule.meters.base import ValueKind
from edgejoule.meters.trace import Trace

STAGE_SHARE_MAX = 0.25  # of a stage, between two samples
_Floats = NDArray[np.float64]


def on_this_clock(recording: Trace, markers: Sequence[Marker]) -> tuple[Trace, str]:
    """The recording with this host's times, and how it came by them. Raises DataError when a marker is not visible."""
    try:
        aligned = by_markers(recording, markers)
    except DataError as error:
        raise DataError(f"the recording cannot be tied to the stages: {error}") from error
    if any(seen.shift_s is None for seen in aligned.sightings):
        raise DataError(
            "the recording shows one marker burst; it must last from before the first stage to after the last"
        )
    return replace(recording, t_ns=aligned.relation.to_host_ns(recording.t_ns)), aligned.description


@dataclass(frozen=True)
class PlacedRecording:
    """A recording with this host's times, and how it came by them."""

    trace: Trace
    description: str


def placed(recording: Trace, markers: Sequence[Marker], runs: Sequence[StageRun]) -> PlacedRecording:
    """By the markers, else by the stages. Raises DataError when neither will do."""
    try:
        return PlacedRecording(*on_this_clock(recording, markers))
    except DataError as error:
        try:
            return by_stages(recording, runs)
        except DataError as other:
            raise DataError(f"{error}; {other}") from other


def by_stages(recording: Trace, runs: Sequence[StageRun]) -> PlacedRecording:
    """Shift the recording to where its power follows the stages' utilisation best; the middle of all such places.

    Raises DataError when the recording is too short or too slow for the stages, and when no shift stands out from what
    chance gives (Student's t of a correlation, with a degree of freedom per stage).
    """
    origin_ns = runs[0].start_ns
    t_ns, power_w = _powers(recording)
    time_s = (t_ns - origin_ns) / 1e9
    begin_s = np.array([(x.start_ns - origin_ns) / 1e9 for x in runs])
    end_s = np.array([(x.end_ns - origin_ns) / 1e9 for x in runs])
    if recording.interval_s > STAGE_SHARE_MAX * float(np.min(end_s - begin_s)):
        raise DataError(
            f"{recording.interval_s:g} s between samples is too slow for these stages: let them last longer"
        )
    shifts = np.arange(time_s[0] - begin_s[0], time_s[-1] - end_s[-1], recording.interval_s / 4)
    if not len(shifts):
        raise DataError("the recording is shorter than the stages")
    use = np.array([x.utilisation for x in runs])
    fit = np.array([_follows(time_s - shift_s, power_w, begin_s, end_s, use) for shift_s in shifts])
    best = float(fit.max())
    needed = correlation_of_chance(len(shifts), len(runs) - 2)
    if best < needed:
        raise DataError(f"its power follows the stages nowhere: correlation {best:.2f} at best, {needed:.2f} is needed")
    near = np.abs(shifts - shifts[int(fit.argmax())]) < float(np.min(end_s - begin_s))
    alike = shifts[near & (fit >= best - (1 - best) * 0.1 - 1e-6)]
    shift_s = float(alike[0] + alike[-1]) / 2
    moved = recording.t_ns - round(shift_s * 1e9)
    return PlacedRecording(
        replace(recording, t_ns=moved), f"tied to the stages by their own powers, correlation {best:.3f}"
    )


def _follows(time_s: _Floats, power_w: _Floats, begin_s: _Floats, end_s: _Floats, use: _Floats) -> float:
    """Correlation of power with utilisation over the samples inside stages; 0 where it has no meaning."""
    stage = np.searchsorted(begin_s, time_s, side="right") - 1
    inside = (stage >= 0) & (time_s < end_s[np.maximum(stage, 0)])
    x, y = use[stage[inside]], power_w[inside]
    if len(x) < len(use) or not (np.ptp(x) > 0 and np.ptp(y) > 0):
        return 0.0
    return float(np.corrcoef(x, y)[0, 1])


def _powers(recording: Trace) -> tuple[NDArray[np.int64], _Floats]:
    """Times and powers of the good readings; of a running total the mean powers between them."""
    good = ~np.isnan(recording.value)
    t_ns, value = recording.t_ns[good], recording.value[good]
    if recording.channel.kind is not ValueKind.ACCUMULATOR:
        return t_ns, value
    return t_ns[1:], np.diff(value) / (np.diff(t_ns) / 1e9)
