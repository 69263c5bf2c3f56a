"""How fast a data path is. Every test has a bound in time, and in bytes the size of its temporary file. One request at
a time.

`measure_speed` tests requests of 4 KB as a database with one client makes them: synchronous writes, and random reads
past the page cache. `measure_throughput` writes a file with 4 KB blocks as `dd bs=4k conv=fdatasync` and reads it as
`dd bs=4k` after its pages were dropped (Table II of Liu, Wang and Chen, "Understanding Energy Efficiency of Databases
on Single Board Computers for Edge Computing"; the paper states no flags); beside it sequential requests of 1 MB and
random ones of 4 KB past the page cache.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from edgejoule.machine.block_devices import layers_below
from edgejoule.machine.page_cache import RESIDENT_SHARE_MAX, forget, resident_bytes

BLOCK_BYTES = 4096
_CHUNK_BYTES = 1 << 20
_FILE_BYTES_MAX = 64 << 20
LARGE_FILE_BYTES_MAX = 256 << 20
_FILE_BYTES_MIN = 1 << 20
_FLAGS = {"write": os.O_WRONLY, "read": os.O_RDONLY}

OnTest = Callable[[str], None]


@dataclass(frozen=True)
class Speed:
    """One kind of request: how many a second, and their time in µs. None with the reason where it was not measured.

    bytes_each: of a request.
    """

    per_s: float | None
    median_us: float | None
    p99_us: float | None
    why: str | None = None
    bytes_each: int = BLOCK_BYTES

    @classmethod
    def missing(cls, why: str) -> Speed:
        """Not measured."""
        return cls(None, None, None, why)

    @property
    def mb_s(self) -> float | None:
        """Megabytes (10^6) a second."""
        return None if self.per_s is None else self.per_s * self.bytes_each / 1e6


@dataclass(frozen=True)
class PathSpeed:
    """The two figures of a data path; file_bytes: over how large a file the reads were spread."""

    sync_writes: Speed
    random_reads: Speed
    file_bytes: int


@dataclass(frozen=True)
class Throughput:
    """Writing and reading, each in three ways, and synchronous random writes. file_bytes: of the file."""

    dd_write: Speed
    dd_read: Speed
    sequential_write: Speed
    sequential_read: Speed
    random_write: Speed
    random_read: Speed
    sync_write: Speed
    file_bytes: int

    @classmethod
    def missing(cls, why: str) -> Throughput:
        """Not measured."""
        none = Speed.missing(why)
        return cls(none, none, none, none, none, none, none, 0)


def measure_speed(folder: Path, seconds: float) -> PathSpeed:
    """Measure each kind for that many seconds in a scratch file below `folder`, which must exist."""
    try:
        with _scratch_file(folder, _FILE_BYTES_MAX) as path:
            size = _fill(path, seconds, _FILE_BYTES_MAX)
            return PathSpeed(_sync_writes(path, size, seconds), _random_reads(path, size, seconds), size)
    except OSError as error:
        why = f"{folder}: {error.strerror}"
        return PathSpeed(Speed.missing(why), Speed.missing(why), 0)


def measure_throughput(folder: Path, seconds: float, on_test: OnTest = lambda name: None) -> Throughput:
    """Measures each figure in about that many seconds, in a scratch file below `folder`, which must exist.

    The file is as large as can be written with syncs in that time, so that no test takes much longer. on_test: receives
    the name of each test that begins.
    """
    try:
        with _scratch_file(folder, LARGE_FILE_BYTES_MAX) as path:
            on_test("the size of the scratch file")
            size = _fill(path, seconds, LARGE_FILE_BYTES_MAX)
            on_test("writes of 4 KB blocks, as dd")
            dd_write = _dd_write(path, size)
            on_test("reads of 4 KB blocks, as dd")
            dd_read = _dd_read(path, size, folder)
            direct = {}
            for name, bytes_each in (("sequential 1 MB", _CHUNK_BYTES), ("random 4 KB", BLOCK_BYTES)):
                for verb in _FLAGS:
                    on_test(f"{name} {verb}s past the page cache")
                    direct[bytes_each, verb] = _direct(path, size, seconds, verb, bytes_each)
            on_test("synchronous random writes of 4 KB")
            return Throughput(
                dd_write=dd_write,
                dd_read=dd_read,
                sequential_write=direct[_CHUNK_BYTES, "write"],
                sequential_read=direct[_CHUNK_BYTES, "read"],
                random_write=direct[BLOCK_BYTES, "write"],
                random_read=direct[BLOCK_BYTES, "read"],
                sync_write=_sync_writes(path, size, seconds),
                file_bytes=size,
            )
    except OSError as error:
        return Throughput.missing(f"{folder}: {error.strerror}")


@contextlib.contextmanager
def _scratch_file(folder: Path, bytes_max: int) -> Iterator[Path]:
    """Yields a name of a file that has none in the folder, so that it goes with this program, however that ends.

    Raises OSError, also where less than four times that much is free.
    """
    if os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize < 4 * bytes_max:
        raise OSError(errno.ENOSPC, f"less than {4 * bytes_max >> 20} MiB are free")
    with tempfile.TemporaryFile(dir=folder) as file:
        yield Path(f"/proc/self/fd/{file.fileno()}")


def _fill(path: Path, seconds: float, bytes_max: int) -> int:
    """Write as much as goes in that time, at least 1 MiB; the size in bytes."""
    chunk, size, end = os.urandom(_CHUNK_BYTES), 0, time.monotonic() + seconds
    with path.open("r+b", buffering=0) as file:
        while size < _FILE_BYTES_MIN or (size < bytes_max and time.monotonic() < end):
            size += file.write(chunk)
            os.fdatasync(file.fileno())
    return size


def _dd_write(path: Path, size: int) -> Speed:
    """Writes a new file of that size in blocks of 4 KB through the page cache. The time contains a sync at the end."""
    block = os.urandom(BLOCK_BYTES)
    handle = os.open(path, os.O_WRONLY | os.O_TRUNC)
    try:
        os.fsync(handle)  # the old content is gone from the device before the time begins
        began_ns = time.monotonic_ns()
        for _ in range(size // BLOCK_BYTES):
            os.write(handle, block)
        os.fdatasync(handle)
        return Speed(size / BLOCK_BYTES * 1e9 / (time.monotonic_ns() - began_ns), None, None)
    finally:
        os.close(handle)


def _dd_read(path: Path, size: int, folder: Path) -> Speed:
    """Reads the file in blocks of 4 KB through the page cache, which has none of it before, nor of an image below the
    folder.
    """
    images = [Path(layer.name) for layer in layers_below(folder) if layer.kind == "image"]
    forget([path, *(image for image in images if image.is_file() and os.access(image, os.R_OK))])
    if resident_bytes([path]) > RESIDENT_SHARE_MAX * size:
        return Speed.missing("the page cache keeps the file: it lies in memory")
    handle = os.open(path, os.O_RDONLY)
    try:
        began_ns = time.monotonic_ns()
        while os.read(handle, BLOCK_BYTES):
            pass
        return Speed(size / BLOCK_BYTES * 1e9 / (time.monotonic_ns() - began_ns), None, None)
    finally:
        os.close(handle)


def _sync_writes(path: Path, size: int, seconds: float) -> Speed:
    block = os.urandom(BLOCK_BYTES)
    handle = os.open(path, os.O_WRONLY | os.O_DSYNC)
    try:
        return _timed(lambda offset: os.pwrite(handle, block, offset), size, seconds)
    finally:
        os.close(handle)


def _random_reads(path: Path, size: int, seconds: float) -> Speed:
    return _direct(path, size, seconds, "read", BLOCK_BYTES)


def _direct(path: Path, size: int, seconds: float, verb: str, bytes_each: int) -> Speed:
    """Reads or writes past the page cache, blocks of 4 KB in random and larger ones in rising order. verb: read or
    write. The time of writes contains a sync at the end.
    """
    try:
        handle = os.open(path, _FLAGS[verb] | os.O_DIRECT)
    except OSError as error:
        return Speed.missing(f"the file system does not {verb} past the page cache (O_DIRECT): {error.strerror}")
    buffer = mmap.mmap(-1, bytes_each)  # O_DIRECT wants an aligned buffer
    try:
        if verb == "read":
            return _timed(lambda offset: os.preadv(handle, [buffer], offset), size, seconds, bytes_each)
        buffer.write(os.urandom(bytes_each))
        sync = lambda: os.fdatasync(handle)  # noqa: E731
        return _timed(lambda offset: os.pwrite(handle, buffer, offset), size, seconds, bytes_each, sync)
    except OSError as error:
        return Speed.missing(f"a {verb} past the page cache (O_DIRECT) failed: {error.strerror}")
    finally:
        buffer.close()
        os.close(handle)


def _timed(
    request: Callable[[int], object],
    size: int,
    seconds: float,
    bytes_each: int = BLOCK_BYTES,
    finish: Callable[[], object] = lambda: None,
) -> Speed:
    """Makes requests for that many seconds, but not more than the file has blocks; the rate contains `finish`."""
    rng, count = random.Random(1), size // bytes_each
    took_ns: list[int] = []
    began_ns = now_ns = time.monotonic_ns()
    while (now_ns - began_ns < seconds * 1e9 and len(took_ns) < count) or not took_ns:
        request((rng.randrange(count) if bytes_each == BLOCK_BYTES else len(took_ns)) * bytes_each)
        before_ns, now_ns = now_ns, time.monotonic_ns()
        took_ns.append(now_ns - before_ns)
    finish()
    whole_ns = time.monotonic_ns() - began_ns
    ordered = sorted(took_ns)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return Speed(len(took_ns) * 1e9 / whole_ns, statistics.median(ordered) / 1e3, p99 / 1e3, None, bytes_each)
