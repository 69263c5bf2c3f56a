"""An emulated WT310: SCPI commands in, answers out, a mean over every finished update period, in virtual time."""

from __future__ import annotations

from collections.abc import Callable

from edgejoule.meters.plugins.scpi.meter import ScpiMeter
from edgejoule.meters.plugins.scpi.profile import ScpiProfile
from edgejoule.testing.instrument import Circuit, Fault, Instrument, Rig
from edgejoule.testing.tcp_device import TcpDevice

IDENTITY = "YOKOGAWA,WT310E,C2PH00000E,F1.04"
_UPDATE_S = 0.25


class Analyser(TcpDevice):
    """The instrument in virtual time: bytes of commands in, bytes of answers out."""

    def __init__(self, circuit: Circuit, profile: ScpiProfile) -> None:
        self._phase_s = float(circuit.rng.uniform(0, _UPDATE_S))
        super().__init__(circuit, profile.accuracy.gain_rel, profile.accuracy.offset_w)
        self.received: list[str] = []

    def feed(self, data: bytes) -> bytes:
        """The answers to whole commands."""
        commands = data.decode().splitlines()
        self.received += commands
        return b"".join(self._answered(command) for command in commands if command.endswith("?"))

    def _answered(self, question: str) -> bytes:
        if question == "*IDN?":
            return IDENTITY.encode() + b"\n"
        faults, rng = self._circuit.faults, self._circuit.rng
        if Fault.DROPOUT in faults and rng.random() < 0.02:
            return b""
        if Fault.GARBAGE in faults and rng.random() < 0.05:
            return bytes(rng.choice([b"NAN\n", b"INF\n", b"9.91E+37\n", b"\n", b"12.3.4\n", b"\xff\xfe\n", b"1.2"]))
        end_s = (self.now_s - self._phase_s) // _UPDATE_S * _UPDATE_S + self._phase_s
        drawn_j = float(self._circuit.load.energy_j(end_s) - self._circuit.load.energy_j(end_s - _UPDATE_S))
        return f"{self.shown_w(drawn_j / _UPDATE_S):.5E}\n".encode()


def connect(circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
    """A machine of 20 to 120 W behind a WT310."""
    meter = ScpiMeter(host="emulated", clock_ns=clock_ns, connect=lambda *where: analyser.connect(*where))
    analyser = Analyser(circuit, meter.profile)
    return Rig(meter, analyser.advance)


INSTRUMENT = Instrument("scpi", connect, idle_w=20.0, busy_w=120.0, duration_s=120.0, change_s=6.0)
