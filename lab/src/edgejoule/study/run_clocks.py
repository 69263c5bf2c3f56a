"""Converts the times of a run's meters to this host's clock, and checks the conversion.

A device's clock is related to this host's by the arrival of its readings (`meters.clocks`), a clock on another host by
exchanges of four timestamps before and after the run (`clock_exchange`). Two marker bursts are then searched for in the
trace (`marker`): one before the quiet window that begins a run (with a rest between, so that the window shows nothing
of it), one after the quiet window that ends it. If they are not where the clocks place them, the run is flagged. If
they agree, both are combined into a mean weighted with the inverse squares of their uncertainties (JCGM 100:2008, 5.1).
A meter too slow to show a burst checks nothing and reports that.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from edgejoule.clocks.clock_exchange import ClockError, ClockNs, Offset, compare, relation
from edgejoule.clocks.marker import BURST_S, INTERVAL_S_MAX, REST_S, ClockCheck, Marker, burst, check, relation_text
from edgejoule.errors import DataError, UsageError
from edgejoule.experiment.model import Timing
from edgejoule.machine.burner import LoadError
from edgejoule.meters.base import Clock, Meter, Method
from edgejoule.meters.clocks import ClockRelation
from edgejoule.meters.plugins.imported.trace import METER as IMPORTED
from edgejoule.store import StoredTrace

_RECTANGULAR = 1 / math.sqrt(3)
_NO_CLOCK = "a model reads this host's counters at this host's times: it has no clock that a marker could check"

Keep = Callable[[str, Clock, ClockRelation], None]


@dataclass(frozen=True)
class ClockPlan:
    """What every run of a study does about clocks. marker: bursts are played. why_not: why none are, although a clock
    would need them.

    servers: meter -> HOST:PORT that serves the clock of its times. token: the servers' secret. rest_s: time between the
    first burst and the window that begins the run, in s.
    """

    marker: bool = False
    why_not: str | None = None
    servers: Mapping[str, str] = field(default_factory=dict)
    token: bytes = b""
    rest_s: float = REST_S

    @property
    def marker_s(self) -> float:
        """Returns the time that the bursts of a run take, with the rest after the first, in s."""
        return 2 * BURST_S + self.rest_s if self.marker else 0.0


def clock_plan(timing: Timing, servers: Mapping[str, str], meters: Sequence[Meter], token: bytes = b"") -> ClockPlan:
    """Makes the plan from the experiment's timing and servers (meter.clocks). The rest after a burst is as long as the
    power window after it. Raises UsageError for a server of a meter that the study lacks (an imported trace is
    allowed), or of one whose times are already this host's.
    """
    marker, rest_s = timing.marker, max(REST_S, timing.idle_s)
    here = {meter.name: meter for meter in meters}
    for name in servers:
        if name in here and not _on_device_clock(here[name]):
            raise UsageError(f"meter.clocks.{name}: the times of this meter are this host's already; take it out")
        if name not in here and name != IMPORTED:
            known = ", ".join(here)
            raise UsageError(f"meter.clocks.{name}: the study has {known}, and {IMPORTED!r} may be imported afterwards")
    if marker is not None:
        return ClockPlan(marker, None, servers, token, rest_s)
    foreign = [meter for meter in meters if _on_device_clock(meter)]
    fast = [meter for meter in foreign if _interval_s(meter) <= INTERVAL_S_MAX]
    if fast or set(servers) - set(here):
        return ClockPlan(True, None, servers, token, rest_s)
    slow = ", ".join(f"{meter.name} reads every {_interval_s(meter):g} s" for meter in foreign)
    why_not = f"no marker was played: {slow}, too slow to show it" if slow else None
    return ClockPlan(False, why_not, servers, token, rest_s)


def check_servers(servers: Mapping[str, str], token: bytes) -> None:
    """Checks before a study that every server answers. Raises UsageError otherwise: no run could use its clock."""
    for name, address in servers.items():
        try:
            compare(address, token=token)
        except ClockError as error:
            raise UsageError(f"meter.clocks.{name}: {error}") from error


def _on_device_clock(meter: Meter) -> bool:
    return any(channel.clock is Clock.DEVICE for channel in meter.channels())


def _interval_s(meter: Meter) -> float:
    return min((channel.interval_s or meter.poll_interval_s for channel in meter.channels()), default=math.inf)


@dataclass(frozen=True)
class ClockFindings:
    """facts: see metering.clocks in schemas/run-record.schema.json. flags: the run's flags."""

    facts: dict[str, Any]
    flags: tuple[str, ...] = ()


class RunClocks:
    """The exchanges and markers of one run: begin(), mark(), rest(), mark(), end(), then findings(). clock_ns: this
    host's clock, ns.
    """

    def __init__(self, plan: ClockPlan, clock_ns: ClockNs = time.monotonic_ns) -> None:
        self._plan, self._clock_ns = plan, clock_ns
        self._series: dict[str, list[Offset | str]] = {name: [] for name in plan.servers}
        self._wall: list[dict[str, int]] = []
        self.markers: list[Marker] = []
        self._not_made: list[str] = [plan.why_not] if plan.why_not else []

    def begin(self) -> None:
        """Makes a series of exchanges with every server before the run is sampled; end() repeats it afterwards."""
        for name, address in self._plan.servers.items():
            try:
                self._series[name].append(compare(address, token=self._plan.token, clock_ns=self._clock_ns))
            except ClockError as error:
                self._series[name].append(str(error))
        self._wall.append({"realtime_ns": time.time_ns(), "monotonic_ns": self._clock_ns()})

    end = begin

    def mark(self) -> None:
        """Plays a marker if the plan has markers. A marker that could not be made is reported and checks nothing."""
        if self._plan.marker:
            try:
                self.markers.append(burst())
            except (DataError, LoadError) as error:
                self._not_made.append(str(error))

    def rest(self) -> None:
        """Waits until a marker no longer shows in the power of an idle machine."""
        if self._plan.marker:
            time.sleep(self._plan.rest_s)

    def findings(self, readings: Sequence[Sequence[StoredTrace]], keep: Keep) -> ClockFindings:
        """Examines every meter's readings. keep: called with the relation of a meter's clock to this host's, if it is
        more than the arrival of readings shows.
        """
        facts: dict[str, Any] = {
            "wall": self._wall,
            "markers_ns": [[list(interval) for interval in marker.busy_ns] for marker in self.markers],
            "notes": list(dict.fromkeys(self._not_made)),
        }
        flags: list[str] = []
        known = {name: self._exchanged(name, flags) for name in self._plan.servers}
        facts["exchanges"] = [self._series_facts(name, known[name]) for name in self._plan.servers]
        facts["meters"] = []
        for own in readings:
            if own and (self.markers or own[0].channel.meter in known):
                result, doubts = self._checked(own, known.get(own[0].channel.meter), keep)
                facts["meters"].append(result)
                flags += doubts
        return ClockFindings(facts, tuple(dict.fromkeys(flags)))

    def _exchanged(self, name: str, flags: list[str]) -> ClockRelation | None:
        """Returns the relation of a server's clock to this host's from the answered exchanges; flags the unanswered
        ones.
        """
        answered = [one for one in self._series[name] if isinstance(one, Offset)]
        flags += [f"the clock of {name}: {one}" for one in self._series[name] if isinstance(one, str)]
        try:
            return relation(*answered) if answered else None
        except (ClockError, DataError) as error:
            flags.append(f"the clock of {name}: {error}")
            return None

    def _series_facts(self, name: str, clocks: ClockRelation | None) -> dict[str, Any]:
        series = self._series[name]
        return {
            "meter": name,
            "address": self._plan.servers[name],
            "series": [asdict(one) if isinstance(one, Offset) else None for one in series],
            "relation": asdict(clocks) if clocks else None,
        }

    def _checked(
        self, own: Sequence[StoredTrace], exchanged: ClockRelation | None, keep: Keep
    ) -> tuple[dict[str, Any], list[str]]:
        """Returns the facts and flags of one meter."""
        first = own[0]
        clock, name = first.channel.clock, first.channel.meter
        flags: list[str] = []
        if exchanged is not None and (message := _arrive_elsewhere(first, exchanged)):
            flags.append(message)
        channels = [
            replace(each, stored_relation=exchanged) for each in own if each.channel.domain is first.channel.domain
        ]
        try:
            stated = channels[0].on_host_clock()[1]
        except DataError as error:
            return {"meter": name, "source": "none", "relation": None, "sightings": [], "words": str(error)}, flags
        if first.channel.method is Method.MODELLED and exchanged is None and clock is not Clock.DEVICE:
            return {"meter": name, "source": "host", "relation": None, "sightings": [], "words": _NO_CLOCK}, flags
        checks = [
            max((check(each, m) for each in channels), key=lambda check: check.sighting.correlation)
            for m in self.markers
        ]
        known = refined(stated, self.markers, checks)
        if any(each.agrees is False for each in checks):
            flags.append(f"the clock of {name}: {clock_check_text(checks)}")
        if known is not None:
            keep(name, clock, known)
        source = "exchanges" if exchanged else "arrivals" if clock is Clock.DEVICE else "host"
        facts = {
            "meter": name,
            "source": source,
            "relation": asdict(known) if known else None,
            "sightings": [{**asdict(each.sighting), "agrees": each.agrees} for each in checks],
            "words": clock_check_text(checks) if checks else "no marker checks the clock",
        }
        return facts, flags


def _arrive_elsewhere(stored: StoredTrace, exchanged: ClockRelation) -> str | None:
    """Returns a flag if a device's readings arrive at times that the exchanges exclude, else None."""
    try:
        arrived = stored.by_arrivals
    except DataError:
        return None
    apart_s = (int(exchanged.to_host_ns(np.array([arrived.device_ns]))[0]) - arrived.host_ns) / 1e9
    allowed_s = 2 * math.hypot(arrived.offset_s, exchanged.uncertainty_s(arrived.host_ns))
    if abs(apart_s) <= allowed_s:
        return None
    return (
        f"the clock of {stored.channel.meter}: by the exchanges its readings are {apart_s:+.3g} s off where their "
        f"arrival puts them, ±{allowed_s:.2g} s is possible; does `edgejoule clock serve` answer with that clock?"
    )


def refined(
    stated: ClockRelation | None, markers: Sequence[Marker], checks: Sequence[ClockCheck]
) -> ClockRelation | None:
    """Returns the clock relation corrected by the markers; None if `stated` is None and the markers add nothing.

    Markers that agree shift a device's clock by their weighted part; a clock that is this host's own is not shifted,
    but takes their uncertainty. Markers that disagree only widen the uncertainty by the disagreement.
    """
    seen = [(m, c) for m, c in zip(markers, checks, strict=True) if c.sighting.shift_s is not None]
    if not seen:
        return stated
    shift_s = sum(c.sighting.shift_s or 0.0 for _, c in seen) / len(seen)
    marked_u = max(c.sighting.uncertainty_s or 0.0 for _, c in seen)
    at_ns = sum(m.start_ns for m, _ in seen) // len(seen)
    worst_s = max(abs(c.sighting.shift_s or 0.0) for _, c in seen)
    doubtful_s = 0.0 if all(c.agrees for _, c in seen) else worst_s * _RECTANGULAR
    if stated is None:
        return ClockRelation(at_ns, at_ns, 0.0, math.hypot(marked_u, doubtful_s), 0.0)
    if doubtful_s:
        return replace(stated, offset_s=math.hypot(stated.offset_s, doubtful_s))
    stated_u = stated.uncertainty_s(at_ns)
    both = math.hypot(stated_u, marked_u)
    moved_ns = round(shift_s * (stated_u / both) ** 2 * 1e9)
    moved = replace(
        stated,
        device_ns=stated.to_device_ns(at_ns),
        host_ns=at_ns - moved_ns,
        offset_s=stated_u * marked_u / both,
    )
    return moved if len(seen) < 2 else _with_drift(moved, seen)


def _with_drift(stated: ClockRelation, seen: Sequence[tuple[Marker, ClockCheck]]) -> ClockRelation:
    """Returns the relation with the drift between the first and the last marker, weighted likewise."""
    (first, begin), (last, end) = seen[0], seen[-1]
    apart_s = (last.start_ns - first.start_ns) / 1e9
    gained = ((end.sighting.shift_s or 0.0) - (begin.sighting.shift_s or 0.0)) / apart_s
    gained_u = math.hypot(begin.sighting.uncertainty_s or 0.0, end.sighting.uncertainty_s or 0.0) / apart_s
    both = math.hypot(stated.drift_u, gained_u)
    drift = stated.drift - gained * (1 + stated.drift) * (stated.drift_u / both) ** 2
    return replace(stated, drift=drift, drift_u=stated.drift_u * gained_u / both)


def clock_check_text(checks: Sequence[ClockCheck]) -> str:
    """Summarises what the markers of a run show about a clock, in one sentence."""
    seen = relation_text([each.sighting for each in checks])
    stated = [each for each in checks if each.agrees is not None]
    if not stated:
        return seen
    relation_s = max(each.relation_s for each in stated)
    verdict = "they agree" if all(each.agrees for each in stated) else "they do NOT agree"
    return f"{seen}; the clock itself states ±{2e3 * relation_s:.1f} ms (k=2): {verdict}"
