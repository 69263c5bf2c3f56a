"""An emulated USB tester: the bytes of a UM24C, UM25C or UM34C with known joules, in virtual time.

Frame as in meters/um25c/protocol.py (sigrok wiki, "RDTech UM series"). Measures twice a second; an answer takes 80 ms
by radio.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from edgejoule.meters.plugins.um25c.meter import Um25c, accuracy
from edgejoule.meters.plugins.um25c.protocol import FRAME_BYTES, MODELS, REQUEST, check_byte
from edgejoule.meters.transport.serialport import Port, PortSettings
from edgejoule.testing.device import Device
from edgejoule.testing.instrument import Circuit, Evidence, Fault, Instrument, Rig

SUPPLY_V = 5.0
_MEASURES_S = 0.5
_ANSWER_S = 0.08


def frame(code: int, power_w: float, volt: float = SUPPLY_V) -> bytes:
    """The answer of this model while the load draws power_w."""
    model = MODELS[code]
    volts, amperes = round(volt / model.volt_step), round(power_w / volt / model.ampere_step)
    data = bytearray(FRAME_BYTES)
    struct.pack_into(">HHHIHH", data, 0, code, volts, amperes, round(power_w * 1e3), 27, 80)
    struct.pack_into(">HH", data, 96, 4, 3)
    data[-2:] = b"\xff\xf1"
    if model.name == "UM34C":
        data[-1] = check_byte(bytes(data))
    return bytes(data)


class EmulatedTester:
    """A port of the tester. power_w: the value shown now; clock_s: virtual time; spoil: acts on answers."""

    def __init__(
        self,
        code: int,
        power_w: Callable[[], float],
        clock_s: Callable[[], float],
        spoil: Callable[[bytes], bytes] = lambda answer: answer,
    ) -> None:
        self._code, self._power_w, self._clock_s, self._spoil = code, power_w, clock_s, spoil
        self._answers: list[tuple[float, bytes]] = []

    def write(self, data: bytes, /) -> int:
        """A question; other commands are ignored."""
        for byte in data:
            if byte == REQUEST[0]:
                answer = self._spoil(frame(self._code, self._power_w()))
                self._answers.append((self._clock_s() + _ANSWER_S, answer))
        return len(data)

    def read(self, size: int = 1, /) -> bytes:
        """What has arrived by now."""
        now_s = self._clock_s()
        arrived = b"".join(answer for due_s, answer in self._answers if due_s <= now_s)
        self._answers = [(due_s, answer) for due_s, answer in self._answers if due_s > now_s]
        return arrived[:size]

    def close(self) -> None:
        """What was under way is lost."""
        self._answers = []


class _Bench(Device):
    def __init__(self, circuit: Circuit, clock_ns: Callable[[], int]) -> None:
        super().__init__(circuit, *accuracy(MODELS[0x09C9], SUPPLY_V))
        self._clock_ns = clock_ns
        self._extra_s = 0.0  # what the driver has slept while it opened
        self._tester = EmulatedTester(0x09C9, self._measured_w, lambda: self.now_s + self._extra_s, self._spoilt)

    def rig(self) -> Rig:
        return Rig(Um25c("tester", self._open, self._driver_ns, self._sleep), self.advance)

    def advance(self, to_ns: int) -> None:
        super().advance(to_ns)
        self._extra_s = 0.0

    def _driver_ns(self) -> int:
        return self._clock_ns() + round(self._extra_s * 1e9)

    def _sleep(self, seconds: float) -> None:
        self._extra_s += seconds

    def _open(self, name: str, settings: PortSettings) -> Port:
        if self.gone:
            raise OSError(f"{name}: No such file or directory")
        return _Cable(self._tester, lambda: self.gone)

    def _measured_w(self) -> float:
        measured_s = max(0.0, self.now_s) // _MEASURES_S * _MEASURES_S
        return self.shown_w(float(self._circuit.load.power_w(measured_s)))

    def _spoilt(self, answer: bytes) -> bytes:
        faults, rng = self._circuit.faults, self._circuit.rng
        if self.now_s > 0 and Fault.DROPOUT in faults and rng.random() < 0.01:
            return b""
        if self.now_s > 0 and Fault.GARBAGE in faults and rng.random() < 0.03:
            place = int(rng.integers(10))
            noise = bytes(rng.integers(0, 256, 3, dtype="u1"))
            flipped = answer[:place] + bytes([answer[place] ^ 0xFF]) + answer[place + 1 :]
            return [noise + answer, answer[:60], flipped][int(rng.integers(3))]
        return answer


class _Cable:
    """The port as the driver holds it: it fails while the tester is gone."""

    def __init__(self, tester: EmulatedTester, gone: Callable[[], bool]) -> None:
        self._tester, self._gone = tester, gone

    def read(self, size: int = 1, /) -> bytes:
        self._check()
        return self._tester.read(size)

    def write(self, data: bytes, /) -> int:
        self._check()
        return self._tester.write(data)

    def close(self) -> None:
        self._tester.close()

    def _check(self) -> None:
        if self._gone():
            raise OSError("Input/output error")


def connect(circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
    """A UM25C in a board's USB supply."""
    return _Bench(circuit, clock_ns).rig()


INSTRUMENT = Instrument(
    "um25c", connect, idle_w=2.0, busy_w=10.0, duration_s=240.0, change_s=8.0,
    evidence=Evidence((
        "sigrok wiki, RDTech UM series, Protocol",
        "libsigrok rdtech-um",
        "frame of a UM34C in umxxc-parser's test",
    )),
)  # fmt: skip
