"""The meter over a USB tester on a serial port (Bluetooth's RFCOMM).

Each poll takes the answer to the previous poll's request and sends the next, so nothing waits for the radio. A value is
stamped with the time of its question: the tester answers with what it has just measured.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence

from edgejoule.errors import MeterError, UsageError
from edgejoule.extras import install_command
from edgejoule.meters.base import Availability, Channel, Domain, Method, Sample, ValueKind
from edgejoule.meters.plugins.um25c.protocol import REQUEST, Um25cModel, Um25cReading, split
from edgejoule.meters.transport.serialport import BYTES_MAX, OpenPort, Port, PortSettings, has_pyserial, open_port

CHANNEL = "usb"
SETTINGS = PortSettings(baud=9600)
ANSWER_S = 1.0  # silence for so long is a missing sample, and asked again
_OPEN_ATTEMPTS = 30
_RECTANGULAR = 1 / math.sqrt(3)


class Um25c:
    """A tester on `port`. open_port, clock_ns and sleep are the transport."""

    name = "um25c"
    method = Method.MEASURED
    domain = Domain.BOARD
    poll_interval_s = 0.5

    def __init__(
        self,
        port: str | None = None,
        open_port: OpenPort = open_port,
        clock_ns: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if port is not None and not isinstance(port, str):
            raise UsageError(f"um25c: port: expected a name such as /dev/rfcomm0, got {port!r}")
        self._name = port
        self._open_port = open_port
        self._clock_ns = clock_ns
        self._sleep = sleep
        self._port: Port | None = None
        self._first: Um25cReading | None = None
        self._rest = b""
        self._asked_ns: int | None = None
        self._opened_ns = 0

    def probe(self) -> Availability:
        """Available when a port is named: no port is opened for the check."""
        if not has_pyserial() and self._open_port is open_port:
            return Availability(False, "pyserial is missing", install_command("serial"))
        if self._name is None:
            fix = 'name it under [meter.options]: um25c = { port = "/dev/rfcomm0" }'
            return Availability(False, "no port is named (a tester cannot be recognised without opening it)", fix)
        return Availability(True, f"the tester on {self._name}")

    def describe(self) -> str:
        """Returns the description of the quantity."""
        return "the board's USB supply by a tester of RDTech (UM24C, UM25C, UM34C)"

    def facts(self) -> Mapping[str, Sequence[str]]:
        """Which tester."""
        return {"tester": [f"{self._first.model.name} on {self._name}"]} if self._first else {}

    def channels(self) -> Sequence[Channel]:
        """One: the power through the tester."""
        assert self._first is not None, "channels are known after open()"
        gain_rel, offset_w = accuracy(self._first.model, self._first.volt)
        return [
            Channel(
                meter=self.name,
                name=CHANNEL,
                domain=self.domain,
                kind=ValueKind.INSTANT,
                method=self.method,
                gain_rel=gain_rel,
                offset_w=offset_w,
                resolution=max(1e-3, self._first.model.ampere_step * self._first.volt),
            )
        ]

    def open(self) -> None:
        """Open the port and wait for a first answer. Raises MeterError with the fix."""
        self.probe().demand(self.name)
        assert self._name is not None, "probed"
        self._port = self._open_port(self._name, SETTINGS)
        self._rest, self._asked_ns, self._first = b"", None, None
        for _ in range(_OPEN_ATTEMPTS):
            self.poll()
            if self._first is not None:
                return
            self._sleep(0.1)
        self.close()
        raise MeterError(f"{self.name}: {self._name} does not answer as a UM24C, UM25C or UM34C: is it the right port?")

    def poll(self) -> Sequence[Sample]:
        """The answer that has come, if one has; then the next question."""
        now_ns = self._clock_ns()
        try:
            port = self._opened(now_ns)
            if port is None:
                return []
            return self._exchange(port, now_ns)
        except (OSError, MeterError) as error:
            self.close()
            return [Sample(CHANNEL, now_ns, None, f"{self._name}: {error}")]

    def close(self) -> None:
        """Release the port."""
        port, self._port = self._port, None
        self._rest, self._asked_ns = b"", None
        if port is not None:
            port.close()

    def _opened(self, now_ns: int) -> Port | None:
        """Returns the port; reopens a lost one at most once a second."""
        if self._port is None:
            assert self._name is not None, "open() has had a name"
            if now_ns - self._opened_ns < ANSWER_S * 1e9:
                return None
            self._opened_ns = now_ns
            self._port = self._open_port(self._name, SETTINGS)
        return self._port

    def _exchange(self, port: Port, now_ns: int) -> list[Sample]:
        readings, self._rest, skipped = split(self._rest + port.read(BYTES_MAX))
        result: list[Sample] = []
        if readings and self._asked_ns is not None:
            self._first = self._first or readings[-1]
            result = [Sample(CHANNEL, self._asked_ns, readings[-1].power_w)]
        elif skipped is not None or self._overdue(now_ns):
            result = [Sample(CHANNEL, now_ns, None, skipped or f"no answer within {ANSWER_S:g} s")]
        if result or self._asked_ns is None:
            self._rest = b""
            port.write(REQUEST)
            self._asked_ns = now_ns
        return result

    def _overdue(self, now_ns: int) -> bool:
        return self._asked_ns is not None and now_ns - self._asked_ns >= ANSWER_S * 1e9


def accuracy(model: Um25cModel, volt: float) -> tuple[float, float]:
    """Standard uncertainties (k=1): gain, relative, and offset in W, at this supply voltage."""
    volt_rel = model.volt_rel + model.volt_steps * model.volt_step / volt
    offset_w = model.ampere_steps * model.ampere_step * volt
    return math.hypot(volt_rel, model.ampere_rel) * _RECTANGULAR, offset_w * _RECTANGULAR
