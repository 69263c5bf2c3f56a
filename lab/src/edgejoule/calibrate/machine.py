"""This machine as a calibration loads it: processes for the CPUs, a thread for storage or a connection to itself."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from edgejoule.calibrate.stages import Stage, StageKind
from edgejoule.errors import EdgejouleError
from edgejoule.machine.burner import Burners
from edgejoule.machine.files import read_text
from edgejoule.meters.plugins.profile.usage import MachineUsage, UsageReader

FILE_BYTES = 128 << 20
BLOCK_BYTES = 1 << 20
_FREE_BYTES_MIN = 4 * FILE_BYTES


class CalibrationError(EdgejouleError):
    """The load could not be made as planned."""


class ThisMachine:
    """A Machine of drive(); a context manager that leaves neither processes nor its scratch file behind.

    folder: where the storage stages write, at most FILE_BYTES at a time.
    """

    def __init__(self, cpus: int, folder: Path, *, storage: bool) -> None:
        self.cpus = cpus
        self._burners = Burners(cpus)
        self._usage = UsageReader(Path("/proc"), Path("/sys"), read_text, with_storage=storage, with_network=False)
        self._file = _scratch(folder) if storage else None
        self._thread: threading.Thread | None = None
        self._failure: OSError | None = None
        self._workers = 0

    @property
    def burners(self) -> Burners:
        """For marker bursts between stages."""
        return self._burners

    def begin(self, stage: Stage, end_ns: int) -> None:
        """Start the stage's load."""
        self._workers = stage.workers if stage.kind is StageKind.CPU else 0
        if self._workers:
            self._burners.share(stage.workers, stage.share, time.monotonic_ns(), end_ns)
        work = {StageKind.WRITE: self._write, StageKind.READ: self._read, StageKind.LOOPBACK: _talk}.get(stage.kind)
        if work is not None:
            self._thread = threading.Thread(target=self._guarded, args=(work, end_ns), daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Wait for the load to be over. Raises CalibrationError when it could not be made."""
        if self._workers:
            self._burners.collect(self._workers)
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._failure is not None:
            raise CalibrationError(f"the load could not be made: {self._failure.strerror}") from self._failure

    def usage(self) -> MachineUsage:
        """Totals of /proc. Raises CalibrationError where they cannot be read."""
        try:
            return self._usage.now()
        except (OSError, ValueError) as error:
            raise CalibrationError(f"utilisation cannot be read: {error}") from error

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC."""
        return time.monotonic_ns()

    def sleep_until(self, t_ns: int) -> None:
        """Sleep."""
        time.sleep(max(0, t_ns - time.monotonic_ns()) / 1e9)

    def close(self) -> None:
        """End the load and remove the scratch file. May be called twice."""
        self._burners.close()
        if self._file is not None:
            os.close(self._file)  # it has no name: closed is removed
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _guarded(self, work: Callable[[int], None], end_ns: int) -> None:
        try:
            work(end_ns)
        except OSError as error:
            self._failure = error

    def _write(self, end_ns: int) -> None:
        assert self._file is not None, "storage stages have a file"
        block, offset = os.urandom(BLOCK_BYTES), 0
        while time.monotonic_ns() < end_ns:
            os.pwrite(self._file, block, offset)
            os.fdatasync(self._file)
            offset = (offset + BLOCK_BYTES) % FILE_BYTES

    def _read(self, end_ns: int) -> None:
        assert self._file is not None, "storage stages have a file"
        size, offset = os.fstat(self._file).st_size, 0
        while time.monotonic_ns() < end_ns and size:
            if offset == 0:
                os.posix_fadvise(self._file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.pread(self._file, BLOCK_BYTES, offset)
            offset = (offset + BLOCK_BYTES) % size


def _scratch(folder: Path) -> int:
    try:
        free = os.statvfs(folder)
        if free.f_bavail * free.f_frsize < _FREE_BYTES_MIN:
            raise CalibrationError(f"{folder}: less than {_FREE_BYTES_MIN >> 20} MiB free; --data names another folder")
        handle, path = tempfile.mkstemp(dir=folder, prefix=".edgejoule-calibrate-")
        Path(path).unlink()
    except OSError as error:
        raise CalibrationError(f"{folder}: cannot be written: {error.strerror}; --data names another folder") from error
    return handle


def _talk(end_ns: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as sender:
        receiver, _ = server.accept()
        with receiver:
            receiver.settimeout(1.0)
            block, room = bytes(1 << 16), bytearray(1 << 16)
            while time.monotonic_ns() < end_ns:
                sender.sendall(block)
                got = 0
                while got < len(block):
                    got += receiver.recv_into(room)
