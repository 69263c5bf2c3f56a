"""Small files read by the native sampler: a program that keeps the readings until it is asked.

One question a poll; the answer reaches up to the question. The format of the answers: sampler/README.md. Without the
program a meter polls from Python, at most POLL_HZ_MAX times a second.
"""

from __future__ import annotations

import os
import select
import shutil
import struct
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgejoule.errors import MeterError
from edgejoule.machine import process_clock
from edgejoule.machine.files import ReadText, read_text
from edgejoule.meters.options import checked_number

PROGRAM = "edgejoule-sampler"
POLL_INTERVAL_S = 0.1  # between questions to a program that reads faster than Python could
GATHER_S = 2.0  # between questions to a program that reads no faster than that; it keeps 4 s of readings and more
CPU_TIMES = "cpu-times:"  # before a path: the text of /proc/stat, with two values (sampler/README.md)
POLL_HZ_MAX = 100  # of polling from Python where the program is not built
INTERVAL_S_MIN, INTERVAL_S_MAX = 1e-4, 1.0
_ANSWER_TIMEOUT_S = 1.0
_MAGIC = 0x31534A45
_PART_BYTES = 1 << 16  # what a pipe holds
_HEADER = struct.Struct("=4I")  # magic, rows, columns, rows left out
_READING = np.dtype([("t_ns", "=i8"), ("value", "=i8"), ("error", "=i4"), ("skipped", "=u4")])
_REASONS = {-1: "expected a whole number", -2: "expected the CPU times of /proc/stat"}


def sampler_path() -> Path | None:
    """The program: $EDGEJOULE_SAMPLER, else build/bin of the source tree this package lies in, else PATH; else None."""
    if named := os.environ.get("EDGEJOULE_SAMPLER"):
        return Path(named)
    built = [parent / "build/bin" / PROGRAM for parent in Path(__file__).resolve().parents]
    on_path = shutil.which(PROGRAM)
    candidates = [*built, *([Path(on_path)] if on_path else [])]
    return next((path for path in candidates if path.is_file() and os.access(path, os.X_OK)), None)


@dataclass(frozen=True)
class ReadingPace:
    """How often a meter that reads files is read, and by whom. program: the native sampler, None: polled from Python.

    poll_interval_s: between polls from Python. interval_s: between readings; a stream has more readings than polls.
    """

    interval_s: float
    poll_interval_s: float
    program: Path | None
    sentence: str

    @property
    def is_stream(self) -> bool:
        """Python could not read as fast."""
        return self.program is not None and self.interval_s * POLL_HZ_MAX < 1


def reads_files(read: ReadText, clock_ns: Callable[[], int]) -> bool:
    """Whether a meter with this transport reads this machine's files, as the native sampler does."""
    return read is read_text and clock_ns is time.monotonic_ns


def pace(meter: str, interval_s: float | None, default_s: float, *, native: bool = True) -> ReadingPace:
    """For that meter's option `interval_s` (None: default_s). native: whether the native sampler may read instead of
    Python where Python is fast enough. Raises UsageError for an interval that cannot be kept.
    """
    asked_s = default_s
    if interval_s is not None:
        asked_s = checked_number(meter, "interval_s", interval_s, INTERVAL_S_MIN, INTERVAL_S_MAX)
    if asked_s * POLL_HZ_MAX >= 1:
        return ReadingPace(asked_s, asked_s, sampler_path() if native else None, f"every {asked_s * 1e3:g} ms")
    if program := sampler_path():
        return ReadingPace(asked_s, POLL_INTERVAL_S, program, f"every {asked_s * 1e3:g} ms by {PROGRAM}")
    kept_s = 1 / POLL_HZ_MAX
    message = f"every {kept_s * 1e3:g} ms instead of {asked_s * 1e3:g}: {PROGRAM} is not built (make build)"
    return ReadingPace(kept_s, kept_s, None, message)


@dataclass(frozen=True, eq=False)
class FileReadings:
    """What the files held. t_ns, value, error: (rows, columns). value is NaN where error is not 0."""

    t_ns: NDArray[np.int64]
    value: NDArray[np.float64]
    error: NDArray[np.int32]
    arrived_ns: int

    def reasons(self, column: int) -> dict[int, str]:
        """Row -> why there is no value."""
        error = self.error[:, column]
        return {int(row): reason_of(int(error[row])) for row in np.flatnonzero(error)} if error.any() else {}


def reason_of(error: int) -> str:
    """Returns a reading's error message."""
    return _REASONS.get(error) or os.strerror(error)


def started_stream(program: Path | None, files: Sequence[Path | str], interval_s: float) -> FileStream | None:
    """The program at work; None where it is not built or cannot be started, and the meter is polled from Python."""
    if program is None:
        return None
    stream = FileStream(program, files, interval_s)
    try:
        stream.start()
    except MeterError:
        return None
    return stream


class FileStream:
    """The program at work on these files, from start() or the first question on. Not for several threads.

    files: paths, or CPU_TIMES and a path. interval_s: time between readings of one file.
    """

    def __init__(self, program: Path, files: Sequence[Path | str], interval_s: float) -> None:
        self._command = [str(program), str(round(interval_s * 1e9)), *map(str, files)]
        self._columns = sum(2 if str(file).startswith(CPU_TIMES) else 1 for file in files)
        self._process: subprocess.Popen[bytes] | None = None
        self._ended_cpu_s = 0.0

    @property
    def pid(self) -> int | None:
        """The program's process id, None before the start."""
        return None if self._process is None else self._process.pid

    def cpu_s(self) -> float:
        """CPU time of the program so far, those before it that have ended included."""
        return self._ended_cpu_s + self._running_cpu_s()

    def start(self) -> None:
        """Raises MeterError when the program cannot be started."""
        try:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        except OSError as error:
            raise MeterError(f"{self._command[0]} cannot be started: {error}") from error

    def ask(self) -> FileReadings:
        """All readings since the last question, and one taken just now.

        Raises OSError or MeterError when the program is gone; the next request restarts it.
        """
        if self._process is None:
            self.start()
        try:
            return self._answer()
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """End the program; may be called twice."""
        self._ended_cpu_s += self._running_cpu_s()
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            process.wait(_ANSWER_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _running_cpu_s(self) -> float:
        if self._process is None:
            return 0.0
        try:
            return process_clock.cpu_s(self._process.pid)
        except OSError:
            return 0.0  # it has been killed, and its last readings are lost

    def _answer(self) -> FileReadings:
        assert self._process is not None, "started"
        assert self._process.stdin is not None, "started with pipes"
        self._process.stdin.write(b"?")
        body = self._read(b"", _HEADER.size)
        magic, rows, columns, _ = _HEADER.unpack_from(body)
        if magic != _MAGIC or columns != self._columns:
            raise OSError(f"the answer of {PROGRAM} begins with {body[:16].hex()}")
        body = self._read(body, _HEADER.size + rows * columns * _READING.itemsize)
        result = np.frombuffer(body, _READING, rows * columns, _HEADER.size).reshape(rows, columns)
        value, error = result["value"].astype(np.float64), result["error"]
        if error.any():
            value[error != 0] = np.nan
        return FileReadings(result["t_ns"], value, error, time.monotonic_ns())

    def _read(self, body: bytes, count: int) -> bytes:
        """At least so many bytes, those of body first."""
        assert self._process is not None, "started"
        assert self._process.stdout is not None, "started with pipes"
        descriptor = self._process.stdout.fileno()
        while len(body) < count:
            if not select.select([descriptor], [], [], _ANSWER_TIMEOUT_S)[0]:
                raise OSError(f"{PROGRAM} has not answered for {_ANSWER_TIMEOUT_S:g} s")
            part = os.read(descriptor, _PART_BYTES)
            if not part:
                raise OSError(f"{PROGRAM} has ended")
            body += part
        return body
