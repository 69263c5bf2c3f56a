"""The meter contract: what a plug-in does, what it yields, and how it declines.

A meter takes its transport (a sysfs root, a serial port, a socket) as an argument, so a test emulates the
instrument and production code has no test branches. All times are ns on CLOCK_MONOTONIC unless the channel's clock
says otherwise. Values are W or J. A failed reading is a Sample with value None and a reason, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from edgejoule.errors import MeterError


class Method(StrEnum):
    """Where a joule comes from. A modelled joule is never shown as a measured one."""

    MEASURED = "measured"  # a meter on the board, a rail or the wall
    COUNTED = "counted"  # a processor's own counters: RAPL and the like
    MODELLED = "modelled"  # a board's power model fed with utilisation


class Domain(StrEnum):
    """What a channel covers. Domains of different kinds are never summed."""

    PACKAGE = "package"
    CORE = "core"
    UNCORE = "uncore"
    DRAM = "dram"
    PSYS = "psys"
    RAIL = "rail"
    BOARD = "board"
    WALL = "wall"


class ValueKind(StrEnum):
    """What a value is."""

    INSTANT = "instant"  # power at t_ns
    INTERVAL_MEAN = "interval_mean"  # mean power from the previous sample to t_ns
    ACCUMULATOR = "accumulator"  # running energy total at t_ns


class Clock(StrEnum):
    """Whose clock a time is on."""

    HOST_MONOTONIC = "host_monotonic"
    DEVICE = "device"


@dataclass(frozen=True)
class Channel:
    """One quantity of one meter.

    gain_rel: standard uncertainty (k=1) of the gain, relative; common mode over runs on the same meter.
    offset_w: standard uncertainty (k=1) of the offset, in W.
    resolution: smallest step of a value, in the channel's unit.
    wrap_j: an accumulator's modulus in J, None if it does not wrap.
    power_w_max: no true value exceeds it, in W; separates wraps from resets and bounds the time between polls. None:
    no bound known.
    model_rel: a modelled channel's prediction error (k=1), relative; 0 for a meter.
    interval_s: intended time between readings where the device sets it (a stream), None where each poll is a reading.
    delay_s_max: a channel on the device's clock: the longest that even the fastest arrival can take from the reading to
    the host (buffers of device and bus); an uncertainty of the time that no number of arrivals makes smaller.
    """

    meter: str
    name: str
    domain: Domain
    kind: ValueKind
    method: Method
    gain_rel: float
    offset_w: float
    resolution: float
    wrap_j: float | None = None
    clock: Clock = Clock.HOST_MONOTONIC
    power_w_max: float | None = None
    model_rel: float = 0.0
    interval_s: float | None = None
    delay_s_max: float = 0.0

    @property
    def unit(self) -> str:
        """J for a running total, W for power."""
        return "J" if self.kind is ValueKind.ACCUMULATOR else "W"


@dataclass(frozen=True)
class Sample:
    """One reading. value is None exactly when missing_reason gives the reason."""

    channel: str
    t_ns: int
    value: float | None
    missing_reason: str | None = None


@dataclass(frozen=True, eq=False)
class Block:
    """Readings of one channel that a device has gathered, the oldest first.

    t_ns: (n,) on the channel's clock, increasing, also from block to block. value: (n,), NaN where a reading failed;
    reasons: index of a failed one -> why. arrived_ns: CLOCK_MONOTONIC of the host when the newest of them had arrived;
    it ties the device's clock to the host's. A channel on the device's clock gives blocks only.
    """

    channel: str
    t_ns: NDArray[np.int64]
    value: NDArray[np.float64]
    arrived_ns: int
    reasons: Mapping[int, str] = field(default_factory=dict)


def sample_record(channel: Channel, sample: Sample) -> dict[str, str | int | float | None]:
    """The sample as one record of schemas/meter-sample.schema.json."""
    return {
        "meter": channel.meter,
        "channel": channel.name,
        "domain": channel.domain.value,
        "kind": channel.kind.value,
        "unit": channel.unit,
        "method": channel.method.value,
        "t_ns": sample.t_ns,
        "clock": channel.clock.value,
        "value": sample.value,
        "missing_reason": sample.missing_reason,
    }


@dataclass(frozen=True)
class Availability:
    """Can this meter be used here? reason: what is present or missing. fix: the shortest remedy."""

    available: bool
    reason: str
    fix: str | None = None

    def demand(self, meter: str) -> None:
        """Raises MeterError with the reason and the fix when the meter of that name cannot be used."""
        if not self.available:
            raise MeterError(f"{meter}: {self.reason}. {self.fix or ''}".strip())


@runtime_checkable
class Meter(Protocol):
    """A plug-in of entry point group `edgejoule.meters`: a callable without required arguments that returns one.

    name: as in `edgejoule meters`. method: the method of all its channels.
    domain: the primary domain: `energy_j` is the sum over the meter's channels of this domain (two sockets: two
    package channels, one `energy_j`). Channels of other domains are shown beside it and never added to it.
    poll_interval_s: how often poll() wants to be called (a counter: below half its wrap time; a device that streams:
    before its buffer is full).
    Optional: measures_only, the name of a part of the machine without databases ("the graphics cards"): such
    a meter is taken only when it is named. run_s_min: the shortest run that it can measure, in s. method_text:
    the source of its figures and their error, in at most 50 characters. gather_s: a meter whose readings a program
    gathers every poll_interval_s: how often poll() is to be called, in s; each call fetches all readings up to it.
    """

    name: str
    method: Method
    domain: Domain
    poll_interval_s: float

    def probe(self) -> Availability:
        """Checks, without side effects and without raising, whether the meter is usable here."""
        ...

    def describe(self) -> str:
        """One line for people: the quantity, its domain, its accuracy."""
        ...

    def facts(self) -> Mapping[str, Sequence[str]]:
        """What a report must say of the figures beyond describe(): heading -> lines (sources, limits); may be empty."""
        ...

    def channels(self) -> Sequence[Channel]:
        """The channels, known after open(); those of the primary domain come first."""
        ...

    def open(self) -> None:
        """Acquire the transport. Raises MeterError, with the fix, when it cannot."""
        ...

    def poll(self) -> Sequence[Sample | Block]:
        """One reading of every channel, or what a device that streams has gathered since. Returns at once, within
        poll_interval_s also where the device is silent. Never raises for a failed reading.
        """
        ...

    def close(self) -> None:
        """Release the transport. May be called twice."""
        ...
