"""What the emulators of mains plugs have in common: an address that answers from the circuit, and their faults."""

from __future__ import annotations

import urllib.parse
from abc import ABC, abstractmethod
from collections.abc import Sequence

from edgejoule.meters.base import Meter
from edgejoule.testing.device import Device
from edgejoule.testing.instrument import Fault, Rig

HOST = "plug.local"


class EmulatedPlug(Device, ABC):
    """fetch() is the transport of the meter's driver."""

    @abstractmethod
    def answer(self, path: str) -> str:
        """What the plug says at a path, which has its query with it. Raises OSError for one that it does not have."""

    @abstractmethod
    def broken(self, text: str) -> Sequence[str]:
        """What may come instead of an answer."""

    def rig(self, meter: Meter) -> Rig:
        """The meter with this plug. It is opened: the declared accuracy depends on the digits that the plug shows."""
        meter.open()
        channel = meter.channels()[0]
        self.declares(channel.gain_rel, channel.offset_w)
        return Rig(meter, self.advance)

    def fetch(self, url: str) -> str:
        """The answer to an HTTP request."""
        parts = urllib.parse.urlsplit(url)
        assert parts.netloc == HOST, url
        text = self.answer(f"{parts.path}?{parts.query}" if parts.query else parts.path)
        return text if self.now_s == 0 else self._spoilt(text)

    def _spoilt(self, text: str) -> str:
        faults, rng = self._circuit.faults, self._circuit.rng
        if self.gone:
            raise OSError("No route to host")
        if Fault.DROPOUT in faults and rng.random() < 0.02:
            raise OSError("timed out")
        if Fault.GARBAGE in faults and rng.random() < 0.02:
            broken = self.broken(text)
            return broken[int(rng.integers(len(broken)))]
        return text
