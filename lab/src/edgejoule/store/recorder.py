"""Writes a sampler's readings into the store during a run, twice a second, from a separate thread.

A run that is over within FIRST_WRITE_S is written once, when it ends: the thread then does nothing, and a connection of
its own and the writes of half seconds would take more CPU time than the readings did.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from edgejoule.errors import StoreError
from edgejoule.meters.sampler import Sampler
from edgejoule.store.traces import ChannelRows
from edgejoule.unusable_files import reason

FIRST_WRITE_S = 2.0  # a run that is cut off earlier loses its readings
WRITE_INTERVAL_S = 0.5  # what a run that is cut off later loses at most


class TraceRecorder:
    """Takes the readings of samplers until the block ends; the samplers no longer hold them.

    run_id: of `Store.begin`. connection: of the thread that makes the recorder; without it the recorder opens one. The
    thread that writes during the run has its own connection. Leaving the block writes the rest; StoreError when a
    write failed, the readings since then are lost.
    """

    def __init__(
        self, store: Path, run_id: int, samplers: Sequence[Sampler], connection: sqlite3.Connection | None = None
    ) -> None:
        self._store = store
        self._connection = connection
        self._run_id = run_id
        self._samplers = samplers
        self._rows: dict[tuple[str, str], ChannelRows] = {}
        self.cpu_s = 0.0  # of all writes, complete when the block has ended
        self._begun = False  # the thread has written
        self._stopping = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="trace-recorder", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()
        if not self._begun and self._failure is None:
            self._record_whole()
        if self._failure is not None and kind is None:
            why = self._failure
            text = reason(why, self._store) if isinstance(why, OSError | sqlite3.Error) else why
            raise StoreError(f"{self._store}: the traces cannot be written: {text}") from why

    def _run(self) -> None:
        if self._stopping.wait(FIRST_WRITE_S):
            return
        self._begun = True
        try:
            with contextlib.closing(self._connected()) as connection:
                self._write(connection)
                while not self._stopping.wait(WRITE_INTERVAL_S):
                    self._write(connection)
                self._write(connection)
        except Exception as error:  # noqa: BLE001 - reported when the block ends, it must not end unseen here
            self._failure = error

    def _record_whole(self) -> None:
        """Write all readings of a short run, in the thread that ends it."""
        try:
            if self._connection is not None:
                self._write(self._connection)
                return
            with contextlib.closing(self._connected()) as connection:
                self._write(connection)
        except Exception as error:  # noqa: BLE001 - the caller reports it
            self._failure = error

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._store, timeout=10, isolation_level=None)
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    def _write(self, connection: sqlite3.Connection) -> None:
        cpu_begin_s = time.thread_time()
        taken = [trace for sampler in self._samplers for trace in sampler.take()]
        connection.execute("BEGIN IMMEDIATE")
        try:
            for trace in taken:
                key = trace.channel.meter, trace.channel.name
                if key not in self._rows:
                    self._rows[key] = ChannelRows(connection, self._run_id, trace.channel, trace.interval_s)
                self._rows[key].append(trace)
                self._rows[key].flush()
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        self.cpu_s += time.thread_time() - cpu_begin_s
