"""Models the power of a server that is a share of this machine: CPU time times declared watts, plus idle power."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from edgejoule.eco.federation import FederationServer
from edgejoule.meters.base import Availability, Channel, Domain, Method, Sample, ValueKind

INTERVAL_REL = 0.5  # relative half width at k=2 of the declared watts


class DeclaredPower:
    """An accumulator of J since open(). cpu_s: returns the CPU seconds that the server's processes have used so far."""

    name = "declared-power"
    method = Method.MODELLED
    domain = Domain.BOARD
    poll_interval_s = 0.25  # each poll reads every thread of the server

    def __init__(
        self, server: FederationServer, cpu_s: Callable[[], float], clock_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._server, self._cpu_s, self._clock_ns = server, cpu_s, clock_ns
        self._begin_ns, self._begin_cpu_s = 0, 0.0

    def probe(self) -> Availability:
        """Returns that the meter is available; it always is."""
        return Availability(True, "watts are declared")

    def describe(self) -> str:
        """Returns the declared watts as text."""
        s = self._server
        return f"{s.idle_w:g} W and {s.busy_w:g} W more while its {s.share:g} of a core is busy, as declared"

    def facts(self) -> Mapping[str, Sequence[str]]:
        """Returns the limits of the figures' validity."""
        return {
            "prediction interval": [f"±{INTERVAL_REL:.0%} at k=2: the watts are declared, not measured"],
            "not modelled": ["energy of bytes on the link; memory, storage; frequency and temperature"],
        }

    def channels(self) -> Sequence[Channel]:
        """Returns the single channel."""
        return [
            Channel(
                meter=self.name,
                name="board",
                domain=self.domain,
                kind=ValueKind.ACCUMULATOR,
                method=self.method,
                gain_rel=0.0,
                offset_w=0.0,
                resolution=self._server.busy_core_w * 1e-6,
                model_rel=INTERVAL_REL / 2,
            )
        ]

    def open(self) -> None:
        """Starts counting at 0 J."""
        self._begin_ns, self._begin_cpu_s = self._clock_ns(), self._cpu_s()

    def poll(self) -> Sequence[Sample]:
        """Returns the energy so far."""
        now_ns, used_s = self._clock_ns(), self._cpu_s() - self._begin_cpu_s
        idle_j = self._server.idle_w * (now_ns - self._begin_ns) / 1e9
        return [Sample("board", now_ns, idle_j + self._server.busy_core_w * used_s)]

    def close(self) -> None:
        """Does nothing: the meter holds no resource."""
