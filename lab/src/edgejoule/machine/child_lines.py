"""The lines of a child process, as they come and within a time limit."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from typing import IO, Self

_END_S = 5.0  # for the last output of a child that has ended


class ChildLines:
    """Iterates over the lines that a child writes to one stream; a thread reads its other one, so that neither fills.

    A context manager: the child is killed when it still runs timeout_s after the beginning. Wait for the child within.
    """

    def __init__(
        self, process: subprocess.Popen[str], stream: IO[str] | None, other: IO[str] | None, timeout_s: float
    ) -> None:
        assert stream is not None, "both streams are pipes"
        assert other is not None, "both streams are pipes"
        self._process, self._stream, self._other = process, stream, other
        self._other_lines: list[str] = []
        self._reader = threading.Thread(target=lambda: self._other_lines.extend(self._other), daemon=True)
        self._timer = threading.Timer(timeout_s, self._end_late)
        self.late = False  # it was killed at the time limit

    def __enter__(self) -> Self:
        self._reader.start()
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def __iter__(self) -> Iterator[str]:
        return iter(self._stream)

    def other_text(self) -> str:
        """What the child wrote to the other stream, when it has ended."""
        self._reader.join(_END_S)
        return "".join(self._other_lines)

    def _end_late(self) -> None:
        self.late = True
        self._process.kill()
