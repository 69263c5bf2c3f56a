"""An emulated WT310: SCPI commands in, answers out, a mean over every finished update period, in virtual time."""

from __future__ import annotations

from collections.abc import Callable

from edgejoule.conformance.instrument import Circuit, Evidence, Fault, Rig
from edgejoule.errors import MeterError
from edgejoule.meters.lines import Stream
from edgejoule.meters.scpi.meter import ScpiMeter
from edgejoule.meters.scpi.profile import ScpiProfile

IDENTITY = "YOKOGAWA,WT310E,C2PH00000E,F1.04"
_UPDATE_S = 0.25


class Analyser:
    """The instrument in virtual time: bytes of commands in, bytes of answers out."""

    def __init__(self, circuit: Circuit, profile: ScpiProfile) -> None:
        self._circuit = circuit
        self._gain = 1 + circuit.gain_z * profile.accuracy.gain_rel
        self._offset_w = circuit.offset_z * profile.accuracy.offset_w
        self._phase_s = float(circuit.rng.uniform(0, _UPDATE_S))
        self.now_s = 0.0
        self.told: list[str] = []
        begin_s = circuit.duration_s * circuit.rng.uniform(0.2, 0.6)
        self._gone_s = begin_s, begin_s + circuit.duration_s * circuit.rng.uniform(0.02, 0.3)

    def advance(self, to_ns: int) -> None:
        """Live on to that time."""
        self.now_s = to_ns / 1e9

    @property
    def gone(self) -> bool:
        """Switched off at the moment."""
        return Fault.DISCONNECT in self._circuit.faults and self._gone_s[0] <= self.now_s < self._gone_s[1]

    def feed(self, data: bytes) -> bytes:
        """The answers to whole commands."""
        commands = data.decode().splitlines()
        self.told += commands
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
        return f"{drawn_j / _UPDATE_S * self._gain + self._offset_w:.5E}\n".encode()


class _Wire:
    def __init__(self, analyser: Analyser) -> None:
        self._analyser = analyser
        self._come = b""

    def write(self, data: bytes, /) -> None:
        if self._analyser.gone:
            raise ConnectionResetError(104, "Connection reset by peer")
        self._come += self._analyser.feed(data)

    def read(self, _timeout_s: float, /) -> bytes:
        data, self._come = self._come, b""
        return data

    def close(self) -> None: ...


def connector(analyser: Analyser) -> Callable[[str, int, float], Stream]:
    """How a client gets to the emulated instrument."""

    def connect(host: str, port: int, _timeout_s: float) -> Stream:
        if analyser.gone:
            raise MeterError(f"{host}:{port} cannot be reached")
        return _Wire(analyser)

    return connect


class ScpiInstrument:
    """A machine of 20 to 120 W behind a WT310."""

    name = "scpi"
    faults = frozenset({Fault.DROPOUT, Fault.JITTER, Fault.GARBAGE, Fault.DISCONNECT})
    duration_s = 120.0
    idle_w, busy_w = 20.0, 120.0
    change_s = 6.0
    evidence = Evidence()

    def connect(self, circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
        """An instrument of its own."""
        meter = ScpiMeter(host="emulated", clock_ns=clock_ns, connect=lambda *where: connector(analyser)(*where))
        analyser = Analyser(circuit, meter.profile)
        return Rig(meter, analyser.advance)
