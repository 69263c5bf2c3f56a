"""The energy of an interval: the sum over the segments' overlap with it, so that both ends are interpolated.

Unknown time, also outside the readings, gets the mean power of the known time, reported as a gap, and widens the
uncertainty; above `GAP_SHARE_MAX` of the interval there is no energy. No energy either where a counter's step is
ambiguous: longer than a wrap takes, or more than the channel can draw.

Uncertainty: JCGM 100:2008 (GUM), 5.1.2, independent lines in squares; k=2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from edgejoule.energy.figures import RECTANGULAR, BudgetLine, Energy, Gap, k2, summed
from edgejoule.energy.readings import Readings
from edgejoule.energy.renewal import Renewal, at_renewals, renewal_at_start
from edgejoule.energy.segments import AMBIGUITIES, LATE_FACTOR, Segments, SegmentSummary, joined, segments_of
from edgejoule.errors import DataError, require
from edgejoule.meters.base import Channel, Domain, ValueKind
from edgejoule.meters.clocks import ClockRelation
from edgejoule.meters.trace import Trace

GAP_SHARE_MAX = 0.05
_REASONS_MAX = 3  # named in a note

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Overlap:
    """The segments' parts inside the interval, and which of them count."""

    channel: Channel
    segments: Segments
    duration_s: _Floats
    energy_j: _Floats
    known: NDArray[np.bool_]

    @property
    def mean_w(self) -> float:
        """Mean power of the known time; NaN when nothing is known."""
        known_s = float(self.duration_s[self.known].sum())
        return float(self.energy_j[self.known].sum()) / known_s if known_s > 0 else math.nan

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Known, and not empty."""
        return self.known & (self.duration_s > 0)


def energy(readings: Readings, t0_ns: int, t1_ns: int) -> Energy:
    """Energy of one channel from t0_ns to t1_ns, both on the host's CLOCK_MONOTONIC.

    Raises DataError when the interval is empty or reversed. Too little data is no error but an Energy without a value.
    """
    if t1_ns <= t0_ns:
        raise DataError(f"energy of an interval that ends ({t1_ns} ns) before it starts ({t0_ns} ns)")
    try:
        readings, relation = readings.on_host_clock()
    except DataError as error:
        return _refused(readings.channel, t0_ns, t1_ns, str(error))
    return _energy(readings, relation, t0_ns, t1_ns)


def domain_energy(readings: Sequence[Readings], t0_ns: int, t1_ns: int, domain: Domain | None = None) -> Energy:
    """Energy of one domain of one meter: the sum over its channels, by default the domain of the first.

    Two sockets are two package channels and one package energy. Missing in one channel is missing in the sum.
    Raises DataError when the readings come from several meters or none covers the domain.
    """
    meters = sorted({each.channel.meter for each in readings})
    if len(meters) != 1:
        raise DataError(f"energies of different meters are not summed: {', '.join(meters) or 'no trace given'}")
    wanted = readings[0].channel.domain if domain is None else domain
    parts = [energy(each, t0_ns, t1_ns) for each in readings if each.channel.domain is wanted]
    if not parts:
        raise DataError(f"{meters[0]} has no channel of domain {wanted}")
    return summed(parts) if len(parts) > 1 else parts[0]


def _energy(readings: Readings, relation: ClockRelation | None, t0_ns: int, t1_ns: int) -> Energy:
    channel = readings.channel
    renewal = renewal_at_start(readings) if channel.kind is ValueKind.INSTANT else None
    pieces = _pieces(readings, renewal, t0_ns, t1_ns)
    segments = joined([segments_of(piece, t0_ns) for piece in pieces]) if pieces else None
    count, failed = readings.counts(t0_ns, t1_ns)
    if segments is None or not len(segments) or (count - failed < 2 and not segments.known.any()):
        return _refused(channel, t0_ns, t1_ns, f"{count - failed} good samples, expected at least 2")
    duration_s = (t1_ns - t0_ns) / 1e9
    overlap = _overlap(channel, segments, 0.0, duration_s)
    ambiguous = overlap.segments.ambiguous[overlap.duration_s > 0]
    if ambiguous.any():
        return _refused(channel, t0_ns, t1_ns, AMBIGUITIES[int(ambiguous[ambiguous > 0][0])])
    gaps = _gaps(overlap, duration_s, t0_ns)
    coverage = float(overlap.duration_s[overlap.known].sum() / duration_s)
    require(-1e-9 < coverage < 1 + 1e-9, f"the known time is a part of the interval: {coverage}")
    if 1 - coverage > GAP_SHARE_MAX:
        most = f"at most {100 * GAP_SHARE_MAX:.0f} % is accepted"
        reason = f"{share_text(1 - coverage)} of the interval has no reading, {most}"
        return _refused(channel, t0_ns, t1_ns, reason, coverage, gaps)
    energy_j = overlap.mean_w * duration_s
    lines = _budget(channel, overlap, energy_j, duration_s, coverage)
    if renewal is not None:
        age_j = _shifted_j(overlap, energy_j, duration_s, renewal.period_s / 2) * RECTANGULAR
        lines = (*lines, *([BudgetLine("renewal", age_j)] if age_j > 0 else []))
    if relation is not None:
        shift_s = max(relation.uncertainty_s(t) for t in (t0_ns, t1_ns))
        # The device's clock is uncertain: the interval may be shifted, and as much longer as the drift is unknown.
        timing_j = math.hypot(_shifted_j(overlap, energy_j, duration_s, shift_s), relation.drift_u * abs(energy_j))
        lines = (*lines, *([BudgetLine("timing", timing_j)] if timing_j > 0 else []))
    return Energy(
        energy_j=energy_j,
        method=channel.method,
        domain=channel.domain,
        start_ns=t0_ns,
        end_ns=t1_ns,
        uncertainty_k2_j=k2(lines),
        coverage=coverage,
        gaps=gaps,
        notes=(
            *_notes(readings, overlap, gaps, coverage, t0_ns, t1_ns),
            *_wrong_way(channel, energy_j, k2(lines)),
        ),
        budget=lines,
        renewal=renewal,
    )


def _pieces(readings: Readings, renewal: Renewal | None, t0_ns: int, t1_ns: int) -> Sequence[Trace | SegmentSummary]:
    """What covers the interval; of a value that is polled faster than it is renewed one reading for each renewal."""
    if renewal is None:
        return readings.pieces(t0_ns, t1_ns)
    around_ns = round((LATE_FACTOR + 1) * renewal.period_s * 1e9)
    renewed = at_renewals(readings.between(t0_ns - around_ns, t1_ns + around_ns), renewal)
    return (renewed,) if len(renewed) else ()


def _overlap(channel: Channel, segments: Segments, from_s: float, to_s: float) -> _Overlap:
    """With the interval from from_s to to_s of the segments' time."""
    start_s = np.clip(segments.start_s, from_s, to_s)
    end_s = np.clip(segments.end_s, from_s, to_s)
    slope = (segments.power_end_w - segments.power_start_w) / (segments.end_s - segments.start_s)
    middle_s = (start_s + end_s) / 2 - segments.start_s
    energy_j = (segments.power_start_w + slope * middle_s) * (end_s - start_s)
    known = segments.known
    if channel.kind is ValueKind.ACCUMULATOR:
        known = known & ~(segments.late & (_contains(segments, from_s) | _contains(segments, to_s)))
    return _Overlap(channel, segments, end_s - start_s, energy_j, known)


def _contains(segments: Segments, at_s: float) -> NDArray[np.bool_]:
    return (segments.start_s < at_s) & (at_s < segments.end_s)


def _gaps(overlap: _Overlap, duration_s: float, t0_ns: int) -> tuple[Gap, ...]:
    """Unknown time in the interval, also before the first and after the last reading."""
    segments = overlap.segments
    edges = [
        (max(0.0, float(segments.start_s[i])), min(duration_s, float(segments.end_s[i])), segments.reason(int(i)))
        for i in np.flatnonzero(~overlap.known & (overlap.duration_s > 0))
    ]
    first_s, last_s = float(segments.start_s[0]), float(segments.end_s[-1])
    if first_s > 0:
        edges.insert(0, (0.0, min(first_s, duration_s), "before the first sample"))
    if last_s < duration_s:
        edges.append((max(last_s, 0.0), duration_s, "after the last sample"))
    gaps: list[Gap] = []
    for begin_s, end_s, reason in edges:
        begin_ns, end_ns = t0_ns + round(begin_s * 1e9), t0_ns + round(end_s * 1e9)
        if gaps and gaps[-1].end_ns == begin_ns:
            gaps[-1] = replace(gaps[-1], end_ns=end_ns)
        else:
            gaps.append(Gap(begin_ns, end_ns, reason))
    return tuple(gaps)


def _bridged(channel: Channel, gaps: Sequence[Gap]) -> str:
    if channel.kind is ValueKind.ACCUMULATOR:
        return "; a running total counts on meanwhile"
    return "" if gaps else "; straight lines between their neighbours replace them"


def share_text(share: float) -> str:
    """Formats the share of the time in gaps: 2.1 %. A small one is never rounded to zero."""
    return "< 0.1 %" if share < 0.0005 else f"{100 * share:.1f} %"


def _notes(
    readings: Readings, overlap: _Overlap, gaps: tuple[Gap, ...], coverage: float, t0_ns: int, t1_ns: int
) -> tuple[str, ...]:
    channel = readings.channel
    notes = []
    if gaps:
        reasons = list(dict.fromkeys(gap.reason for gap in gaps))
        more = [f"{len(reasons) - _REASONS_MAX:,} more"] if len(reasons) > _REASONS_MAX else []
        notes.append(
            f"{channel.name}: {share_text(1 - coverage)} of the time is in {len(gaps):,} gap{'s' * (len(gaps) > 1)} "
            f"({', '.join([*reasons[:_REASONS_MAX], *more])}), filled with the mean power"
        )
    count, failed = readings.counts(t0_ns, t1_ns)
    if failed:
        notes.append(f"{channel.name}: {failed:,} of {count:,} readings have no number{_bridged(channel, gaps)}")
    if channel.wrap_j is not None and channel.power_w_max is not None:
        length_s = (overlap.segments.end_s - overlap.segments.start_s)[overlap.duration_s > 0]
        # Of several steps summed up none is as long as that.
        steps_s = length_s[overlap.segments.step_s2[overlap.duration_s > 0] >= length_s**2 * (1 - 1e-9)]
        if np.any(steps_s > channel.wrap_j / channel.power_w_max / 2):
            notes.append(f"{channel.name}: {steps_s.max():.1f} s between readings, over half of what a wrap can take")
    return tuple(notes)


def _wrong_way(channel: Channel, energy_j: float, uncertainty_k2_j: float) -> tuple[str, ...]:
    """Nothing that is metered here gives energy back."""
    if energy_j >= -uncertainty_k2_j:
        return ()
    return (f"{channel.name}: the energy is below zero: is the current connected the wrong way round?",)


def _budget(
    channel: Channel, overlap: _Overlap, energy_j: float, duration_s: float, coverage: float
) -> tuple[BudgetLine, ...]:
    unknown_s = (1 - coverage) * duration_s
    lines = [
        BudgetLine("gain", channel.gain_rel * abs(energy_j), common=True),
        BudgetLine("offset", channel.offset_w * duration_s, common=True),
        BudgetLine("resolution", _resolution_j(channel, overlap)),
        BudgetLine("ends", _ends_j(channel, overlap)),
        BudgetLine("sampling", _sampling_j(overlap)),
        BudgetLine("gaps", _gaps_j(overlap, energy_j / duration_s, unknown_s)),
        BudgetLine("model", channel.model_rel * abs(energy_j), common=True),
    ]
    return tuple(line for line in lines if line.value_j > 0)


def _resolution_j(channel: Channel, overlap: _Overlap) -> float:
    half = channel.resolution / 2 * RECTANGULAR
    if channel.kind is ValueKind.ACCUMULATOR:
        return half * math.sqrt(2)
    length_s = overlap.segments.end_s - overlap.segments.start_s
    whole = overlap.duration_s >= length_s * (1 - 1e-9)
    step_s2 = np.where(whole, overlap.segments.step_s2, np.square(overlap.duration_s))
    return float(half * np.sqrt(step_s2[overlap.inside].sum()))


def _ends_j(channel: Channel, overlap: _Overlap) -> float:
    """How a cut segment's energy divides at the cut is not known: anything from none to all of it is possible."""
    if channel.kind is ValueKind.INSTANT:
        return 0.0
    length_s = overlap.segments.end_s - overlap.segments.start_s
    cut = overlap.inside & (overlap.duration_s < length_s * (1 - 1e-9))
    whole_j = overlap.segments.power_start_w[cut] * length_s[cut]
    return float(np.sqrt(np.sum(np.square(whole_j / 2 * RECTANGULAR))))


def _sampling_j(overlap: _Overlap) -> float:
    """What instant samples may have missed between them, from how far each lies off its neighbours' mean.

    Of noise of variance s2 the squares of these distances have the mean 3/2 s2 and the products of neighbouring ones
    -s2; n samples a time dt apart then miss n s2 dt2. A step of height D at an unknown place between two samples gives
    squares of D2/2 in all, a product of -D2/4, and misses D2 dt2 / 12. Squares and products distinguish the two.
    """
    squares_j2 = float(overlap.segments.off_j2[overlap.inside].sum())
    products_j2 = float(overlap.segments.off_next_j2[overlap.inside].sum())
    noise_j2 = min(2 / 3 * squares_j2, max(0.0, -2 * squares_j2 - 4 * products_j2))
    return math.sqrt(squares_j2 / 6 + 0.75 * noise_j2)


def _shifted_j(overlap: _Overlap, energy_j: float, duration_s: float, shift_s: float) -> float:
    """By how much the energy changes when the interval is shifted by so much, to the worse side."""
    moved = (
        _overlap(overlap.channel, overlap.segments, sign * shift_s, sign * shift_s + duration_s) for sign in (-1, 1)
    )
    return float(np.nanmax([abs(other.mean_w - energy_j / duration_s) for other in moved])) * duration_s


def _gaps_j(overlap: _Overlap, power_mean_w: float, unknown_s: float) -> float:
    """Power in a gap is taken as anything up to the largest seen, or twice the mean if that is more."""
    if unknown_s <= 0:
        return 0.0
    largest_w = float(np.max(overlap.segments.power_max_w[overlap.inside]))
    return unknown_s * max(largest_w - power_mean_w, abs(power_mean_w)) * RECTANGULAR


def _refused(
    channel: Channel, t0_ns: int, t1_ns: int, reason: str, coverage: float = 0.0, gaps: tuple[Gap, ...] = ()
) -> Energy:
    return Energy(
        energy_j=None,
        method=channel.method,
        domain=channel.domain,
        start_ns=t0_ns,
        end_ns=t1_ns,
        uncertainty_k2_j=None,
        coverage=coverage,
        gaps=gaps,
        missing_reason=f"{channel.name}: {reason}",
    )
