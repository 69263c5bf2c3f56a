"""Readings as segments: stretches of time between readings, each with a power.

A segment's power is linear in time (instant samples) or constant (interval means, and the mean power between two
readings of an accumulator). It is *unknown* where a reading is missing or late. A long step of an accumulator is known:
the counter has counted on, unless the interval ends inside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from edgejoule.errors import require
from edgejoule.meters.base import ValueKind
from edgejoule.meters.trace import Trace

LATE_FACTOR = 3.0  # a step above this many sampling intervals is a gap
COUNTER_UPDATE_S = 0.002  # a counter's own update may fall on either side of a reading

_Floats = NDArray[np.float64]
_Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class SegmentSummary:
    """Clean readings of a stretch of time, summed up: no reading failed, none was late, no step is ambiguous.

    From the last reading before the stretch to the last one in it, ns; energy between them. value_last: that last
    reading. step_s2: sum of squared times between readings. off_j2, off_next_j2: what `Segments` says, summed.
    """

    start_ns: int
    end_ns: int
    energy_j: float
    power_max_w: float
    step_s2: float
    off_j2: float
    off_next_j2: float
    value_last: float


@dataclass(frozen=True)
class Segments:
    """Times in s from the interval's start, power at both ends in W.

    late: longer than expected. known: has a power. ambiguous: a counter's ambiguous step, by its place in
    AMBIGUITIES. power_max_w: the largest inside. step_s2: squared times between the readings inside, summed. off_j2:
    how far the reading at the end lies off its neighbours' mean, times the segment's length, squared; off_next_j2:
    times the next reading's. Both 0 where the kind of value misses nothing.
    """

    start_s: _Floats
    end_s: _Floats
    power_start_w: _Floats
    power_end_w: _Floats
    known: _Flags
    late: _Flags
    ambiguous: NDArray[np.int8]
    power_max_w: _Floats
    step_s2: _Floats
    off_j2: _Floats
    off_next_j2: _Floats
    reasons: Mapping[int, str]  # segment -> why a reading failed in it

    def __len__(self) -> int:
        return len(self.start_s)

    def reason(self, index: int) -> str:
        """Why a segment is unknown."""
        return self.reasons.get(index, "no sample in time")


AMBIGUITIES = (
    "",
    "the counter went backwards without a wrap: it was reset or a reading is wrong",
    "the counter may have wrapped unseen between two readings",
    "a step means more power than can be drawn: the counter was reset or a reading is wrong",
)


def segments_of(piece: Trace | SegmentSummary, origin_ns: int) -> Segments:
    """The piece as segments; times count from origin_ns."""
    if isinstance(piece, SegmentSummary):
        return _of_summary(piece, origin_ns)
    if piece.channel.kind is ValueKind.INTERVAL_MEAN:
        return _of_means(piece, origin_ns)
    return _of_good(piece, origin_ns)


def joined(parts: Sequence[Segments]) -> Segments:
    """Neighbouring parts as one."""
    if len(parts) == 1:
        return parts[0]
    filled = [part for part in parts if len(part)]
    require(
        all(left.end_s[-1] <= right.start_s[0] for left, right in pairwise(filled)),
        "pieces follow one another: time that two of them cover would count twice",
    )
    arrays = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in Segments.__dataclass_fields__
        if name != "reasons"
    }
    places = np.cumsum([0, *map(len, parts)]).tolist()
    reasons = {
        place + index: reason
        for place, part in zip(places, parts, strict=False)
        for index, reason in part.reasons.items()
    }
    return Segments(**arrays, reasons=reasons)


def summary_of(trace: Trace) -> SegmentSummary | None:
    """The trace from its first to its last reading; None when it is not clean, see Summary."""
    if len(trace) < 2 or np.isnan(trace.value).any():
        return None
    segments = segments_of(trace, int(trace.t_ns[0]))
    if segments.late.any() or segments.ambiguous.any() or not segments.known.all() or _may_wrap(trace):
        return None
    energy_j = (segments.power_start_w + segments.power_end_w) / 2 * (segments.end_s - segments.start_s)
    return SegmentSummary(
        start_ns=int(trace.t_ns[0]),
        end_ns=int(trace.t_ns[-1]),
        energy_j=float(energy_j.sum()),
        power_max_w=float(segments.power_max_w.max()),
        step_s2=float(segments.step_s2.sum()),
        off_j2=float(segments.off_j2.sum()),
        off_next_j2=float(segments.off_next_j2.sum()),
        value_last=float(trace.value[-1]),
    )


def _of_summary(piece: SegmentSummary, origin_ns: int) -> Segments:
    require(piece.start_ns < piece.end_ns, "a summary has a length")
    length_s = (piece.end_ns - piece.start_ns) / 1e9
    power_w = np.array([piece.energy_j / length_s])
    return Segments(
        start_s=np.array([(piece.start_ns - origin_ns) / 1e9]),
        end_s=np.array([(piece.end_ns - origin_ns) / 1e9]),
        power_start_w=power_w,
        power_end_w=power_w,
        known=np.array([True]),
        late=np.array([False]),
        ambiguous=np.zeros(1, np.int8),
        power_max_w=np.array([piece.power_max_w]),
        step_s2=np.array([piece.step_s2]),
        off_j2=np.array([piece.off_j2]),
        off_next_j2=np.array([piece.off_next_j2]),
        reasons={},
    )


def _steps(time_s: _Floats) -> _Floats:
    step_s = np.diff(time_s)
    require(bool((step_s > 0).all()), "a trace's times increase")
    return step_s


def _of_means(trace: Trace, origin_ns: int) -> Segments:
    time_s = (trace.t_ns - origin_ns) / 1e9
    step_s = _steps(time_s)
    missing = np.isnan(trace.value[1:])
    late = step_s > LATE_FACTOR * trace.interval_s
    power_w = np.where(missing, 0.0, trace.value[1:])
    reasons = {index - 1: reason for index, reason in trace.reasons.items() if index > 0}
    nothing = np.zeros_like(step_s)
    return Segments(
        time_s[:-1], time_s[1:], power_w, power_w, ~(missing | late), late, nothing.astype(np.int8), power_w,
        step_s**2, nothing, nothing, reasons,
    )  # fmt: skip


def _of_good(trace: Trace, origin_ns: int) -> Segments:
    """Between good readings: what failed between two of them lies in their segment."""
    good = np.flatnonzero(~np.isnan(trace.value))
    time_s, value = (trace.t_ns[good] - origin_ns) / 1e9, trace.value[good]
    step_s = _steps(time_s)
    late = step_s > LATE_FACTOR * trace.interval_s
    failed = sorted(trace.reasons, reverse=True)  # the first reason of a segment counts
    before = np.searchsorted(good, failed) - 1
    reasons = {
        int(segment): trace.reasons[index]
        for segment, index in zip(before, failed, strict=True)
        if 0 <= segment < len(step_s)
    }
    nothing = np.zeros_like(step_s)
    if trace.channel.kind is ValueKind.ACCUMULATOR:
        steps_j = _counter_steps_j(trace, value)
        power_w = steps_j / step_s
        return Segments(
            time_s[:-1], time_s[1:], power_w, power_w, np.ones(len(step_s), bool), late,
            _ambiguous_steps(trace, steps_j, step_s), power_w, step_s**2, nothing, nothing, reasons,
        )  # fmt: skip
    off_w = np.append(value[1:-1] - (value[:-2] + value[2:]) / 2, np.zeros(min(1, len(step_s))))
    off_next_w = np.append(off_w[1:], np.zeros(min(1, len(step_s))))
    return Segments(
        time_s[:-1], time_s[1:], value[:-1], value[1:], ~late, late, nothing.astype(np.int8),
        np.maximum(value[:-1], value[1:]), step_s**2, (off_w * step_s) ** 2, off_w * off_next_w * step_s**2, reasons,
    )  # fmt: skip


def _may_wrap(trace: Trace) -> bool:
    """Readings so far apart that over half of what a wrap can take has passed."""
    channel = trace.channel
    if channel.wrap_j is None or channel.power_w_max is None:
        return False
    return bool(np.diff(trace.t_ns).max() / 1e9 > channel.wrap_j / channel.power_w_max / 2)


def _counter_steps_j(trace: Trace, value: _Floats) -> _Floats:
    steps = np.diff(value)
    wrap_j = trace.channel.wrap_j
    return steps if wrap_j is None else np.where(steps < 0, steps + wrap_j, steps)


def _ambiguous_steps(trace: Trace, steps_j: _Floats, steps_s: _Floats) -> NDArray[np.int8]:
    """Returns a counter's ambiguous steps, each by its place in AMBIGUITIES."""
    channel = trace.channel
    kinds = np.where(steps_j < 0, 1, 0).astype(np.int8)
    if channel.power_w_max is None:
        return kinds
    kinds[(kinds == 0) & (steps_j > channel.power_w_max * (steps_s + COUNTER_UPDATE_S))] = 3
    if channel.wrap_j is not None:
        kinds[steps_s > channel.wrap_j / channel.power_w_max] = 2
    return kinds
