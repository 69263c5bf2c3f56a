"""The meter over a serial port: asks for a frame and waits for it, or takes the frames of a device that streams.

A stream with a counter is on the device's clock (the counter at the profile's rate); one without is stamped by the
host, backwards from the arrival. Bytes between frames count as a missing sample; a device that is gone is
opened again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from edgejoule.errors import MeterError, UsageError
from edgejoule.extras import install_command
from edgejoule.meters.base import Availability, Block, Channel, Clock, Domain, Method, Sample, ValueKind
from edgejoule.meters.means import Means
from edgejoule.meters.plugins.serial.decode import Decoded, Decoder
from edgejoule.meters.plugins.serial.profile import PROFILES, SerialProfile
from edgejoule.meters.quantities import Role, reading
from edgejoule.meters.sequence import Sequence as Counter
from edgejoule.meters.toml_profile import named_profile
from edgejoule.meters.transport.serialport import BYTES_MAX, OpenPort, Port, has_pyserial, open_port

CHANNEL = "power"
_STREAM_POLL_S = 0.05
_WAIT_S = 0.3  # for an answer; below interval_s
_REOPEN_S = 1.0


class SerialMeter:
    """port: the serial port's name. profile: a name or a .toml file. open_port, clock_ns, sleep: the transport."""

    name = "serial"
    method = Method.MEASURED

    def __init__(
        self,
        port: str | None = None,
        profile: str = "evm430-f6736",
        open_port: OpenPort = open_port,
        clock_ns: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if port is not None and not isinstance(port, str):
            raise UsageError(f"serial: port is a name such as /dev/ttyUSB0, not {port!r}")
        self.profile: SerialProfile = named_profile(profile, PROFILES, SerialProfile)
        self.domain: Domain = self.profile.domain
        self.poll_interval_s = self.profile.interval_s or _STREAM_POLL_S
        self._name, self._open_port, self._clock_ns, self._sleep = port, open_port, clock_ns, sleep
        self._port: Port | None = None
        self._decoder = Decoder(self.profile)
        self._restart()
        self._gone: tuple[int, str] | None = None  # since when, and why

    def probe(self) -> Availability:
        """Available when a port is named: no port is opened for the check."""
        if not has_pyserial() and self._open_port is open_port:
            return Availability(False, "pyserial is missing", install_command("serial"))
        if self._name is None:
            fix = f'name them: serial = {{ port = "/dev/ttyUSB0", profile = "{self.profile.name}" }}'
            return Availability(False, "no serial port is named (a port is not opened on suspicion)", fix)
        return Availability(True, f"{self.profile.instrument} expected on {self._name}")

    def describe(self) -> str:
        """Returns the description of quantity and accuracy."""
        accuracy = self.profile.accuracy
        how = f"±{2 * accuracy.gain_rel:.1%} ±{2 * accuracy.offset_w:g} W"
        return f"the {self.domain}'s supply by {self.profile.instrument} over a serial port ({how}, k=2)"

    def facts(self) -> Mapping[str, Sequence[str]]:
        """Where profile and accuracy come from."""
        profile = self.profile
        lines = [profile.source, f"accuracy: {profile.accuracy.source}"]
        return {"serial profile": [*lines, f"assumption: {profile.assumption}"] if profile.assumption else lines}

    def channels(self) -> Sequence[Channel]:
        """One channel."""
        profile = self.profile
        mean = profile.mean_of > 1
        return [
            Channel(
                meter=self.name,
                name=CHANNEL,
                domain=profile.domain,
                kind=ValueKind.INTERVAL_MEAN if mean else profile.kind,
                method=self.method,
                gain_rel=profile.accuracy.gain_rel,
                offset_w=profile.accuracy.offset_w,
                resolution=profile.resolution,
                clock=Clock.DEVICE if self._on_device_clock else Clock.HOST_MONOTONIC,
                interval_s=profile.mean_of / profile.rate_hz if profile.rate_hz else None,
                delay_s_max=profile.delay_s_max if self._on_device_clock else 0.0,
            )
        ]

    def open(self) -> None:
        """Open the port. Raises MeterError with the fix."""
        self.probe().demand(self.name)
        assert self._name is not None, "probed"
        self._port = self._open_port(self._name, self.profile.port)
        self._restart()

    def poll(self) -> Sequence[Sample | Block]:
        """One answer, or the frames that have come."""
        try:
            port = self._reopened()
            if port is None:
                return [self._missing(self._gone[1] if self._gone else "the port is closed")]
            return self._streamed(port) if self.profile.streams else [self._asked(port)]
        except OSError as error:
            self._lose(str(error))
            return [] if self._on_device_clock else [self._missing(f"the port failed: {error}")]

    def close(self) -> None:
        """Close the port."""
        if self._port is not None:
            self._port.close()
        self._port = None

    @property
    def _on_device_clock(self) -> bool:
        return self.profile.streams and self.profile.counter_modulus is not None

    def _restart(self) -> None:
        rate_hz = self.profile.rate_hz or 1.0
        self._counter = Counter(self.profile.counter_modulus or 1 << 32, 1 / rate_hz)
        self._means = Means(self.profile.mean_of)
        self._last_ns = -1
        self._decoder.forget()

    def _lose(self, why: str) -> None:
        self.close()
        self._decoder.forget()
        self._gone = self._clock_ns(), why

    def _reopened(self) -> Port | None:
        """Returns the port; reopens a device that is gone, one attempt a second."""
        if self._port is None and self._gone is not None and self._name is not None:
            since_ns, why = self._gone
            if self._clock_ns() - since_ns < _REOPEN_S * 1e9:
                return None
            try:
                self._port = self._open_port(self._name, self.profile.port)
                self._gone = None
            except MeterError as error:
                self._gone = self._clock_ns(), f"{why}; {error}"
        return self._port

    def _missing(self, why: str) -> Sample | Block:
        if self._on_device_clock:  # where on its clock is known only when it speaks again
            return Block(CHANNEL, np.empty(0, np.int64), np.empty(0), self._clock_ns())
        return Sample(CHANNEL, self._clock_ns(), None, why)

    def _asked(self, port: Port) -> Sample | Block:
        assert self.profile.request is not None
        port.read(BYTES_MAX)  # an answer that came too late belongs to no question
        self._decoder.forget()
        before_ns = self._clock_ns()
        port.write(self.profile.request)
        skipped = 0
        while True:
            decoded = self._decoder.add(port.read(BYTES_MAX))
            now_ns = self._clock_ns()
            skipped += decoded.skipped
            if len(decoded):
                value = float(reading(decoded.values)[-1])
                if np.isfinite(value):
                    return Sample(CHANNEL, (before_ns + now_ns) // 2, value)
                return self._missing("the answer is not a number")
            if now_ns - before_ns >= min(_WAIT_S, self.poll_interval_s / 2) * 1e9:
                return self._missing(f"no valid answer ({skipped} other bytes)" if skipped else "no answer")
            self._sleep(0.005)

    def _streamed(self, port: Port) -> Sequence[Sample | Block]:
        decoded = self._decoder.add(port.read(BYTES_MAX))
        now_ns = self._clock_ns()
        if not len(decoded):
            quiet = self._on_device_clock or not decoded.skipped
            return [] if quiet else [self._missing(f"{decoded.skipped} bytes that are no frame")]
        value = reading(decoded.values)
        if self._on_device_clock:
            return self._numbered(decoded, value, now_ns)
        return self._stamped(value, now_ns)

    def _numbered(self, decoded: Decoded, value: NDArray[np.float64], now_ns: int) -> Sequence[Block]:
        assert self.profile.rate_hz is not None
        numbers = self._counter.numbers(decoded.values[Role.COUNTER].astype(np.int64), now_ns)
        if self.profile.mean_of > 1:
            windows, value = self._means.add(numbers, value)
            numbers = (windows + 1) * self.profile.mean_of  # a mean is stamped at its end
        if not len(numbers):
            return []
        t_ns = np.rint(numbers * (1e9 / self.profile.rate_hz)).astype(np.int64)
        lost = {int(i): "frames were lost" for i in np.flatnonzero(np.isnan(value))}
        return [Block(CHANNEL, t_ns, value, now_ns, lost)]

    def _stamped(self, value: NDArray[np.float64], now_ns: int) -> Sequence[Block]:
        assert self.profile.rate_hz is not None
        step_ns = 1e9 / self.profile.rate_hz
        t_ns = now_ns - np.rint(np.arange(len(value))[::-1] * step_ns).astype(np.int64)
        keep = t_ns > self._last_ns
        if not keep.any():
            return []
        self._last_ns = now_ns
        return [Block(CHANNEL, t_ns[keep], value[keep], now_ns)]
