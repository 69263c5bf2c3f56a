"""Writes what a sampler gathers into the store while a run is under way, twice a second, from a thread of its own."""

from __future__ import annotations

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

WRITE_INTERVAL_S = 0.5  # what a cut-off run loses at most


class TraceRecorder:
    """Takes the readings of samplers until the block ends; the samplers no longer hold them.

    run_id: of `Store.begin`. Has a connection of its own. Leaving the block writes the rest; StoreError when a write
    failed, the readings since then are lost.
    """

    def __init__(self, store: Path, run_id: int, samplers: Sequence[Sampler]) -> None:
        self._store = store
        self._run_id = run_id
        self._samplers = samplers
        self._rows: dict[tuple[str, str], ChannelRows] = {}
        self.cpu_s = 0.0  # of the thread, complete when the block has ended
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
        if self._failure is not None and kind is None:
            raise StoreError(f"{self._store}: the traces cannot be written: {self._failure}") from self._failure

    def _run(self) -> None:
        try:
            connection = sqlite3.connect(self._store, timeout=10, isolation_level=None)
            try:
                connection.execute("PRAGMA synchronous = NORMAL")
                while not self._stopping.wait(WRITE_INTERVAL_S):
                    self._write(connection)
                self._write(connection)
            finally:
                connection.close()
        except Exception as error:  # noqa: BLE001 - told when the block ends, it must not end unseen here
            self._failure = error

    def _write(self, connection: sqlite3.Connection) -> None:
        taken = [trace for sampler in self._samplers for trace in sampler.take()]
        connection.execute("BEGIN IMMEDIATE")
        for trace in taken:
            key = trace.channel.meter, trace.channel.name
            if key not in self._rows:
                self._rows[key] = ChannelRows(connection, self._run_id, trace.channel, trace.interval_s)
            self._rows[key].append(trace)
            self._rows[key].flush()
        connection.execute("COMMIT")
        self.cpu_s = time.thread_time()
