"""A marker in a power trace: plays a short known pattern of CPU load and searches the trace for it.

The pattern is the maximum length sequence of 15 chips (x^4 + x + 1; Golomb, "Shift Register Sequences", 1967): it
resembles no shifted copy of itself, so the best place stands out. A chip lasts 107 ms, a length that no usual sampling
interval divides, so that even instants at 10 Hz sample different places within the chips.

The detection fits power = base + step x pattern(t - shift) at every shift: the correlation coefficient of power and
pattern is the fit's quality, and the shifts whose squared residuals are within k=2 of the best give the uncertainty.
The marker counts as visible only when a correlation as high is less likely than `FALSE_ALARM` to come from chance at
any of the shifts tried, with one degree of freedom per chip of the sequence: a computer's power comes in bursts and not
as noise, so that more samples, or more quiet around the marker, are not as much more evidence.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from edgejoule.energy import Readings
from edgejoule.errors import DataError
from edgejoule.machine.burner import Burners
from edgejoule.meters.base import ValueKind
from edgejoule.meters.trace import Trace

CHIP_S = 0.107
CHIPS = (1, 1, 1, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 0)
QUIET_CHIPS = 5  # quiet before and after, part of the pattern
FALSE_ALARM = 1e-3
EDGE_S = 0.002  # half width of an edge in the power: scheduler, regulator and capacitors of the supply delay it
INTERVAL_S_MAX = 0.11  # between samples; slower than a chip shows no pattern
QUIET_S = QUIET_CHIPS * CHIP_S
BURST_S = len(CHIPS) * CHIP_S + 2 * QUIET_S  # total duration of a marker
REST_S = 2.0  # minimum before idle power is checked: a burst leaves heat, and high CPU clocks for tenths of a second
SEARCH_S = 2.0
COARSE_S = 0.01
FINE_S = 0.001
_BIN_S = CHIP_S / 3
_CHUNK = 100

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Marker:
    """The intervals in which all CPUs were busy, ns on the host's CLOCK_MONOTONIC."""

    busy_ns: tuple[tuple[int, int], ...]

    @property
    def start_ns(self) -> int:
        """Returns the time of the first rise."""
        return self.busy_ns[0][0]

    @property
    def end_ns(self) -> int:
        """Returns the time of the last fall."""
        return self.busy_ns[-1][1]


@dataclass(frozen=True)
class Sighting:
    """The place of a marker in a trace.

    shift_s: the trace's time minus the host's, None exactly when missing_reason says why. uncertainty_s: standard
    (k=1). correlation: of power and pattern at the best shift; correlation_min: below it, not visible.
    step_w: by how much the marker raised the power.
    """

    shift_s: float | None
    uncertainty_s: float | None
    correlation: float
    correlation_min: float
    step_w: float
    missing_reason: str | None = None


def pattern_ns(start_ns: int) -> list[tuple[int, int]]:
    """Returns the busy intervals of a marker that begins at start_ns: neighbouring chips are one interval."""
    edges = np.diff([0, *CHIPS, 0])
    rises, falls = np.flatnonzero(edges > 0).tolist(), np.flatnonzero(edges < 0).tolist()
    at_ns = [start_ns + round(i * CHIP_S * 1e9) for i in range(len(CHIPS) + 1)]
    return [(at_ns[rise], at_ns[fall]) for rise, fall in zip(rises, falls, strict=True)]


def burst(burners: Burners | None = None) -> Marker:
    """Make the marker on all CPUs, with quiet before and after; takes about 2.8 s.

    Returns when the CPUs really were busy (the median over processes). Raises DataError when other programs kept
    them from it.
    """
    if burners is None:
        with Burners(os.cpu_count() or 1) as own:
            return burst(own)
    quiet_ns = round(QUIET_S * 1e9)
    planned = pattern_ns(time.monotonic_ns() + quiet_ns)
    burners.intervals(planned)
    done = np.array(burners.collect())
    time.sleep(quiet_ns / 1e9)
    edges = np.rint(np.median(done, axis=0)).astype(np.int64)
    late_s = float(np.max(np.abs(edges - np.array(planned)))) / 1e9
    if late_s > CHIP_S / 2:
        raise DataError(f"the marker was {late_s * 1e3:.0f} ms off its pattern: other programs hold the CPUs")
    return Marker(tuple((int(on), int(off)) for on, off in edges))


def sight(trace: Trace, marker: Marker, search_s: float = 5.0, about_s: float = 0.0) -> Sighting:
    """Searches the marker at shifts within about_s +- search_s of the trace's times against the marker's.

    trace: its times are what they are, on whatever clock; energies of an accumulator are differenced. A trace too slow
    or too gappy gives a Sighting without a shift.
    """
    if trace.interval_s > INTERVAL_S_MAX:
        return _unseen(f"{trace.interval_s:g} s between samples, the marker's chips last {CHIP_S} s")
    pattern = _Pattern.of(marker)
    margin_s = pattern.length_s + 2 * QUIET_S
    view = _View.of(*_spans(trace, marker.start_ns)).between(
        about_s - search_s - QUIET_S, about_s + search_s + margin_s
    )
    if len(view.power_w) < len(CHIPS):
        return _unseen("the trace does not cover the marker's time")
    coarse = _fits(view.coarse(), pattern, about_s + np.arange(-search_s, search_s + COARSE_S, COARSE_S))
    best_s = coarse.shift_s[int(np.argmax(coarse.correlation))]
    near_s = best_s + np.arange(-CHIP_S, CHIP_S + FINE_S / 2, FINE_S)
    seen_s = view.between(float(near_s[0]) - QUIET_S, float(near_s[-1]) + margin_s)
    return _judged(_fits(seen_s, pattern, near_s), search_s)


@dataclass(frozen=True)
class _Pattern:
    """Busy share as a function of time: its integral is linear between edges. Times in s from the first rise."""

    edge_s: _Floats
    busy_s: _Floats  # integral up to each edge

    @classmethod
    def of(cls, marker: Marker) -> _Pattern:
        edge_s = (np.array(marker.busy_ns, dtype=np.int64).ravel() - marker.start_ns) / 1e9
        lengths = np.where(np.arange(len(edge_s) - 1) % 2 == 0, np.diff(edge_s), 0.0)
        return cls(edge_s, np.concatenate([[0.0], np.cumsum(lengths)]))

    def share(self, begin_s: _Floats, end_s: _Floats) -> _Floats:
        """Returns the mean busy share over each span."""
        busy_s = np.interp(end_s, self.edge_s, self.busy_s) - np.interp(begin_s, self.edge_s, self.busy_s)
        return np.asarray(busy_s / (end_s - begin_s), np.float64)

    @property
    def length_s(self) -> float:
        return float(self.edge_s[-1])


@dataclass(frozen=True)
class _View:
    """Samples: begin and end of each in s from the marker's start, and its mean power in W.

    first: where each group of samples begins that is taken as one, because computers' power (and its noise) changes
    more slowly than these samples come.
    """

    begin_s: _Floats
    end_s: _Floats
    power_w: _Floats
    first: NDArray[np.int64]

    @classmethod
    def of(cls, begin_s: _Floats, end_s: _Floats, power_w: _Floats) -> _View:
        number = np.floor((begin_s + end_s) / 2 / _BIN_S)
        return cls(begin_s, end_s, power_w, np.flatnonzero(np.diff(number, prepend=-np.inf)))

    def between(self, low_s: float, high_s: float) -> _View:
        inside = (self.begin_s > low_s) & (self.end_s < high_s)
        return self.of(self.begin_s[inside], self.end_s[inside], self.power_w[inside])

    def mean(self, values: _Floats) -> _Floats:
        """Returns the means over the groups, along the last axis."""
        count = np.diff(np.append(self.first, len(self.power_w)))
        return np.asarray(np.add.reduceat(values, self.first, axis=-1) / count, np.float64)

    def coarse(self) -> _View:
        """Returns the groups as samples: hundreds of times cheaper where samples come fast, and off by less than a
        group."""
        last = np.append(self.first[1:], len(self.power_w)) - 1
        return self.of(self.begin_s[self.first], self.end_s[last], self.mean(self.power_w))


@dataclass(frozen=True)
class _Fits:
    """Per shift: groups of samples, correlation, step in W and sum of squared residuals in W^2."""

    shift_s: _Floats
    samples: NDArray[np.int64]
    correlation: _Floats
    step_w: _Floats
    residual_w2: _Floats


def _spans(trace: Trace, origin_ns: int) -> tuple[_Floats, _Floats, _Floats]:
    """Returns begin, end and power of every good value. An instant has a width that only keeps the arithmetic
    regular."""
    good = ~np.isnan(trace.value)
    time_s, value = (trace.t_ns[good] - origin_ns) / 1e9, trace.value[good]
    kind = trace.channel.kind
    if kind is ValueKind.INSTANT:
        return time_s - 5e-5, time_s + 5e-5, value
    steps_s = np.diff(time_s)
    near = steps_s < 3 * trace.interval_s
    if kind is ValueKind.INTERVAL_MEAN:
        return time_s[:-1][near], time_s[1:][near], value[1:][near]
    steps_j = np.diff(value)
    if trace.channel.wrap_j is not None:
        steps_j = np.where(steps_j < 0, steps_j + trace.channel.wrap_j, steps_j)
    return time_s[:-1][near], time_s[1:][near], (steps_j / steps_s)[near]


def _fits(view: _View, pattern: _Pattern, shifts: _Floats) -> _Fits:
    """Fits a straight line of power over busy share at every shift, over the samples in view."""
    pieces = [_fits_of_some(view, pattern, shifts[i : i + _CHUNK]) for i in range(0, len(shifts), _CHUNK)]
    return _Fits(shifts, *(np.concatenate(column) for column in zip(*pieces, strict=True)))


def _fits_of_some(
    whole: _View, pattern: _Pattern, shifts: _Floats
) -> tuple[NDArray[np.int64], _Floats, _Floats, _Floats]:
    length_s = pattern.length_s + 2 * QUIET_S
    view = whole.between(float(shifts[0]) - QUIET_S - _BIN_S, float(shifts[-1]) - QUIET_S + length_s + _BIN_S)
    if not len(view.power_w):
        nothing = np.zeros(len(shifts))
        return nothing.astype(np.int64), nothing, nothing, nothing + np.inf
    share = view.mean(pattern.share(view.begin_s[None] - shifts[:, None], view.end_s[None] - shifts[:, None]))
    at_s = view.mean((view.begin_s + view.end_s) / 2)[None] - shifts[:, None] + QUIET_S
    inside = (at_s >= 0) & (at_s <= length_s)
    samples = inside.sum(axis=1)
    x = _centred(share, inside, samples)
    y = _centred(np.broadcast_to(view.mean(view.power_w), share.shape), inside, samples)
    sxx, syy, sxy = (x * x).sum(axis=1), (y * y).sum(axis=1), (x * y).sum(axis=1)
    usual = length_s / max(float(np.median(np.diff(at_s[0]))), _BIN_S / 2) if len(at_s[0]) > 1 else np.inf
    good = (samples >= max(len(CHIPS), 0.8 * usual)) & (sxx > 0) & (syy > 0)
    correlation = np.divide(sxy, np.sqrt(sxx * syy), out=np.zeros_like(sxy), where=good)
    step_w = np.divide(sxy, sxx, out=np.zeros_like(sxy), where=good)
    return np.where(good, samples, 0), correlation, step_w, np.where(good, syy * (1 - correlation**2), np.inf)


def _centred(values: _Floats, inside: NDArray[np.bool_], samples: NDArray[np.int64]) -> _Floats:
    """Returns the values in view minus their mean, and 0 outside."""
    mean = np.where(inside, values, 0.0).sum(axis=1) / np.maximum(samples, 1)
    return np.where(inside, values - mean[:, None], 0.0)


def _judged(fits: _Fits, search_s: float) -> Sighting:
    best = int(np.argmax(fits.correlation))
    correlation, step_w = float(fits.correlation[best]), float(fits.step_w[best])
    if not fits.samples[best]:
        return _unseen("the trace does not cover the marker's time")
    needed = correlation_min(search_s, int(fits.samples[best]))
    if correlation < needed:
        return Sighting(
            None, None, correlation, needed, step_w,
            f"the marker is not visible: correlation {correlation:.2f} at best, {needed:.2f} is needed",
        )  # fmt: skip
    noise_w2 = fits.residual_w2[best] / (fits.samples[best] - 3)
    # sums of squares at different shifts are comparable only for equal numbers of samples
    level = fits.residual_w2 * fits.samples[best] / np.maximum(fits.samples, 1)
    likely_s = fits.shift_s[level <= level[best] + 4 * noise_w2 + 1e-9 * step_w**2]
    half_s = float(likely_s[-1] - likely_s[0] + FINE_S) / 2
    shift_s = float(likely_s[0] + likely_s[-1]) / 2
    return Sighting(shift_s, math.hypot(half_s, EDGE_S) / math.sqrt(3), correlation, needed, step_w)


def correlation_min(search_s: float, samples: int) -> float:
    """Returns the minimum correlation of a visible marker, with four tries per chip of the search."""
    return correlation_of_chance(max(1.0, 8 * search_s / CHIP_S), min(samples, len(CHIPS)) - 2)


def correlation_of_chance(tries: float, freedom: int) -> float:
    """Returns the correlation that chance reaches in fewer than FALSE_ALARM of so many tries: Student's t of a
    correlation coefficient."""
    t = -float(special.stdtrit(freedom, FALSE_ALARM / tries))
    return t / math.sqrt(freedom + t * t)


def _unseen(reason: str) -> Sighting:
    return Sighting(None, None, 0.0, 1.0, 0.0, f"the marker is not visible: {reason}")


@dataclass(frozen=True)
class ClockCheck:
    """Compares a trace's times with the host's. relation_s: standard uncertainty (k=1) that the clock relation states.

    agrees: the shift lies within the k=2 of both; None where the marker is not visible.
    """

    sighting: Sighting
    relation_s: float

    @property
    def agrees(self) -> bool | None:
        """Returns whether the shift lies within the k=2 of both; None if the marker is not visible."""
        if self.sighting.shift_s is None or self.sighting.uncertainty_s is None:
            return None
        return abs(self.sighting.shift_s) <= 2 * math.hypot(self.sighting.uncertainty_s, self.relation_s)

    @property
    def description(self) -> str:
        """Describes the check in one sentence."""
        seen = relation_text([self.sighting])
        if self.agrees is None:
            return seen
        stated = f"the clock relation states ±{2e3 * self.relation_s:.1f} ms"
        return f"{seen}; {stated}: {'they agree' if self.agrees else 'they do NOT agree'}"


def check(readings: Readings, marker: Marker, search_s: float = SEARCH_S) -> ClockCheck:
    """Compare where the marker is in a trace with where its clock relation puts it.

    Raises DataError when the trace's clock cannot be tied to the host's at all.
    """
    placed, relation = readings.on_host_clock()
    stated_s = 0.0 if relation is None else relation.uncertainty_s(marker.start_ns)
    around_ns = round((search_s + 2 * QUIET_S) * 1e9)
    near = placed.between(marker.start_ns - around_ns, marker.end_ns + around_ns)
    return ClockCheck(sight(near, marker, search_s), stated_s)


def relation_text(sightings: Sequence[Sighting]) -> str:
    """Describes in one sentence what the sightings of a run show about the clock relation."""
    seen = [s for s in sightings if s.shift_s is not None]
    if not seen:
        reasons = "; ".join(dict.fromkeys(s.missing_reason or "" for s in sightings))
        return f"the clocks could not be checked: {reasons}"
    parts = ", ".join(f"{(s.shift_s or 0) * 1e3:+.1f} ms ± {2 * (s.uncertainty_s or 0) * 1e3:.1f} ms" for s in seen)
    return f"{len(seen)} of {len(sightings)} markers seen, shifted by {parts} (k=2)"
