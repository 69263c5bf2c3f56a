"""What meters of small files have in common: each channel is polled from Python, or streamed by the native sampler."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from edgejoule.errors import MeterError
from edgejoule.meters.base import Block, Sample
from edgejoule.meters.transport.filestream import GATHER_S, FileReadings, FileStream, ReadingPace, started_stream


class FileSource(Protocol):
    """Where one channel's readings come from."""

    @property
    def channel(self) -> str:
        """The channel's name."""
        ...

    @property
    def files(self) -> Sequence[Path]:
        """The files of one reading, in this order."""
        ...


S = TypeVar("S", bound=FileSource)


class FileMeter(ABC, Generic[S]):
    """One channel per source. A subclass finds the sources when it is opened, and then calls begin().

    gather_s: see base.Meter; known after begin().
    """

    def __init__(self, pace: ReadingPace, clock_ns: Callable[[], int]) -> None:
        self._pace, self._clock_ns = pace, clock_ns
        self.poll_interval_s = pace.poll_interval_s
        self._sources: list[S] = []
        self._stream: FileStream | None = None
        self.gather_s: float | None = None

    @abstractmethod
    def sample(self, source: S) -> Sample:
        """A reading from Python, now. A failed one is missing."""

    @abstractmethod
    def block(self, source: S, readings: FileReadings, place: int) -> Block:
        """What the native sampler has read; the source's files begin at column `place`."""

    @property
    def interval_s(self) -> float | None:
        """Between readings of a stream; None: poll_interval_s."""
        return self._pace.interval_s if self._pace.is_stream else None

    def begin(self) -> None:
        """Start the native sampler where the pace asks for it. Raises MeterError where Python cannot take its place."""
        files = [file for source in self._sources for file in source.files]
        if self._pace.is_stream:
            assert self._pace.program is not None, "a stream has a program"
            self._stream = FileStream(self._pace.program, files, self._pace.interval_s)
            self._stream.start()
            return
        self._stream = started_stream(self._pace.program, files, self.poll_interval_s)
        self.gather_s = GATHER_S if self._stream is not None else None

    def poll(self) -> Sequence[Sample | Block]:
        """Every source now; with the native sampler all readings since the last poll."""
        return list(map(self.sample, self._sources)) if self._stream is None else self._streamed(self._stream)

    def helper_cpu_s(self) -> float:
        """CPU time of the native sampler so far."""
        return 0.0 if self._stream is None else self._stream.cpu_s()

    def close(self) -> None:
        """End the native sampler; nothing else is held open."""
        if self._stream is not None:
            self._stream.close()
        self._stream = None
        self._sources = []

    def _streamed(self, stream: FileStream) -> Sequence[Sample | Block]:
        try:
            readings = stream.ask()
        except (OSError, MeterError) as error:
            return [Sample(source.channel, self._clock_ns(), None, str(error)) for source in self._sources]
        blocks, place = [], 0
        for source in self._sources:
            blocks.append(self.block(source, readings, place))
            place += len(source.files)
        return blocks
