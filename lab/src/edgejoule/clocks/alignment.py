"""Relates a recording made elsewhere to this host's clock by the marker bursts in it.

All bursts have the same pattern, so a burst alone does not identify itself. The other bursts identify it: they must lie
where this host played them. The line through all visible bursts gives the offset and, from two bursts on, the drift.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgejoule.clocks.marker import QUIET_S, Marker, Sighting, sight
from edgejoule.errors import DataError
from edgejoule.meters.base import ValueKind
from edgejoule.meters.clocks import DRIFT_MAX, DRIFT_UNKNOWN, ClockRelation
from edgejoule.meters.trace import Trace

_FINEST_S = 0.001
_NEAR = 4  # nearest markers that identify a burst first
_PLAY_S = 0.1  # search half width around a marker's expected place, added to the clocks' maximum drift


@dataclass(frozen=True)
class Aligned:
    """A recording's relation to the host's clock. relation: the recording's times (the `device`) against the host's.
    sightings: one per marker, in order; their shifts are against the relation.
    """

    relation: ClockRelation
    sightings: tuple[Sighting, ...]

    @property
    def description(self) -> str:
        """Describes the result in one sentence."""
        seen = sum(s.shift_s is not None for s in self.sightings)
        known = self.relation
        drift = f", drift {-known.drift * 1e6:+.0f} ± {2e6 * known.drift_u:.0f} ppm" if seen > 1 else ""
        return (
            f"tied to this host's clock by {seen} of {len(self.sightings)} markers, "
            f"±{2e3 * known.offset_s:.1f} ms{drift} (k=2)"
        )

    def agrees(self, sighting: Sighting) -> bool | None:
        """Returns whether a marker agrees with the others within the k=2 of both; None if it is not visible."""
        if sighting.shift_s is None:
            return None
        return abs(sighting.shift_s) <= 2 * math.hypot(sighting.uncertainty_s or 0.0, self.relation.offset_s)


def by_markers(recording: Trace, markers: Sequence[Marker]) -> Aligned:
    """Find the markers anywhere in a recording, whatever its times count from.

    Raises DataError when none is visible, when it is ambiguous which one is, and when the clock runs as no crystal
    does.
    """
    origin_ns = int(recording.t_ns[0]) - markers[0].start_ns  # keeps shifts small
    thin = _thinned(recording)
    local = replace(thin, t_ns=thin.t_ns - origin_ns)
    shift_s = _first_shift(local, markers)
    middle = min(range(len(markers)), key=lambda i: abs(_seen_at_s(local, markers[i], shift_s)))
    sightings = [_near(local, marker, shift_s, markers[middle]) for marker in markers]
    relation = _line(sightings, markers)
    shifted = replace(relation, device_ns=relation.device_ns + origin_ns)
    return Aligned(shifted, tuple(_beside(s, m, relation) for s, m in zip(sightings, markers, strict=True)))


def _thinned(recording: Trace) -> Trace:
    """Reduces the recording to one reading per millisecond if it has more: a supply's delay is longer than that."""
    every = int(_FINEST_S / recording.interval_s + 1e-6)
    whole = len(recording) // max(every, 1) * every
    if every < 2:
        return recording
    t_ns, value = recording.t_ns[:whole].reshape(-1, every), recording.value[:whole].reshape(-1, every)
    kind, last_ns = recording.channel.kind, t_ns[:, -1]
    values = value[:, -1] if kind is ValueKind.ACCUMULATOR else value.mean(axis=1)
    at_ns = (
        t_ns[:, 0] + (last_ns - t_ns[:, 0]) // 2 if kind is ValueKind.INSTANT else last_ns
    )  # a mean's time is its end
    return replace(recording, t_ns=at_ns, value=values, interval_s=every * recording.interval_s, reasons={})


def _seen_at_s(local: Trace, marker: Marker, shift_s: float) -> float:
    """Returns the distance of a marker from the middle of the recording."""
    middle_ns = (int(local.t_ns[0]) + int(local.t_ns[-1])) / 2
    return (marker.start_ns - middle_ns) / 1e9 + shift_s


def _first_shift(local: Trace, markers: Sequence[Marker]) -> float:
    """Returns the shift of the recording against the host, within the uncertainty of a marker's place."""
    length_s = float(local.t_ns[-1] - local.t_ns[0]) / 1e9
    middle_s = ((int(local.t_ns[0]) + int(local.t_ns[-1])) / 2 - markers[0].start_ns) / 1e9
    best = sight(local, markers[0], length_s / 2 + 1, middle_s)
    if best.shift_s is None:
        raise DataError(best.missing_reason or "no marker is visible")
    at_ns = markers[0].start_ns + best.shift_s * 1e9  # the burst's time in the recording
    shifts = [(at_ns - marker.start_ns) / 1e9 for marker in markers]
    if len(markers) == 1:
        return shifts[0]
    counts = [_confirmed(local, markers, i, shifts[i], _NEAR) for i in range(len(markers))]
    best_ones = [i for i, count in enumerate(counts) if count == max(counts)]
    if len(best_ones) > 1 and max(counts) > 0:
        every = {i: _confirmed(local, markers, i, shifts[i], len(markers)) for i in best_ones}
        best_ones = [i for i in best_ones if every[i] == max(every.values())]
    if len(best_ones) > 1:
        raise DataError(
            f"a marker burst is visible, but not which of the {len(markers)} it is: the recording must show others too"
        )
    return shifts[best_ones[0]]


def _confirmed(local: Trace, markers: Sequence[Marker], which: int, shift_s: float, others: int) -> int:
    """Counts the nearest other markers that are at their expected places if the burst is marker `which`."""
    near = sorted((i for i in range(len(markers)) if i != which), key=lambda i: abs(i - which))[:others]
    return sum(_near(local, markers[i], shift_s, markers[which]).shift_s is not None for i in near)


def _near(local: Trace, marker: Marker, shift_s: float, known: Marker) -> Sighting:
    """Searches a marker at its expected place, given that the known marker is shifted by shift_s."""
    search_s = _PLAY_S + DRIFT_MAX * abs(marker.start_ns - known.start_ns) / 1e9
    around_s = search_s + 2 * QUIET_S
    part = local.between(
        marker.start_ns + round((shift_s - around_s) * 1e9), marker.end_ns + round((shift_s + around_s) * 1e9)
    )
    return sight(part, marker, search_s, shift_s)


def _line(sightings: Sequence[Sighting], markers: Sequence[Marker]) -> ClockRelation:
    """Fits the line of shift over the host's time by least squares. Its uncertainty at the middle is that of one
    marker: more markers do not reduce their common error, the supply's delay."""
    seen = [
        (m.start_ns, s.shift_s, s.uncertainty_s or 0.0)
        for s, m in zip(sightings, markers, strict=True)
        if s.shift_s is not None
    ]
    middle_ns = round(sum(at_ns for at_ns, _, _ in seen) / len(seen))
    time_s = np.array([(at_ns - middle_ns) / 1e9 for at_ns, _, _ in seen])
    shift_s, spread_s = np.array([s for _, s, _ in seen]), max(u for _, _, u in seen)
    gained, gained_u = 0.0, DRIFT_UNKNOWN / math.sqrt(3)
    if len(seen) > 1:
        gained = float(time_s @ shift_s / (time_s @ time_s))
        gained_u = spread_s / math.sqrt(float(time_s @ time_s))
    if abs(gained) > DRIFT_MAX + 2 * gained_u:
        raise DataError(f"the recording's clock runs {gained * 1e6:+.0f} ppm off this host's, no crystal does")
    device_ns = middle_ns + round(float(shift_s.mean()) * 1e9)
    return ClockRelation(device_ns, middle_ns, 1 / (1 + gained) - 1, spread_s, gained_u)


def _beside(seen: Sighting, marker: Marker, relation: ClockRelation) -> Sighting:
    """Returns the sighting with its shift against the relation."""
    if seen.shift_s is None:
        return seen
    in_trace_ns = np.array([marker.start_ns + round(seen.shift_s * 1e9)])
    return replace(seen, shift_s=(int(relation.to_host_ns(in_trace_ns)[0]) - marker.start_ns) / 1e9)
