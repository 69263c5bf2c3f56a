"""What was recorded as a trace, with the accuracy that its user states for the recorder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgejoule.meters.base import Channel, Domain, Method, ValueKind
from edgejoule.meters.plugins.imported.read import Recorded
from edgejoule.meters.trace import Trace

METER = "trace"


@dataclass(frozen=True)
class Recorder:
    """The instrument behind a file: gain_rel and offset_w at k=1, its coverage, the meaning of a power.

    interval_s: between readings, None: the median of what the file has.
    """

    gain_rel: float
    offset_w: float
    domain: Domain = Domain.BOARD
    mean: bool = False
    interval_s: float | None = None


def trace_of(recorded: Recorded, recorder: Recorder, begin_ns: int = 0) -> Trace:
    """The trace, its first reading at begin_ns of the clock that the caller means."""
    mean = ValueKind.INTERVAL_MEAN if recorder.mean or recorded.mapping.mean else ValueKind.INSTANT
    channel = Channel(
        meter=METER,
        name="energy" if recorded.is_energy else "power",
        domain=recorder.domain,
        kind=ValueKind.ACCUMULATOR if recorded.is_energy else mean,
        method=Method.MEASURED,
        gain_rel=recorder.gain_rel,
        offset_w=recorder.offset_w,
        resolution=0.0,
    )
    interval_s = recorder.interval_s or float(np.median(np.diff(recorded.t_ns))) / 1e9
    return Trace(channel, recorded.t_ns + begin_ns, recorded.value, interval_s, recorded.reasons)
