"""What meters with a stream have in common: a channel on the device's own clock, and a link that may break."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from edgejoule.errors import DataError, MeterError
from edgejoule.meters.base import Block, Channel, Clock, Domain, Method, ValueKind

CHANNEL = "power"
REOPEN_S = 2.0

Link = TypeVar("Link")
Received = TypeVar("Received")


class StreamedChannel:
    """One channel of a board's supply, on the device's clock. What a subclass declares is explained at base.Channel."""

    name: str
    method = Method.MEASURED
    domain = Domain.BOARD
    channel_name = CHANNEL
    kind = ValueKind.INSTANT
    gain_rel: float
    offset_w: float
    interval_s: float
    delay_s_max: float

    def channels(self) -> Sequence[Channel]:
        """One channel."""
        return [
            Channel(
                meter=self.name,
                name=self.channel_name,
                domain=self.domain,
                kind=self.kind,
                method=self.method,
                gain_rel=self.gain_rel,
                offset_w=self.offset_w,
                resolution=0.0,
                clock=Clock.DEVICE,
                interval_s=self.interval_s,
                delay_s_max=self.delay_s_max,
            )
        ]


class StreamingMeter(StreamedChannel, ABC, Generic[Link, Received]):
    """A link to a device that streams. When the link breaks, it is reopened every REOPEN_S.

    A subclass opens `_link` in open() and in `_reconnect`. heard: the number of the newest sample and when it came.
    """

    def __init__(self, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock_ns = clock_ns
        self._link: Link | None = None
        self._gone_ns: int | None = None
        self._heard: tuple[int, int] | None = None

    @abstractmethod
    def _receive(self, link: Link) -> Received:
        """What has come since; at once. Raises OSError when the link is broken."""

    @abstractmethod
    def _blocks(self, received: Received, now_ns: int) -> Sequence[Block]:
        """The readings in what has come."""

    @abstractmethod
    def _reconnect(self) -> None:
        """Open the link again, if the device is there. Raises OSError, MeterError or DataError when it cannot."""

    @abstractmethod
    def _end(self, link: Link) -> None:
        """End sampling and let go of the link. May raise OSError."""

    def _abandon(self, link: Link) -> None:
        """Let go of a link that is broken. May raise OSError."""
        self._end(link)

    def poll(self) -> Sequence[Block]:
        """The readings that have come since."""
        try:
            link = self._reopened()
            if link is None:
                return []
            received = self._receive(link)
        except (OSError, MeterError, DataError):
            self._lose()
            return []
        return self._blocks(received, self._clock_ns())

    def close(self) -> None:
        """End sampling. The board keeps its supply."""
        link, self._link = self._link, None
        if link is not None:
            with contextlib.suppress(OSError):  # it is gone already
                self._end(link)

    def _number_after_break(self, step_ns: int) -> int:
        """A restarted clock continues where the host's clock places it: the number of the next sample."""
        if self._heard is None:
            return 0
        number, heard_ns = self._heard
        return number + 1 + (self._clock_ns() - heard_ns) // step_ns

    def _lose(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            with contextlib.suppress(OSError):
                self._abandon(link)
        self._gone_ns = self._clock_ns()

    def _reopened(self) -> Link | None:
        if self._link is None and self._gone_ns is not None:
            now_ns = self._clock_ns()
            if now_ns - self._gone_ns >= REOPEN_S * 1e9:
                self._gone_ns = now_ns
                self._reconnect()
        return self._link
