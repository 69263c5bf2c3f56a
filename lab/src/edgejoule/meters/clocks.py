"""The device's clock against the host's: offset and drift from arrivals.

A reading taken at the device's time d arrives at the host's time h = a + b d + delay, delay >= 0. The line below all
arrivals that lies closest to them has the drift b and the offset a plus the shortest delay (Moon, Skelly, Towsley,
"Estimation and removal of clock skew from network delay measurements", INFOCOM 1999, section III). What the shortest
delay is cannot be seen from arrivals: it is between 0 and what the transport allows, and counts as uncertainty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgejoule.errors import DataError

DRIFT_MAX = 500e-6  # crystals are within 100 ppm, ceramic resonators within 5000: above this the times are wrong
DRIFT_UNKNOWN = 100e-6  # half width while arrivals are too few or too close together for an estimate
_STRETCHES = 1000
_RECTANGULAR = 1 / math.sqrt(3)


@dataclass(frozen=True, eq=False)
class Arrivals:
    """When readings arrived: the device's time of each block's newest reading, and the host's time of arrival. ns."""

    device_ns: NDArray[np.int64]
    host_ns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.device_ns)


@dataclass(frozen=True)
class ClockRelation:
    """host = host_ns + (1 + drift) (device - device_ns); the two origins are a pair in the middle of the arrivals.

    offset_s: standard uncertainty (k=1) of the time at the origin. drift_u: of the drift, relative.
    """

    device_ns: int
    host_ns: int
    drift: float
    offset_s: float
    drift_u: float

    def to_host_ns(self, device_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Times of the device as times of the host."""
        elapsed: NDArray[np.int64] = device_ns - self.device_ns
        gained: NDArray[np.int64] = np.rint(elapsed * self.drift).astype(np.int64)
        return elapsed + gained + self.host_ns

    def to_device_ns(self, host_ns: int) -> int:
        """A time of the host as a time of the device."""
        return self.device_ns + round((host_ns - self.host_ns) / (1 + self.drift))

    def uncertainty_s(self, host_ns: int) -> float:
        """Standard uncertainty (k=1) of a converted time around host_ns."""
        return math.hypot(self.offset_s, self.drift_u * (host_ns - self.host_ns) / 1e9)


def clock_relation(arrivals: Arrivals, delay_s_max: float) -> ClockRelation:
    """Offset and drift from arrivals. delay_s_max: see Channel.

    Raises DataError without an arrival, and when the clocks drift apart by more than any crystal does: then the device
    has restarted or its times are wrong.
    """
    if not len(arrivals):
        raise DataError("the device's clock cannot be tied to the host's: nothing has arrived")
    middle = len(arrivals) // 2
    device_origin, host_origin = int(arrivals.device_ns[middle]), int(arrivals.host_ns[middle])
    device_s = (arrivals.device_ns - device_origin) / 1e9
    late_s = (arrivals.host_ns - host_origin) / 1e9 - device_s
    if len(device_s) > 2 * _STRETCHES:
        device_s, late_s = _earliest(device_s, late_s)
    drift, drift_u = _drift(device_s, late_s)
    above_s = late_s - drift * device_s
    shortest_s = float(above_s.min())
    # The shortest delay lies between 0 and delay_s_max: its middle is taken off, its half width is not known.
    host_ns = host_origin + round((shortest_s - delay_s_max / 2) * 1e9)
    return ClockRelation(device_origin, host_ns, drift, delay_s_max / 2 * _RECTANGULAR, drift_u)


def _earliest(device_s: NDArray[np.float64], late_s: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Of every stretch of time the arrival that was the least late: the others cannot lie on the line below."""
    stretch = np.minimum((device_s - device_s[0]) / (device_s[-1] - device_s[0]) * _STRETCHES, _STRETCHES - 1).astype(
        int
    )
    order = np.lexsort((late_s, stretch))
    first = order[np.flatnonzero(np.diff(stretch[order], prepend=-1))]
    return device_s[first], late_s[first]


def _drift(device_s: NDArray[np.float64], late_s: NDArray[np.float64]) -> tuple[float, float]:
    """Drift and its standard uncertainty, both relative."""
    span_s = float(device_s[-1] - device_s[0])
    if len(device_s) < 3 or span_s <= 0:
        return 0.0, DRIFT_UNKNOWN * _RECTANGULAR
    drift = _lower_slope(device_s, late_s)
    jitter_s = float(np.quantile(late_s - drift * device_s, 0.25) - (late_s - drift * device_s).min())
    drift_u = 2 * jitter_s / span_s  # each end of the line may rest on an arrival that was late by about this
    if drift_u * math.sqrt(3) > DRIFT_UNKNOWN:  # a crystal is better known than these arrivals show
        return 0.0, DRIFT_UNKNOWN * _RECTANGULAR
    if abs(drift) > DRIFT_MAX:
        raise DataError(
            f"the device's clock runs {drift * 1e6:+.0f} ppm off the host's, no crystal does: it was reset?"
        )
    return drift, drift_u


def _lower_slope(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Slope of the edge of the lower convex hull that lies below the mean of x: the closest line below all points."""
    hull: list[int] = []
    for i in range(len(x)):
        while len(hull) >= 2 and _turns_down(x, y, hull[-2], hull[-1], i):
            hull.pop()
        hull.append(i)
    corner = int(np.searchsorted(x[hull], x.mean(), side="left"))
    left, right = hull[max(0, corner - 1)], hull[max(1, corner)]
    return float((y[right] - y[left]) / (x[right] - x[left]))


def _turns_down(x: NDArray[np.float64], y: NDArray[np.float64], a: int, b: int, c: int) -> bool:
    return bool((y[b] - y[a]) * (x[c] - x[a]) >= (y[c] - y[a]) * (x[b] - x[a]))
