"""An emulated JS220 at the seam of pyjoulescope_driver: the messages that its documentation shows, in virtual time.

The USB protocol below is the library's and is not emulated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from edgejoule.meters.plugins.joulescope.driver import Hear, Message
from edgejoule.meters.plugins.joulescope.meter import GAIN_REL, OFFSET_W, Joulescope
from edgejoule.testing.device import Device
from edgejoule.testing.instrument import STREAM_FAULTS, Circuit, Fault, Instrument, Rig

PATH = "u/js220/001234"
_NATIVE_HZ = 1_000_000
VOLTS = 5.0


class Library(Device):
    """A driver with one JS220 in virtual time."""

    def __init__(self, circuit: Circuit) -> None:
        super().__init__(circuit, GAIN_REL, OFFSET_W)
        self._rate_hz = _NATIVE_HZ * self.clock_rate
        self._begin_s = 0.0
        self._hear: Hear | None = None
        self._block = 500_000
        self._blocks = 0
        self.published: list[tuple[str, object]] = []

    def advance(self, to_ns: int) -> None:
        """Advances to that time and sends the due messages."""
        super().advance(to_ns)
        if self.gone:
            self._hear = None
            return
        faults, rng = self._circuit.faults, self._circuit.rng
        late_s = float(rng.uniform(0.0005, 0.01))
        ready = int(max(0.0, self.now_s - self._begin_s - late_s) * self._rate_hz / self._block)
        for number in range(self._blocks + 1, ready + 1):
            if self._hear is None or (Fault.DROPOUT in faults and rng.random() < 0.05):
                continue
            self._hear(f"{PATH}/s/stats/value", self._message(number))
        self._blocks = max(ready, self._blocks)

    def device_paths(self) -> Sequence[str]:
        """The one that is plugged in."""
        return [] if self.gone else [PATH]

    def open(self, device_prefix: str, mode: str | None = None) -> None:
        """The sample ids and the total begin at 0."""
        self._begin_s, self._blocks = self.now_s, 0

    def close(self, device_prefix: str) -> None:
        """No more messages."""
        self._hear = None

    def publish(self, topic: str, value: object) -> None:
        """Take notice."""
        self.published.append((topic, value))
        if topic == f"{PATH}/s/stats/scnt":
            assert isinstance(value, int)
            self._block = value

    def subscribe(self, topic: str, flags: str, fn: Hear) -> None:
        """One listener."""
        self._hear = fn

    def unsubscribe(self, topic: str, fn: Hear) -> None:
        """None."""
        self._hear = None

    def finalize(self) -> None:
        """Nothing is held."""

    def _message(self, number: int) -> Message:
        if Fault.GARBAGE in self._circuit.faults and self._circuit.rng.random() < 0.05:
            return {"time": {}, "accumulators": {"energy": {"value": float("nan")}}}
        first, last = (number - 1) * self._block, number * self._block
        return statistics(first, last, self._energy_j(first), self._energy_j(last))

    def _energy_j(self, sample: int) -> float:
        end_s = sample / self._rate_hz
        load = self._circuit.load
        drawn_j = float(load.energy_j(self._begin_s + end_s) - load.energy_j(self._begin_s))
        return drawn_j * self._gain + self._offset_w * end_s


def statistics(first: int, last: int, before_j: float, after_j: float) -> dict[str, Any]:
    """A message of s/stats/value (joulescope_driver, "Streaming and statistics topics", Statistics)."""
    block_s = (last - first) / _NATIVE_HZ
    power_w = (after_j - before_j) / block_s

    def leaf(value: object, units: str) -> dict[str, object]:
        return {"value": value, "units": units}

    def signal(mean: float, units: str) -> dict[str, dict[str, object]]:
        return {name: leaf(mean, units) for name in ("avg", "min", "max")} | {"std": leaf(0.0, units)}

    return {
        "time": {
            "samples": leaf([first, last], "samples"),
            "sample_freq": leaf(_NATIVE_HZ, "Hz"),
            "range": leaf([first / _NATIVE_HZ, last / _NATIVE_HZ], "s"),
            "delta": leaf(block_s, "s"),
            "accum_samples": leaf([0, last], "samples"),
        },
        "signals": {
            "current": signal(power_w / VOLTS, "A"),
            "voltage": signal(VOLTS, "V"),
            "power": signal(power_w, "W"),
        },
        "accumulators": {"charge": leaf(after_j / VOLTS, "C"), "energy": leaf(after_j, "J")},
        "source": "sensor",
    }


def connect(circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
    """A board of 0.5 to 5 W."""
    library = Library(circuit)
    return Rig(Joulescope(make_driver=lambda: library, clock_ns=clock_ns), library.advance)


INSTRUMENT = Instrument(
    "joulescope", connect, idle_w=0.5, busy_w=5.0, duration_s=10.0, change_s=0.5, faults=STREAM_FAULTS
)
