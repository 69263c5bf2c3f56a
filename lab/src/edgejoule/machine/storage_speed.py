"""How fast a data path is at 4 KB: synchronous writes, and random reads past the page cache. Bounded in time.

Both use a temporary file, one request at a time, as a database with one client asks.
"""

from __future__ import annotations

import mmap
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

BLOCK_BYTES = 4096
_FILE_BYTES_MAX = 64 << 20
_FILE_BYTES_MIN = 1 << 20
_FREE_BYTES_MIN = 4 * _FILE_BYTES_MAX


@dataclass(frozen=True)
class Speed:
    """One kind of request: how many a second, and their time in µs. None with the reason where it was not measured."""

    per_s: float | None
    median_us: float | None
    p99_us: float | None
    why: str | None = None

    @classmethod
    def missing(cls, why: str) -> Speed:
        """Not measured."""
        return cls(None, None, None, why)


@dataclass(frozen=True)
class PathSpeed:
    """The two figures of a data path; file_bytes: over how large a file the reads were spread."""

    sync_writes: Speed
    random_reads: Speed
    file_bytes: int


def measure_speed(folder: Path, seconds: float) -> PathSpeed:
    """Measure each kind for that many seconds in a scratch file below `folder`, which must exist."""
    try:
        if os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize < _FREE_BYTES_MIN:
            why = f"less than {_FREE_BYTES_MIN >> 20} MiB are free in {folder}"
            return PathSpeed(Speed.missing(why), Speed.missing(why), 0)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".edgejoule-speed-") as file:
            path = Path(file.name)
            size = _fill(path, seconds)
            return PathSpeed(_sync_writes(path, size, seconds), _random_reads(path, size, seconds), size)
    except OSError as error:
        why = f"{folder}: {error.strerror}"
        return PathSpeed(Speed.missing(why), Speed.missing(why), 0)


def _fill(path: Path, seconds: float) -> int:
    """Write as much as goes in that time, at least 1 MiB; the size in bytes."""
    chunk, size, end = os.urandom(1 << 20), 0, time.monotonic() + seconds
    with path.open("r+b", buffering=0) as file:
        while size < _FILE_BYTES_MIN or (size < _FILE_BYTES_MAX and time.monotonic() < end):
            size += file.write(chunk)
            os.fdatasync(file.fileno())
    return size


def _sync_writes(path: Path, size: int, seconds: float) -> Speed:
    block = os.urandom(BLOCK_BYTES)
    handle = os.open(path, os.O_WRONLY | os.O_DSYNC)
    try:
        return _timed(lambda offset: os.pwrite(handle, block, offset), size, seconds)
    finally:
        os.close(handle)


def _random_reads(path: Path, size: int, seconds: float) -> Speed:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECT)
    except OSError as error:
        return Speed.missing(f"the file system does not read past the page cache (O_DIRECT): {error.strerror}")
    page = mmap.mmap(-1, BLOCK_BYTES)  # O_DIRECT wants an aligned buffer
    try:
        return _timed(lambda offset: os.preadv(handle, [page], offset), size, seconds)
    except OSError as error:
        return Speed.missing(f"a read past the page cache (O_DIRECT) failed: {error.strerror}")
    finally:
        page.close()
        os.close(handle)


def _timed(request: Callable[[int], object], size: int, seconds: float) -> Speed:
    rng = random.Random(1)
    took_ns: list[int] = []
    began_ns = now_ns = time.monotonic_ns()
    while now_ns - began_ns < seconds * 1e9 or not took_ns:
        request(rng.randrange(size // BLOCK_BYTES) * BLOCK_BYTES)
        before_ns, now_ns = now_ns, time.monotonic_ns()
        took_ns.append(now_ns - before_ns)
    ordered = sorted(took_ns)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return Speed(len(took_ns) * 1e9 / (now_ns - began_ns), statistics.median(ordered) / 1e3, p99 / 1e3)
