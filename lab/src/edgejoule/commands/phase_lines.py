"""Reports output lines that begin a phase (`--phase REGEX`) to the supervisor as they arrive."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from pathlib import Path
from typing import IO

_CHUNK_BYTES = 1 << 16
_LINE_BYTES_MAX = 1 << 16


class PhaseLines:
    """Forwards a command's output and reports the lines that begin a phase. The command writes to `writing`.

    pattern: its first group is the phase's name, without a group the whole match. marks: the supervisor's FIFO. output:
    is closed with the last line.
    """

    def __init__(self, pattern: re.Pattern[str], marks: Path, output: IO[bytes]) -> None:
        self._pattern, self._output = pattern, output
        self._failure: OSError | None = None
        self._marks = os.open(marks, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        reading, self.writing = os.pipe2(os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._pass_on, args=(reading,), daemon=True)
        self._thread.start()

    def close_writing(self) -> None:
        """Closes this program's writing end: only the command holds one then."""
        os.close(self.writing)

    def finish(self) -> list[str]:
        """Wait for the last line, when every process of the command has ended; returns names that came too late.

        Raises OSError when the output could not be written.
        """
        self._thread.join()
        late = b""
        with contextlib.suppress(BlockingIOError):
            late = os.read(self._marks, _CHUNK_BYTES)
        os.close(self._marks)
        if self._failure is not None:
            raise self._failure
        return late.decode("utf-8", errors="replace").split("\n")[:-1]

    def _pass_on(self, descriptor: int) -> None:
        line = b""
        with os.fdopen(descriptor, "rb", buffering=0) as reading, self._output as output:
            while chunk := reading.read(_CHUNK_BYTES):
                *complete, line = (line + chunk).split(b"\n")
                for each in complete:
                    self._announce(each)
                line = line[-_LINE_BYTES_MAX:]
                self._write(output, chunk)
            self._announce(line)

    def _write(self, output: IO[bytes], chunk: bytes) -> None:
        """Writes to the output; drops the rest after an error, so that the command never waits for ever."""
        if self._failure is None:
            try:
                output.write(chunk)
            except OSError as error:
                self._failure = error

    def _announce(self, line: bytes) -> None:
        match = self._pattern.search(line.decode("utf-8", errors="replace"))
        if match is None:
            return
        name = ((match[1] if self._pattern.groups else match[0]) or "").strip()
        if name:
            with contextlib.suppress(BlockingIOError):  # the FIFO is full: thousands of names are unread
                os.write(self._marks, f"{name}\n".encode())
