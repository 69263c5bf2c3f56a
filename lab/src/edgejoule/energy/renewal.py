"""How often a device renews the value that is polled.

A device polled faster than that gives runs of identical values. They resemble many readings that agree, and what was
missed between two renewals looks far smaller than it is. The period is estimated from the times of the changes:
they lie a whole number of periods apart, each known to within the poll before it. A power that is constant, or moves
by single steps of a coarse resolution, changes at irregular times, and no period is reported (docs/adr/012).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from edgejoule.energy.readings import Readings
from edgejoule.meters.trace import Trace

_LOOKS = (1_000, 20_000)  # readings that are examined: the period is the device's and does not change
_EACH_POLL_SHARE = 0.6  # of the polls give another value: then each poll is a separate reading
_GAPS_MIN = 10  # fewer may be regular by chance
_POLLS_MIN = 1.9  # a period shorter than two polls cannot be distinguished from values that happen to be equal
_PERIODS_MAX = 3.5  # a longer gap between changes adds nothing: the power was steady
_JITTER_REL = 0.1  # of a device's own period
_BEATS = 3.0  # how far the scatter of the changes may lie above what polling makes: polls may beat with the period
_RANDOM_SHARE = 0.72  # and how far below that of gaps that follow no period at all, which
_RANDOM_SPREAD = 2.3  # of n gaps is by chance this over root n smaller, once in a hundred times

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Renewal:
    """The value is renewed every period_s and polled every poll_s."""

    period_s: float
    poll_s: float

    @property
    def description(self) -> str:
        """For people."""
        return (
            f"the value is renewed every {self.period_s:.3g} s and polled every {self.poll_s:.3g} s: "
            "one sample per renewal counts"
        )


def renewal_at_start(readings: Readings) -> Renewal | None:
    """As renewal_of, from the first readings: few where the value changes from poll to poll, else more."""
    for count in _LOOKS:
        trace = readings.excerpt(count)
        value = trace.value[~np.isnan(trace.value)]
        if np.count_nonzero(np.diff(value)) > _EACH_POLL_SHARE * len(value):
            return None
    return renewal_of(trace)


def renewal_of(trace: Trace) -> Renewal | None:
    """The period with which the trace's value is renewed; None where each poll may be a separate reading."""
    good = ~np.isnan(trace.value)
    time_s, value = (trace.t_ns[good] - trace.t_ns[:1]) / 1e9, trace.value[good]
    changed = np.flatnonzero(np.diff(value)) + 1
    if len(changed) <= _GAPS_MIN or _single_steps(np.abs(np.diff(value)[changed - 1]), trace.channel.resolution):
        return None
    poll_s = np.diff(time_s)
    usual_s = float(np.median(poll_s))
    known_s = poll_s[changed - 1]
    gap_s, blur_s2 = np.diff(time_s[changed]), (known_s[1:] ** 2 + known_s[:-1] ** 2) / 12
    timely = np.maximum(known_s[1:], known_s[:-1]) <= 3 * usual_s
    period_s = _period_s(gap_s[timely], blur_s2[timely])
    return Renewal(period_s, usual_s) if period_s is not None and period_s >= _POLLS_MIN * usual_s else None


def at_renewals(trace: Trace, renewal: Renewal) -> Trace:
    """One reading for each renewal: the first of every run of identical values, and in a longer run one per period.

    Failed readings stay.
    """
    good = np.flatnonzero(~np.isnan(trace.value))
    if not len(good):
        return trace
    kept = np.isnan(trace.value)
    kept[good] = _first_of_each(trace.t_ns[good] / 1e9, trace.value[good], renewal.period_s)
    index = np.flatnonzero(kept)
    reasons = {i: trace.reasons[j] for i, j in enumerate(index.tolist()) if j in trace.reasons}
    return replace(
        trace, t_ns=trace.t_ns[index], value=trace.value[index], interval_s=renewal.period_s, reasons=reasons
    )


def _first_of_each(time_s: _Floats, value: _Floats, period_s: float) -> NDArray[np.bool_]:
    """Which readings are the first of a renewal: a run of identical values is cut into as many as it lasts periods."""
    begins = np.flatnonzero(np.diff(value, prepend=np.nan) != 0)
    begin_s = time_s[begins]
    length_s = np.diff(begin_s, append=time_s[-1] + period_s / 2)
    count = np.maximum(1, np.rint(length_s / period_s))
    run = np.searchsorted(begins, np.arange(len(value)), "right") - 1
    part = np.floor((time_s - begin_s[run]) / length_s[run] * count[run] + 1e-6)
    first: NDArray[np.bool_] = (np.diff(run, prepend=-1) != 0) | (np.diff(part, prepend=-1) != 0)
    return first


def _single_steps(step: _Floats, resolution: float) -> bool:
    """Nearly all changes are as small as a change can be: rounding says when they happen, not the device."""
    return bool(np.quantile(step, 0.9) <= 1.5 * max(resolution, float(step.min())))


def _period_s(gap_s: _Floats, blur_s2: _Floats) -> float | None:
    """The longest period all gaps are multiples of, as far as they are known; None without such a period."""
    if len(gap_s) < _GAPS_MIN:
        return None
    starts = [*np.quantile(gap_s, (0.1, 0.25, 0.5, 0.75)).tolist(), float(gap_s.mean())]
    return max((p for start in starts if (p := _fitted_s(gap_s, blur_s2, start)) is not None), default=None)


def _fitted_s(gap_s: _Floats, blur_s2: _Floats, start_s: float) -> float | None:
    """A period near start_s that the gaps follow."""
    period_s = start_s
    for _ in range(3):
        near = gap_s <= _PERIODS_MAX * period_s
        count = np.maximum(1, np.rint(gap_s[near] / period_s))
        period_s = float(gap_s[near].sum() / count.sum())
    near = gap_s <= _PERIODS_MAX * period_s
    if np.count_nonzero(near) < max(_GAPS_MIN, len(gap_s) / 2):
        return None
    off_s = gap_s[near] - np.rint(gap_s[near] / period_s) * period_s
    polled_s2 = _BEATS * float(blur_s2[near].mean()) + (_JITTER_REL * period_s) ** 2
    random_s2 = period_s**2 / 12 * min(_RANDOM_SHARE, 1 - _RANDOM_SPREAD / math.sqrt(len(off_s)))
    return period_s if float(np.mean(off_s**2)) <= min(polled_s2, random_s2) else None
