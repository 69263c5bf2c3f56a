"""Combines the meters of several servers into one: its joules are the sum over the servers, each channel belongs to one
server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from edgejoule.energy import Readings
from edgejoule.energy.figures import weakest
from edgejoule.errors import MeterError
from edgejoule.meters.base import Availability, Block, Channel, Clock, Meter, Sample
from edgejoule.study.run_length import shortest_s


class ServersMeter:
    """parts: server -> its meter; all meters have one domain and this host's clock.

    A channel is named after its server, or "SERVER CHANNEL" if the server has several in the domain. A meter is polled
    no more often than it requests. about: a description of the servers for a report. gather_s: see meters.base.Meter;
    known after open() if programs collect the readings of all.
    """

    name = "servers"

    def __init__(
        self, parts: Mapping[str, Meter], clock_s: Callable[[], float] = time.monotonic, about: str = ""
    ) -> None:
        self._parts, self._clock_s, self._about = dict(parts), clock_s, about
        self._due_s: dict[str, float] = {}
        self._names: dict[tuple[str, str], str] = {}
        meters = list(self._parts.values())
        self.method = weakest(meter.method for meter in meters)
        self.domain = meters[0].domain
        self.poll_interval_s = min(meter.poll_interval_s for meter in meters)
        self.run_s_min = max(map(shortest_s, meters))
        self.gather_s: float | None = None

    def probe(self) -> Availability:
        """Returns available if each meter is available and all have the same domain."""
        for server, meter in self._parts.items():
            result = meter.probe()
            if not result.available:
                return Availability(False, f"server {server}: {meter.name}: {result.reason}", result.fix)
            if meter.domain is not self.domain:
                covers = ", ".join(f"{name} {each.domain}" for name, each in self._parts.items())
                return Availability(False, f"the servers' meters cover different things ({covers})")
        return Availability(True, f"a meter for each of {len(self._parts)} servers")

    def describe(self) -> str:
        """Returns each server's description."""
        return "; ".join(f"{server}: {meter.describe()}" for server, meter in self._parts.items())

    def facts(self) -> Mapping[str, Sequence[str]]:
        """Returns each server's facts; facts common to all appear once."""
        sections: dict[str, dict[str, list[str]]] = {}
        for server, meter in self._parts.items():
            for heading, lines in meter.facts().items():
                for line in lines:
                    sections.setdefault(heading, {}).setdefault(line, []).append(server)
        return ({"servers": [self._about]} if self._about else {}) | {
            heading: [line if len(of) == len(self._parts) else f"{', '.join(of)}: {line}" for line, of in lines.items()]
            for heading, lines in sections.items()
        }

    def channels(self) -> Sequence[Channel]:
        """Returns the channels of the domain, in the order of the servers."""
        result: list[Channel] = []
        self._names.clear()
        for server, meter in self._parts.items():
            own = [channel for channel in meter.channels() if channel.domain is self.domain]
            for channel in own:
                if channel.clock is not Clock.HOST_MONOTONIC:
                    raise MeterError(
                        f"server {server}: {meter.name} reports the times of another clock; with several servers "
                        "every meter must use this host's clock"
                    )
                name = server if len(own) == 1 else f"{server} {channel.name}"
                self._names[server, channel.name] = name
                result.append(replace(channel, meter=self.name, name=name))
        return result

    def open(self) -> None:
        """Opens each meter. Raises MeterError that names the server."""
        self.probe().demand(self.name)
        for server, meter in self._parts.items():
            try:
                meter.open()
            except MeterError as error:
                self.close()
                raise MeterError(f"server {server}: {error}") from error
        self.channels()
        self._due_s = dict.fromkeys(self._parts, 0.0)
        gathering = [getattr(meter, "gather_s", None) for meter in self._parts.values()]
        known = [seconds for seconds in gathering if seconds is not None]
        self.gather_s = min(known) if len(known) == len(gathering) else None

    def helper_cpu_s(self) -> float:
        """Returns the CPU seconds of the programs that sample for the meters."""
        helpers = [getattr(meter, "helper_cpu_s", None) for meter in self._parts.values()]
        return sum(float(cpu_s()) for cpu_s in helpers if cpu_s is not None)

    def poll(self) -> Sequence[Sample | Block]:
        """Polls each meter that is due."""
        result: list[Sample | Block] = []
        for server, meter in self._parts.items():
            now_s = self._clock_s()
            if meter.poll_interval_s > self.poll_interval_s and now_s < self._due_s[server]:
                continue
            self._due_s[server] = now_s + meter.poll_interval_s
            result += [
                replace(one, channel=name)
                for one in meter.poll()
                if (name := self._names.get((server, one.channel))) is not None
            ]
        return result

    def close(self) -> None:
        """Closes each meter."""
        for meter in self._parts.values():
            meter.close()


def of_server(server: str, readings: Iterable[Readings]) -> list[Readings]:
    """Returns the readings of one server."""
    return [each for each in readings if each.channel.name.split(" ")[0] == server]
