"""The meter over SCPI: one query per poll, stamped halfway between question and answer, less the profile's lag."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence

from edgejoule.errors import MeterError, UsageError
from edgejoule.extras import install_command
from edgejoule.meters.base import Availability, Channel, Method, Sample
from edgejoule.meters.plugins.scpi.profile import PROFILES, ScpiProfile
from edgejoule.meters.toml_profile import named_profile
from edgejoule.meters.transport.lines import ConnectTcp, PortStream, Stream, connect_tcp, read_line
from edgejoule.meters.transport.serialport import OpenPort, has_pyserial, open_port

CHANNEL = "power"
_TIMEOUT_S = 0.2
_OPEN_S = 2.0
_REOPEN_S = 2.0


class ScpiMeter:
    """host (and tcp_port, else the profile's) for TCP, or port for a serial line.

    connect, open_port, clock_ns: the transport.
    """

    name = "scpi"
    method = Method.MEASURED

    def __init__(
        self,
        profile: str = "yokogawa-wt310",
        host: str | None = None,
        tcp_port: int | None = None,
        port: str | None = None,
        connect: ConnectTcp = connect_tcp,
        open_port: OpenPort = open_port,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        if host is not None and port is not None:
            raise UsageError("scpi: either host (TCP) or port (a serial line), not both")
        self.profile: ScpiProfile = named_profile(profile, PROFILES, ScpiProfile)
        self._host, self._name = host, port
        self._tcp_port = self.profile.tcp_port if tcp_port is None else tcp_port
        self._connect, self._open_port, self._clock_ns = connect, open_port, clock_ns
        self.domain = self.profile.domain
        self.poll_interval_s = self.profile.interval_s
        self._timeout_s = min(_TIMEOUT_S, self.poll_interval_s * 0.8)
        self._stream: Stream | None = None
        self._rest = b""
        self._gone: tuple[int, str] | None = None
        self._identity = ""

    def probe(self) -> Availability:
        """Available when host or port is named: no request is sent for the check."""
        if self._place is None:
            fix = f'name one: scpi = {{ host = "192.0.2.7", profile = "{self.profile.name}" }} or {{ port = ... }}'
            return Availability(False, "no host and no serial port is named", fix)
        if self._host is None and not has_pyserial() and self._open_port is open_port:
            return Availability(False, "pyserial is missing", install_command("serial"))
        return Availability(True, f"{self.profile.instrument} expected at {self._place}")

    def describe(self) -> str:
        """Returns the description of quantity and accuracy."""
        accuracy = self.profile.accuracy
        how = f"±{2 * accuracy.gain_rel:.2%} ±{2 * accuracy.offset_w:.2g} W"
        return f"the {self.domain}'s supply by {self.profile.instrument} over SCPI ({how}, k=2)"

    def facts(self) -> Mapping[str, Sequence[str]]:
        """Where profile and accuracy come from, and what the instrument calls itself."""
        lines = [self.profile.source, f"accuracy: {self.profile.accuracy.source}"]
        return {"scpi profile": lines} | ({"instrument": [self._identity]} if self._identity else {})

    def channels(self) -> Sequence[Channel]:
        """One channel."""
        return [
            Channel(
                meter=self.name,
                name=CHANNEL,
                domain=self.domain,
                kind=self.profile.kind,
                method=self.method,
                gain_rel=self.profile.accuracy.gain_rel,
                offset_w=self.profile.accuracy.offset_w,
                resolution=self.profile.resolution,
            )
        ]

    def open(self) -> None:
        """Connects, checks the instrument's identity, sets the format of its answers. Raises MeterError."""
        self.probe().demand(self.name)
        try:
            self._begin()
        except OSError as error:
            self.close()
            raise MeterError(
                f"{self.name}: {self._place} does not answer *IDN?: {error}; is remote control on, is the port right?"
            ) from error

    def poll(self) -> Sequence[Sample]:
        """One query."""
        before_ns = self._clock_ns()
        try:
            stream = self._reopened(before_ns)
            if stream is None:
                return [self._missing(self._gone[1] if self._gone else "not open")]
            stream.read(0.0)  # an answer that came too late belongs to no question
            self._rest = b""
            value = self.profile.reading(self._ask(stream, self.profile.query, self._timeout_s))
        except (TimeoutError, ValueError) as error:
            return [self._missing(str(error))]
        except (OSError, MeterError) as error:
            self.close()
            self._gone = self._clock_ns(), str(error)
            return [self._missing(str(error))]
        t_ns = (before_ns + self._clock_ns()) // 2 - round(self.profile.lag_s * 1e9)
        return [Sample(CHANNEL, t_ns, value)]

    def close(self) -> None:
        """Hang up. The instrument stays as it was set."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    @property
    def _place(self) -> str | None:
        return self._name if self._host is None else f"{self._host}:{self._tcp_port}"

    def _begin(self) -> None:
        if self._host is not None:
            stream = self._connect(self._host, self._tcp_port, _OPEN_S)
        else:
            assert self._name is not None
            stream = PortStream(self._open_port(self._name, self.profile.port))
        self._stream, self._rest = stream, b""
        self._identity = self._ask(stream, "*IDN?", _OPEN_S)
        if not re.search(self.profile.identity, self._identity):
            self.close()
            raise MeterError(
                f"{self.name}: {self._place} says it is {self._identity[:60]!r}, the profile {self.profile.name} is "
                f"for {self.profile.instrument}; name another profile"
            )
        for command in self.profile.setup:
            stream.write(command.encode() + b"\n")

    def _reopened(self, now_ns: int) -> Stream | None:
        """The connection; of an instrument that has gone one try every other second."""
        if self._stream is None and self._gone is not None and now_ns - self._gone[0] >= _REOPEN_S * 1e9:
            self._begin()
            self._gone = None
        return self._stream

    def _ask(self, stream: Stream, question: str, timeout_s: float) -> str:
        stream.write(question.encode() + b"\n")
        line, self._rest = read_line(stream, self._rest, timeout_s, self._clock_ns)
        return line.decode("ascii", "replace").strip()

    def _missing(self, why: str) -> Sample:
        return Sample(CHANNEL, self._clock_ns() - round(self.profile.lag_s * 1e9), None, why)
