"""Offset and drift between two hosts' CLOCK_MONOTONIC, by exchanges of four timestamps.

A request leaves here at t1 (our clock), arrives there at t2 and is answered at t3 (their clock), and is back at t4.
With offset = their clock - ours, and a time on the way that is never below 0 (RFC 5905, section 8):

    offset = ((t2 - t1) + (t3 - t4)) / 2,   round trip = (t4 - t1) - (t3 - t2),   t3 - t4 <= offset <= t2 - t1

So every exchange bounds the offset, and the shortest way there and the shortest way back, of whichever exchanges, bound
it most narrowly. What divides the round trip cannot be seen from the ends: the offset is anywhere within the bounds, a
rectangular distribution. A series takes a fraction of a second, in which crystals drift by microseconds at most. Two
series, before and after a run, give the drift; in between the offset is on the straight line.

On the wire: one UDP datagram of 56 bytes each way, so that a responder never sends more than it got. Big endian: magic
"EJCK", version 1, 3 bytes of 0, a random number, t1, t2, t3 (0 in a request), ns; then the first 16 bytes of the
HMAC-SHA256 of these 40 under the token (empty on loopback).
"""

from __future__ import annotations

import hmac
import ipaddress
import math
import secrets
import socket
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from edgejoule.errors import DataError, EdgejouleError, UsageError
from edgejoule.meters.clocks import DRIFT_MAX, DRIFT_UNKNOWN, ClockRelation

EXCHANGES = 32
EXCHANGES_MIN = 3
ANSWER_S_MAX = 1.0
PAUSE_S = 0.005
SERVE_S_MAX = 86_400.0
_RECTANGULAR = 1 / math.sqrt(3)
_HEAD = struct.Struct(">4sB3xQqqq")
_MAGIC, _VERSION, _MAC_BYTES = b"EJCK", 1, 16
_DATAGRAM_BYTES = _HEAD.size + _MAC_BYTES
_STEP_S_MAX = 0.2  # longest delay before serve() notices a request to stop

ClockNs = Callable[[], int]


class ClockError(EdgejouleError):
    """The clocks cannot be compared: there is no answer, or the answers contradict each other."""


@dataclass(frozen=True)
class Exchange:
    """Four timestamps, ns: sent and received here, received and sent there (t2, t3 on their clock)."""

    t1_ns: int
    t2_ns: int
    t3_ns: int
    t4_ns: int

    @property
    def offset_ns(self) -> float:
        """Returns their clock minus ours, assuming equal delays in both directions."""
        return ((self.t2_ns - self.t1_ns) + (self.t3_ns - self.t4_ns)) / 2

    @property
    def round_trip_ns(self) -> int:
        """Returns the round-trip time in the network."""
        return (self.t4_ns - self.t1_ns) - (self.t3_ns - self.t2_ns)


@dataclass(frozen=True)
class Offset:
    """Their clock minus ours at our time at_ns. uncertainty_s: standard (k=1). round_trip_s: the shortest."""

    at_ns: int
    offset_ns: int
    uncertainty_s: float
    round_trip_s: float
    exchanges: int
    lost: int = 0


def offset_of(exchanges: Sequence[Exchange], lost: int = 0) -> Offset:
    """The offset from a short series. Raises ClockError for too few, and where a clock was set in between."""
    if len(exchanges) < EXCHANGES_MIN:
        raise ClockError(f"{len(exchanges)} of {len(exchanges) + lost} requests were answered, {EXCHANGES_MIN} needed")
    high_ns = min(x.t2_ns - x.t1_ns for x in exchanges)
    low_ns = max(x.t3_ns - x.t4_ns for x in exchanges)
    first, last = exchanges[0], exchanges[-1]
    moved_ns = DRIFT_MAX * (last.t4_ns - first.t1_ns)
    if low_ns - high_ns > moved_ns:
        raise ClockError("the exchanges contradict each other: one of the clocks was set meanwhile")
    half_s = max(0.0, high_ns - low_ns) / 2e9
    return Offset(
        at_ns=(first.t1_ns + last.t4_ns) // 2,
        offset_ns=(high_ns + low_ns) // 2,
        uncertainty_s=math.hypot(half_s, DRIFT_UNKNOWN * (last.t4_ns - first.t1_ns) / 2e9) * _RECTANGULAR,
        round_trip_s=min(x.round_trip_ns for x in exchanges) / 1e9,
        exchanges=len(exchanges),
        lost=lost,
    )


def relation(before: Offset, after: Offset | None = None) -> ClockRelation:
    """Their clock (the `device` of a ClockRelation) against ours (its `host`).

    With two series the line through both; with one, no drift and the uncertainty of a crystal's. Raises ClockError when
    the offset changed faster than crystals do, and DataError when the second is not after the first.
    """
    if after is None:
        their_ns = before.at_ns + before.offset_ns
        return ClockRelation(their_ns, before.at_ns, 0.0, before.uncertainty_s, DRIFT_UNKNOWN * _RECTANGULAR)
    ours_ns = after.at_ns - before.at_ns
    if ours_ns <= 0:
        raise DataError("the exchanges after the run are not after those before it")
    gained_ns = after.offset_ns - before.offset_ns
    half_s = math.hypot(before.uncertainty_s, after.uncertainty_s)
    if abs(gained_ns) > DRIFT_MAX * ours_ns + 4e9 * half_s:
        raise ClockError(f"the clocks moved apart by {gained_ns / ours_ns * 1e6:+.0f} ppm: one was set or restarted")
    middle_ns = before.at_ns + ours_ns // 2
    return ClockRelation(
        device_ns=middle_ns + before.offset_ns + gained_ns // 2,
        host_ns=middle_ns,
        drift=-gained_ns / (ours_ns + gained_ns),
        offset_s=half_s / 2,
        drift_u=half_s / (ours_ns / 1e9),
    )


class Responder:
    """Answers requests on a UDP socket; usable as a context manager.

    host, port: where to listen, 0 for a free port. Beyond loopback a token is needed. Raises UsageError and ClockError.
    """

    def __init__(
        self, host: str = "127.0.0.1", port: int = 0, token: bytes = b"", clock_ns: ClockNs = time.monotonic_ns
    ) -> None:
        if not token and not is_loopback(host):
            raise UsageError(f"{host} is not loopback: listening there needs a token that both sides know")
        self._token, self._clock_ns = token, clock_ns
        self.answered = self.refused = 0
        family, address = _resolved(host, port)
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        try:
            self._socket.bind(address)
        except OSError as error:
            self._socket.close()
            raise ClockError(f"{host}:{port} cannot be listened on: {error.strerror}") from error

    @property
    def address(self) -> str:
        """Returns the bound HOST:PORT."""
        host, port = self._socket.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def serve(self, seconds: float, stopped: Callable[[], bool] = lambda: False) -> None:
        """Answers requests until the time is over or stopped() returns True."""
        end_s = time.monotonic() + min(seconds, SERVE_S_MAX)
        while not stopped() and (left_s := end_s - time.monotonic()) > 0:
            self._socket.settimeout(min(_STEP_S_MAX, left_s))
            try:
                datagram, sender = self._socket.recvfrom(2 * _DATAGRAM_BYTES)
            except OSError:  # a timeout or a vanished sender does not end the service
                continue
            self._answer(datagram, sender, self._clock_ns())

    def close(self) -> None:
        """Stop listening. May be called twice."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def _answer(self, datagram: bytes, sender: Any, received_ns: int) -> None:
        asked = _read(datagram, self._token)
        if asked is None:
            self.refused += 1
            return
        number, t1_ns, _, _ = asked
        answer = _datagram(number, t1_ns, received_ns, self._clock_ns(), self._token)
        try:
            self._socket.sendto(answer, sender)
            self.answered += 1
        except OSError:
            self.refused += 1


def compare(
    address: str,
    exchanges: int = EXCHANGES,
    token: bytes = b"",
    clock_ns: ClockNs = time.monotonic_ns,
    answer_s_max: float = ANSWER_S_MAX,
) -> Offset:
    """One series with a responder at HOST:PORT. Ends within (3 + exchanges / 8) answer_s_max also where nobody answers.

    Raises ClockError when too few answers come, UsageError for a bad address.
    """
    host, port = parse_address(address)
    family, target = _resolved(host, port)
    answers: list[Exchange] = []
    lost = 0
    with socket.socket(family, socket.SOCK_DGRAM) as channel:
        channel.settimeout(answer_s_max)
        try:
            channel.connect(target)
            while len(answers) < exchanges and lost < EXCHANGES_MIN + exchanges // 8:
                answer = _asked(channel, token, clock_ns)
                answers, lost = ([*answers, answer], lost) if answer else (answers, lost + 1)
                time.sleep(PAUSE_S)
        except OSError as error:
            raise ClockError(
                f"{address}: {error.strerror or error}; is `edgejoule clock serve` running there?"
            ) from error
    if len(answers) < EXCHANGES_MIN:
        raise ClockError(
            f"{address}: {len(answers)} of {len(answers) + lost} requests were answered; is `edgejoule clock serve` "
            "running there, with the same token?"
        )
    return offset_of(answers, lost)


def parse_address(text: str) -> tuple[str, int]:
    """HOST:PORT or [IPv6]:PORT. Raises UsageError."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or len(port) > len("65535") or int(port) > 65535:
        raise UsageError(f"{text!r}: expected HOST:PORT")
    try:
        host.encode("idna")
    except UnicodeError:
        raise UsageError(f"{text!r}: {host!r} cannot be a host's name") from None
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Returns whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _resolved(host: str, port: int) -> tuple[socket.AddressFamily, tuple[str, int]]:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    except OSError as error:
        raise ClockError(f"{host}: no such host: {error.strerror}") from error
    return family, (str(address[0]), int(address[1]))


def _asked(channel: socket.socket, token: bytes, clock_ns: ClockNs) -> Exchange | None:
    """One exchange; None when no answer to it came in time. Ignores late answers to earlier exchanges."""
    number = secrets.randbits(64)
    t1_ns = clock_ns()
    channel.send(_datagram(number, t1_ns, 0, 0, token))
    end_s = time.monotonic() + (channel.gettimeout() or ANSWER_S_MAX)
    while time.monotonic() < end_s:
        try:
            datagram = channel.recv(2 * _DATAGRAM_BYTES)
        except TimeoutError:
            return None
        t4_ns = clock_ns()
        answer = _read(datagram, token)
        if answer is not None and answer[:2] == (number, t1_ns) and answer[2]:
            return Exchange(t1_ns, answer[2], answer[3], t4_ns)
    return None


def _datagram(number: int, t1_ns: int, t2_ns: int, t3_ns: int, token: bytes) -> bytes:
    head = _HEAD.pack(_MAGIC, _VERSION, number, t1_ns, t2_ns, t3_ns)
    return head + hmac.digest(token, head, "sha256")[:_MAC_BYTES]


def _read(datagram: bytes, token: bytes) -> tuple[int, int, int, int] | None:
    """Returns number, t1, t2, t3; None for a packet that is foreign, damaged, or made with another token."""
    head, mac = datagram[: _HEAD.size], datagram[_HEAD.size :]
    if len(datagram) != _DATAGRAM_BYTES or not hmac.compare_digest(
        hmac.digest(token, head, "sha256")[:_MAC_BYTES], mac
    ):
        return None
    magic, version, number, t1_ns, t2_ns, t3_ns = _HEAD.unpack(head)
    return (number, t1_ns, t2_ns, t3_ns) if (magic, version) == (_MAGIC, _VERSION) else None
