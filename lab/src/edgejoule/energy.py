"""From readings to joules, with an uncertainty and without silent bridges.

A trace becomes segments between consecutive samples, each with a power that is linear in time (instant samples) or
constant (interval means, and the mean power between two readings of an accumulator). The energy of an interval is the
sum over the segments' overlap with it, so both ends are interpolated.

A segment is *unknown* where a reading is missing or late, and where the interval reaches beyond the trace. A long step
of an accumulator inside the interval is known: the counter has counted on. Unknown time is filled with the mean power
of the known time, told as a gap, and widens the uncertainty; above `GAP_SHARE_MAX` of the interval there is no energy.
No energy either where a counter's step is ambiguous: longer than a wrap takes, or more than the channel can draw.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from edgejoule.errors import DataError
from edgejoule.meters.base import Domain, Method, ValueKind
from edgejoule.meters.clocks import ClockRelation
from edgejoule.meters.trace import Trace

GAP_SHARE_MAX = 0.05
LATE_FACTOR = 3.0  # a step above this many sampling intervals is a gap
COUNTER_UPDATE_S = 0.002  # a counter's own update may fall on either side of a reading
_RECTANGULAR = 1 / math.sqrt(3)  # k=1 of a half width within which nothing is more likely

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Gap:
    """Time without a known power, cut to the interval."""

    start_ns: int
    end_ns: int
    reason: str


@dataclass(frozen=True)
class BudgetLine:
    """One contribution to the uncertainty: standard uncertainty (k=1) in J.

    common: one and the same error wherever this meter or model is read (gain, offset, model): it adds up over channels
    instead of averaging, and subtracts between an energy and its baseline.
    """

    name: str
    value_j: float
    common: bool = False


@dataclass(frozen=True)
class Energy:
    """Energy over one interval. energy_j is None exactly when missing_reason says why.

    uncertainty_k2_j: half width of the k=2 interval; None without an energy. coverage: share of the interval's time
    with known power. notes: what a reader must know, in words.
    """

    energy_j: float | None
    method: Method
    domain: Domain
    start_ns: int
    end_ns: int
    uncertainty_k2_j: float | None
    coverage: float
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()
    budget: tuple[BudgetLine, ...] = ()
    missing_reason: str | None = None

    @property
    def duration_s(self) -> float:
        """Length of the interval."""
        return (self.end_ns - self.start_ns) / 1e9

    @property
    def power_mean_w(self) -> float | None:
        """Energy over duration."""
        return None if self.energy_j is None else self.energy_j / self.duration_s


@dataclass(frozen=True)
class Baseline:
    """Mean power of a quiet window; `source` is the energy it comes from.

    Interpolated between two windows: the mean power halfway, and the energy it makes of the whole span.
    """

    power_w: float
    source: Energy


@dataclass(frozen=True)
class _Segments:
    """Times in s from the interval's start; power at both ends of each segment in W."""

    start_s: _Floats
    end_s: _Floats
    power_start_w: _Floats
    power_end_w: _Floats
    known: NDArray[np.bool_]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class _Overlap:
    """The segments' parts inside the interval."""

    start_s: _Floats
    end_s: _Floats
    energy_j: _Floats

    @property
    def duration_s(self) -> _Floats:
        return self.end_s - self.start_s


def energy(trace: Trace, t0_ns: int, t1_ns: int) -> Energy:
    """Energy of one channel from t0_ns to t1_ns, both on the host's CLOCK_MONOTONIC.

    Raises DataError when the interval is empty or reversed. Too little data is no error but an Energy without a value.
    """
    if t1_ns <= t0_ns:
        raise DataError(f"energy of an interval that ends ({t1_ns} ns) before it starts ({t0_ns} ns)")
    try:
        trace, relation = trace.on_host_clock()
    except DataError as error:
        return _refused(trace, t0_ns, t1_ns, str(error))
    found = _energy(trace, t0_ns, t1_ns)
    return found if relation is None or found.energy_j is None else _with_timing(found, trace, relation)


def _with_timing(found: Energy, trace: Trace, relation: ClockRelation) -> Energy:
    """Adds what the uncertainty of the device's clock means: how the energy changes when the interval is shifted by it,
    or lasts as much longer as the drift is unknown.
    """
    assert found.energy_j is not None
    shift_ns = round(max(relation.uncertainty_s(t) for t in (found.start_ns, found.end_ns)) * 1e9)
    moved = [_energy(trace, found.start_ns + sign * shift_ns, found.end_ns + sign * shift_ns) for sign in (-1, 1)]
    changes_j = [abs(other.energy_j - found.energy_j) for other in moved if other.energy_j is not None]
    if not changes_j:
        return replace(found, energy_j=None, uncertainty_k2_j=None, missing_reason="its clock is not known well enough")
    timing = BudgetLine("timing", math.hypot(max(changes_j), relation.drift_u * abs(found.energy_j)))
    lines = (*found.budget, *([timing] if timing.value_j > 0 else []))
    return replace(found, budget=lines, uncertainty_k2_j=_k2(lines))


def _energy(trace: Trace, t0_ns: int, t1_ns: int) -> Energy:
    good = ~np.isnan(trace.value)
    if np.count_nonzero(good) < 2:
        return _refused(trace, t0_ns, t1_ns, f"{np.count_nonzero(good)} good samples, expected at least 2")
    ambiguous = _ambiguous_step(trace, t0_ns, t1_ns)
    if ambiguous is not None:
        return _refused(trace, t0_ns, t1_ns, ambiguous)
    duration_s = (t1_ns - t0_ns) / 1e9
    segments = _with_outside(_segments(trace, t0_ns, duration_s), duration_s)
    overlap = _overlap(segments, duration_s)
    gaps = _gaps(segments, overlap, t0_ns)
    coverage = float(overlap.duration_s[segments.known].sum() / duration_s)
    if 1 - coverage > GAP_SHARE_MAX:
        return _refused(
            trace,
            t0_ns,
            t1_ns,
            f"{1 - coverage:.1%} of the interval has no reading, at most {GAP_SHARE_MAX:.0%} is accepted",
            coverage,
            gaps,
        )
    return _integrated(trace, t0_ns, t1_ns, segments, overlap, coverage, gaps)


def domain_energy(traces: Sequence[Trace], t0_ns: int, t1_ns: int, domain: Domain | None = None) -> Energy:
    """Energy of one domain of one meter: the sum over its channels, by default the domain of the first trace.

    Two sockets are two package channels and one package energy. Missing in one channel is missing in the sum.
    Raises DataError when the traces come from several meters or none covers the domain.
    """
    meters = sorted({trace.channel.meter for trace in traces})
    if len(meters) != 1:
        raise DataError(f"energies of different meters are not summed: {', '.join(meters) or 'no trace given'}")
    wanted = traces[0].channel.domain if domain is None else domain
    parts = [energy(trace, t0_ns, t1_ns) for trace in traces if trace.channel.domain is wanted]
    if not parts:
        raise DataError(f"{meters[0]} has no channel of domain {wanted}")
    return _sum(parts) if len(parts) > 1 else parts[0]


def baseline(traces: Sequence[Trace], t0_ns: int, t1_ns: int, domain: Domain | None = None) -> Baseline:
    """Mean power over a quiet window. Raises DataError when the window has no energy."""
    source = domain_energy(traces, t0_ns, t1_ns, domain)
    if source.power_mean_w is None:
        raise DataError(f"no baseline: {source.missing_reason}")
    return Baseline(source.power_mean_w, source)


def interpolated_baseline(before: Baseline, after: Baseline) -> Baseline:
    """The baseline halfway between a quiet window before and one after the run.

    Each window's budget counts by half; common lines (gain, offset, model) add up, the others in squares. Half the
    difference of the two powers is the half width of a line "baseline drift". Raises DataError when the windows overlap
    or are of different domains or methods.
    """
    first, last = before.source, after.source
    if first.domain is not last.domain or first.method is not last.method:
        raise DataError(
            f"baselines of {first.domain} ({first.method}) and {last.domain} ({last.method}) have no middle"
        )
    if last.start_ns < first.end_ns:
        raise DataError("the quiet window after the run begins before the one before it ends")
    span_s = (last.end_ns - first.start_ns) / 1e9
    halves = [
        replace(line, value_j=line.value_j / source.duration_s / 2 * span_s)
        for source in (first, last)
        for line in source.budget
    ]
    drift = BudgetLine("baseline drift", abs(after.power_w - before.power_w) / 2 * span_s * _RECTANGULAR)
    lines = _merged_lines([*halves, *([drift] if drift.value_j > 0 else [])])
    power_w = (before.power_w + after.power_w) / 2
    source = replace(
        first,
        energy_j=power_w * span_s,
        end_ns=last.end_ns,
        uncertainty_k2_j=_k2(lines),
        coverage=min(first.coverage, last.coverage),
        gaps=(*first.gaps, *last.gaps),
        notes=tuple(dict.fromkeys((*first.notes, *last.notes))),
        budget=lines,
    )
    return Baseline(power_w, source)


def net_energy(gross: Energy, quiet: Baseline) -> Energy:
    """Gross energy less the baseline over the same time. May be negative: it is not clamped.

    The common lines (gain, offset, model) of both are the same error and subtract, the others add in squares.
    """
    if gross.domain is not quiet.source.domain or gross.method is not quiet.source.method:
        raise DataError(f"baseline of {quiet.source.domain} ({quiet.source.method}), energy of {gross.domain}")
    if gross.energy_j is None:
        return gross
    scale = gross.duration_s / quiet.source.duration_s
    quiet_lines = [replace(line, value_j=line.value_j * scale) for line in quiet.source.budget]
    lines = _merged_lines([*gross.budget, *(replace(x, value_j=-x.value_j) for x in quiet_lines)])
    notes = tuple(dict.fromkeys((*gross.notes, *(f"baseline: {note}" for note in quiet.source.notes))))
    return replace(
        gross,
        energy_j=gross.energy_j - quiet.power_w * gross.duration_s,
        budget=lines,
        uncertainty_k2_j=_k2(lines),
        notes=notes,
    )


def comparison_min_ratio(prediction_interval_rel: float) -> float:
    """The smallest ratio of two runs' modelled energies that exceeds the model's prediction interval.

    prediction_interval_rel: half width at k=2, relative; 0.5 means a true value between 1/1.5 and 1.5 of the modelled.
    Each run's error is taken as independent with half width ln(1 + U) on the log scale, so the ratio's is sqrt(2)
    times as wide: exp(sqrt(2) ln(1 + U)). Part of the error is common to both runs and cancels, which makes this
    conservative. 50 % gives 1.77.
    """
    if not prediction_interval_rel >= 0:
        raise DataError(f"a prediction interval is a relative half width of at least 0, not {prediction_interval_rel}")
    return math.exp(math.sqrt(2) * math.log1p(prediction_interval_rel))


def _segments(trace: Trace, t0_ns: int, duration_s: float) -> _Segments:
    kind = trace.channel.kind
    if kind is ValueKind.INTERVAL_MEAN:
        return _mean_segments(trace, t0_ns)
    good = np.flatnonzero(~np.isnan(trace.value))
    time_s = (trace.t_ns[good] - t0_ns) / 1e9
    late = np.diff(time_s) > LATE_FACTOR * trace.interval_s
    value = trace.value[good]
    if kind is ValueKind.INSTANT:
        reasons = tuple(_gap_reason(trace, good[i], good[i + 1]) for i in range(len(good) - 1))
        return _Segments(time_s[:-1], time_s[1:], value[:-1], value[1:], ~late, reasons)
    power_w = _counter_steps_j(trace, value) / np.diff(time_s)
    holds_end = _contains(time_s, 0.0) | _contains(time_s, duration_s)
    reasons = tuple(_gap_reason(trace, good[i], good[i + 1]) for i in range(len(good) - 1))
    return _Segments(time_s[:-1], time_s[1:], power_w, power_w, ~(late & holds_end), reasons)


def _mean_segments(trace: Trace, t0_ns: int) -> _Segments:
    time_s = (trace.t_ns - t0_ns) / 1e9
    missing = np.isnan(trace.value[1:])
    late = np.diff(time_s) > LATE_FACTOR * trace.interval_s
    power_w = np.where(missing, 0.0, trace.value[1:])
    reasons = tuple(_gap_reason(trace, i, i + 1) for i in range(len(time_s) - 1))
    return _Segments(time_s[:-1], time_s[1:], power_w, power_w, ~(missing | late), reasons)


def _contains(time_s: _Floats, at_s: float) -> NDArray[np.bool_]:
    return (time_s[:-1] < at_s) & (at_s < time_s[1:])


def _gap_reason(trace: Trace, before: int, after: int) -> str:
    for index in range(before + 1, after + 1):
        if index in trace.reasons:
            return trace.reasons[index]
    return "no sample in time"


def _counter_steps_j(trace: Trace, value: _Floats) -> _Floats:
    steps = np.diff(value)
    wrap_j = trace.channel.wrap_j
    return steps if wrap_j is None else np.where(steps < 0, steps + wrap_j, steps)


def _ambiguous_step(trace: Trace, t0_ns: int, t1_ns: int) -> str | None:
    """Why an accumulator's steps within the interval cannot be told, None when they can."""
    channel = trace.channel
    if channel.kind is not ValueKind.ACCUMULATOR:
        return None
    good = ~np.isnan(trace.value)
    t_ns, value = trace.t_ns[good], trace.value[good]
    touched = (t_ns[:-1] < t1_ns) & (t_ns[1:] > t0_ns)
    steps_j = _counter_steps_j(trace, value)[touched]
    steps_s = (np.diff(t_ns) / 1e9)[touched]
    if np.any(steps_j < 0):
        return "the counter went backwards without a wrap: it was reset or a reading is wrong"
    if channel.power_w_max is None:
        return None
    if channel.wrap_j is not None and np.any(steps_s > channel.wrap_j / channel.power_w_max):
        return f"{steps_s.max():.1f} s between two readings: the counter may have wrapped unseen"
    if np.any(steps_j > channel.power_w_max * (steps_s + COUNTER_UPDATE_S)):
        return f"a step means more than {channel.power_w_max:g} W: the counter was reset or a reading is wrong"
    return None


def _with_outside(segments: _Segments, duration_s: float) -> _Segments:
    """Adds the interval's time before the first and after the last sample as unknown segments."""
    first_s, last_s = float(segments.start_s[0]), float(segments.end_s[-1])
    extra = []
    if first_s > 0:
        extra.append((0.0, min(first_s, duration_s), "before the first sample"))
    if last_s < duration_s:
        extra.append((max(last_s, 0.0), duration_s, "after the last sample"))
    if not extra:
        return segments
    zeros = np.zeros(len(extra))
    return _Segments(
        np.append(segments.start_s, [start for start, _, _ in extra]),
        np.append(segments.end_s, [end for _, end, _ in extra]),
        np.append(segments.power_start_w, zeros),
        np.append(segments.power_end_w, zeros),
        np.append(segments.known, np.zeros(len(extra), dtype=bool)),
        (*segments.reasons, *(reason for _, _, reason in extra)),
    )


def _overlap(segments: _Segments, duration_s: float) -> _Overlap:
    start_s = np.clip(segments.start_s, 0.0, duration_s)
    end_s = np.clip(segments.end_s, 0.0, duration_s)
    slope = (segments.power_end_w - segments.power_start_w) / (segments.end_s - segments.start_s)
    middle_s = (start_s + end_s) / 2 - segments.start_s
    return _Overlap(start_s, end_s, (segments.power_start_w + slope * middle_s) * (end_s - start_s))


def _gaps(segments: _Segments, overlap: _Overlap, t0_ns: int) -> tuple[Gap, ...]:
    unknown = np.flatnonzero(~segments.known & (overlap.duration_s > 0))
    gaps = (
        Gap(
            t0_ns + round(float(overlap.start_s[i]) * 1e9),
            t0_ns + round(float(overlap.end_s[i]) * 1e9),
            segments.reasons[i],
        )
        for i in unknown
    )
    return tuple(sorted(gaps, key=lambda gap: gap.start_ns))


def _integrated(
    trace: Trace,
    t0_ns: int,
    t1_ns: int,
    segments: _Segments,
    overlap: _Overlap,
    coverage: float,
    gaps: tuple[Gap, ...],
) -> Energy:
    duration_s = (t1_ns - t0_ns) / 1e9
    known_j = float(overlap.energy_j[segments.known].sum())
    energy_j = known_j / coverage
    lines = _budget(trace, segments, overlap, energy_j, duration_s, coverage)
    return Energy(
        energy_j=energy_j,
        method=trace.channel.method,
        domain=trace.channel.domain,
        start_ns=t0_ns,
        end_ns=t1_ns,
        uncertainty_k2_j=_k2(lines),
        coverage=coverage,
        gaps=gaps,
        notes=_notes(trace, t0_ns, t1_ns, gaps, coverage),
        budget=lines,
    )


def _notes(trace: Trace, t0_ns: int, t1_ns: int, gaps: tuple[Gap, ...], coverage: float) -> tuple[str, ...]:
    channel = trace.channel
    notes = []
    if gaps:
        reasons = ", ".join(dict.fromkeys(gap.reason for gap in gaps))
        notes.append(f"{channel.name}: {1 - coverage:.1%} of the time in {len(gaps)} gaps ({reasons}), filled by mean")
    inside = (trace.t_ns >= t0_ns) & (trace.t_ns <= t1_ns)
    failed = int(np.count_nonzero(np.isnan(trace.value[inside])))
    if failed:
        notes.append(f"{channel.name}: {failed} of {np.count_nonzero(inside)} readings failed")
    if channel.wrap_j is not None and channel.power_w_max is not None:
        good = ~np.isnan(trace.value)
        t_ns = trace.t_ns[good]
        steps_s = (np.diff(t_ns) / 1e9)[(t_ns[:-1] < t1_ns) & (t_ns[1:] > t0_ns)]
        if np.any(steps_s > channel.wrap_j / channel.power_w_max / 2):
            notes.append(f"{channel.name}: {steps_s.max():.1f} s between readings, over half of what a wrap can take")
    return tuple(notes)


def _budget(
    trace: Trace, segments: _Segments, overlap: _Overlap, energy_j: float, duration_s: float, coverage: float
) -> tuple[BudgetLine, ...]:
    channel = trace.channel
    lines = [
        BudgetLine("gain", channel.gain_rel * abs(energy_j), common=True),
        BudgetLine("offset", channel.offset_w * duration_s, common=True),
        BudgetLine("resolution", _resolution_j(trace, segments, overlap)),
        BudgetLine("ends", _ends_j(trace, segments, overlap)),
        BudgetLine("sampling", _sampling_j(trace, segments, overlap)),
        BudgetLine("gaps", _gaps_j(segments, overlap, energy_j / duration_s, (1 - coverage) * duration_s)),
        BudgetLine("model", channel.model_rel * abs(energy_j), common=True),
    ]
    return tuple(line for line in lines if line.value_j > 0)


def _resolution_j(trace: Trace, segments: _Segments, overlap: _Overlap) -> float:
    half = trace.channel.resolution / 2 * _RECTANGULAR
    if trace.channel.kind is ValueKind.ACCUMULATOR:
        return half * math.sqrt(2)
    return float(half * np.sqrt(np.sum(np.square(overlap.duration_s[segments.known]))))


def _ends_j(trace: Trace, segments: _Segments, overlap: _Overlap) -> float:
    """How a cut segment's energy divides at the cut is not known: anything from none to all of it is possible."""
    if trace.channel.kind is ValueKind.INSTANT:
        return 0.0
    length_s = segments.end_s - segments.start_s
    cut = segments.known & (overlap.duration_s > 0) & (overlap.duration_s < length_s * (1 - 1e-9))
    whole_j = segments.power_start_w[cut] * length_s[cut]
    return float(np.sqrt(np.sum(np.square(whole_j / 2 * _RECTANGULAR))))


def _sampling_j(trace: Trace, segments: _Segments, overlap: _Overlap) -> float:
    """What instant samples may have missed between them, from how far each lies off its neighbours' mean."""
    if trace.channel.kind is not ValueKind.INSTANT:
        return 0.0
    inside = segments.known & (overlap.duration_s > 0)
    power_w = np.append(segments.power_start_w[inside], segments.power_end_w[inside][-1:])
    if len(power_w) < 3:
        return 0.0
    off_w = power_w[1:-1] - (power_w[:-2] + power_w[2:]) / 2
    return float(np.mean(overlap.duration_s[inside]) * np.sqrt(np.sum(np.square(off_w)) * 2 / 3))


def _gaps_j(segments: _Segments, overlap: _Overlap, power_mean_w: float, unknown_s: float) -> float:
    """Power in a gap is taken as anything up to the largest seen, or twice the mean if that is more."""
    if unknown_s <= 0:
        return 0.0
    inside = segments.known & (overlap.duration_s > 0)
    largest_w = float(np.max(np.maximum(segments.power_start_w[inside], segments.power_end_w[inside])))
    return unknown_s * max(largest_w - power_mean_w, abs(power_mean_w)) * _RECTANGULAR


def _k2(lines: Iterable[BudgetLine]) -> float:
    return 2 * math.sqrt(sum(line.value_j**2 for line in lines))


def _merged_lines(lines: Iterable[BudgetLine]) -> tuple[BudgetLine, ...]:
    """Lines of one name as one: a common error adds with its sign, independent ones add in squares."""
    by_name: dict[str, list[BudgetLine]] = {}
    for line in lines:
        by_name.setdefault(line.name, []).append(line)
    return tuple(
        BudgetLine(
            name,
            abs(sum(x.value_j for x in group)) if group[0].common else math.hypot(*(x.value_j for x in group)),
            group[0].common,
        )
        for name, group in by_name.items()
    )


def _sum(parts: Sequence[Energy]) -> Energy:
    first = parts[0]
    missing = [part.missing_reason for part in parts if part.missing_reason is not None]
    lines = _merged_lines(line for part in parts for line in part.budget)
    return replace(
        first,
        energy_j=None if missing else sum(part.energy_j for part in parts if part.energy_j is not None),
        uncertainty_k2_j=None if missing else _k2(lines),
        coverage=min(part.coverage for part in parts),
        gaps=tuple(sorted((gap for part in parts for gap in part.gaps), key=lambda gap: gap.start_ns)),
        notes=tuple(note for part in parts for note in part.notes),
        budget=() if missing else lines,
        missing_reason="; ".join(missing) or None,
    )


def _refused(
    trace: Trace, t0_ns: int, t1_ns: int, reason: str, coverage: float = 0.0, gaps: tuple[Gap, ...] = ()
) -> Energy:
    return Energy(
        energy_j=None,
        method=trace.channel.method,
        domain=trace.channel.domain,
        start_ns=t0_ns,
        end_ns=t1_ns,
        uncertainty_k2_j=None,
        coverage=coverage,
        gaps=gaps,
        missing_reason=f"{trace.channel.name}: {reason}",
    )
