"""A power recording made elsewhere while the stages ran: a CSV file, tied to this host's clock.

Two marker bursts around the stages tie it within milliseconds where it has ten samples a second. A slower one, as USB
testers log, is tied by the stages themselves: in their shuffled order only one shift makes power rise with utilisation.
That is good to a part of the time that each stage settles unobserved, which is all that it needs to be.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgejoule.calibrate.drive import StageRun
from edgejoule.errors import DataError, UsageError
from edgejoule.marker import Marker, Sighting, correlation_of_chance, relation_words, sight
from edgejoule.meters.base import Channel, Domain, Method, ValueKind
from edgejoule.meters.clocks import DRIFT_MAX
from edgejoule.meters.trace import Trace

STAGE_SHARE_MAX = 0.25  # of a stage, between two samples
_Floats = NDArray[np.float64]

UNITS_NS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}


@dataclass(frozen=True)
class Columns:
    """Where a file has time and power. time_unit: a key of UNITS_NS; power in W."""

    time: str
    power: str
    time_unit: str = "s"


@dataclass(frozen=True)
class Recorder:
    """What recorded: its accuracy (k=1) and what it covered."""

    gain_rel: float
    offset_w: float
    domain: Domain
    kind: ValueKind = ValueKind.INSTANT


def read_recording(path: Path, columns: Columns, recorder: Recorder) -> Trace:
    """The file as a trace on its own clock. An empty or wrong power is a missing reading; a wrong time is refused.

    Raises UsageError for a file that cannot be read or lacks a column, DataError for times that do not increase.
    """
    time_ns, power_w, reasons = _rows(path, columns)
    if len(time_ns) < 2:
        raise DataError(f"{path}: {len(time_ns)} rows, a recording has more")
    steps = np.diff(time_ns)
    if np.any(steps <= 0):
        row = int(np.flatnonzero(steps <= 0)[0]) + 3
        raise DataError(f"{path}: line {row}: the time is not after the one before it")
    channel = Channel(
        meter=path.name, name=columns.power, domain=recorder.domain, kind=recorder.kind, method=Method.MEASURED,
        gain_rel=recorder.gain_rel, offset_w=recorder.offset_w, resolution=0.0,
    )  # fmt: skip
    return Trace(channel, time_ns, power_w, float(np.median(steps)) / 1e9, reasons)


def on_this_clock(recording: Trace, markers: Sequence[Marker]) -> tuple[Trace, list[Sighting]]:
    """The recording with this host's times. A marker is looked for all over it; whether it is the first or the last,
    the other one tells, which is where crystals let it be. Raises DataError when either is not visible.
    """
    first, last = markers[0], markers[-1]
    t_ns = recording.t_ns
    middle_s = ((int(t_ns[0]) + int(t_ns[-1])) / 2 - first.start_ns) / 1e9
    any_one = sight(recording, first, float(t_ns[-1] - t_ns[0]) / 2e9 + 1, middle_s)
    if any_one.shift_s is None:
        raise DataError(f"the recording cannot be tied to the stages: {any_one.missing_reason}")
    apart_s = (last.start_ns - first.start_ns) / 1e9
    search_s = 0.1 + DRIFT_MAX * apart_s
    for about_s in (any_one.shift_s, any_one.shift_s - apart_s):
        begin, end = (sight(recording, marker, search_s, about_s) for marker in (first, last))
        if begin.shift_s is not None and end.shift_s is not None:
            drift = (end.shift_s - begin.shift_s) / apart_s
            since_ns = t_ns - first.start_ns - round(begin.shift_s * 1e9)
            moved = first.start_ns + np.rint(since_ns / (1 + drift)).astype(np.int64)
            return replace(recording, t_ns=moved), [begin, end]
    raise DataError("the recording shows one marker burst; it must last from before the first stage to after the last")


@dataclass(frozen=True)
class Placed:
    """A recording with this host's times, and how it came by them."""

    trace: Trace
    words: str


def placed(recording: Trace, markers: Sequence[Marker], runs: Sequence[StageRun]) -> Placed:
    """By the markers, else by the stages. Raises DataError when neither will do."""
    try:
        trace, sightings = on_this_clock(recording, markers)
        return Placed(trace, relation_words(sightings))
    except DataError as error:
        try:
            return by_stages(recording, runs)
        except DataError as other:
            raise DataError(f"{error}; {other}") from other


def by_stages(recording: Trace, runs: Sequence[StageRun]) -> Placed:
    """Shift the recording to where its power follows the stages' utilisation best; the middle of all such places.

    Raises DataError when the recording is too short or too slow for the stages, and when no shift stands out from what
    chance gives (Student's t of a correlation, with a degree of freedom per stage).
    """
    origin_ns = runs[0].start_ns
    good = ~np.isnan(recording.value)
    time_s, power_w = (recording.t_ns[good] - origin_ns) / 1e9, recording.value[good]
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
    return Placed(replace(recording, t_ns=moved), f"tied to the stages by their own powers, correlation {best:.3f}")


def _follows(time_s: _Floats, power_w: _Floats, begin_s: _Floats, end_s: _Floats, use: _Floats) -> float:
    """Correlation of power with utilisation over the samples inside stages; 0 where it has no meaning."""
    stage = np.searchsorted(begin_s, time_s, side="right") - 1
    inside = (stage >= 0) & (time_s < end_s[np.maximum(stage, 0)])
    x, y = use[stage[inside]], power_w[inside]
    if len(x) < len(use) or not (np.ptp(x) > 0 and np.ptp(y) > 0):
        return 0.0
    return float(np.corrcoef(x, y)[0, 1])


def _rows(path: Path, columns: Columns) -> tuple[NDArray[np.int64], NDArray[np.float64], dict[int, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            for wanted in (columns.time, columns.power):
                if wanted not in (reader.fieldnames or ()):
                    there = ", ".join(reader.fieldnames or ()) or "none"
                    raise UsageError(f"{path}: no column {wanted!r}; there are: {there}")
            rows = [(row[columns.time], row[columns.power]) for row in reader]
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path}: not a CSV file: {error}") from error
    time_ns, power_w, reasons = [], [], {}
    for number, (time_text, power_text) in enumerate(rows):
        time_ns.append(_time_ns(path, number + 2, time_text, UNITS_NS[columns.time_unit]))
        power_w.append(_power_w(power_text))
        if math.isnan(power_w[-1]):
            reasons[number] = f"{power_text!r} in line {number + 2} is no power"
    return np.array(time_ns, np.int64), np.array(power_w, np.float64), reasons


def _time_ns(path: Path, line: int, text: str | None, unit_ns: float) -> int:
    try:
        # not float: seconds since 1970 with nine decimals do not fit
        return round(Decimal((text or "").strip()) * Decimal(unit_ns))
    except (InvalidOperation, ValueError, OverflowError) as error:
        raise DataError(f"{path}: line {line}: expected a number as time, found {text!r}") from error


def _power_w(text: str | None) -> float:
    try:
        value = float(text or "")
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan
