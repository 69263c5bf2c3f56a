"""Watches and measures a server while a client works on it, and reports its log when something fails."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgejoule.database_servers.cold import ColdStart, cool
from edgejoule.database_servers.options import OWN
from edgejoule.database_servers.server import LOGS, DatabaseServer, NotReadyError, ServerUsage
from edgejoule.errors import DatabaseError
from edgejoule.machine.storage_counters import StorageCounters

LOOK_S = 0.2
GRACE_S = 3.0  # in which a client may report itself that its server has ended
_FULL_BYTES = 1 << 20


@dataclass(frozen=True)
class ServerUse:
    """Use of the server's processes from the first operation to the end of settling. None: unknown, as most values of
    a server that the user runs. device_read_bytes, device_write_bytes: of the whole block device below its data.
    counted: clients' operations since the server's start for the run, a warm-up's included, by the server's own names.
    """

    cpu_s: float | None
    cpu_active_s: float | None
    rss_peak_bytes: int | None
    read_bytes: int | None
    write_bytes: int | None
    device_read_bytes: int | None
    device_write_bytes: int | None
    counted: Mapping[str, int]
    started_s: float

    def facts(self) -> dict[str, Any]:
        """Returns the values for the run's record."""
        return {
            "cpu_s": self.cpu_s and round(self.cpu_s, 4),
            "cpu_active_s": self.cpu_active_s and round(self.cpu_active_s, 4),
            "rss_peak_bytes": self.rss_peak_bytes,
            "read_bytes": self.read_bytes,
            "write_bytes": self.write_bytes,
            "operations": dict(self.counted),
            "start_s": round(self.started_s, 3),
        }


class Serving:
    """Watches a server from its start to its stop. end_client: called to end the client when the server is in trouble.

    close() ends the watching thread. cold: the caches that cool() left; None: it was not called.
    """

    def __init__(self, server: DatabaseServer, started_s: float) -> None:
        self.server, self._started_s = server, started_s
        self.end_client: Callable[[], None] = lambda: None
        self.trouble: str | None = None
        self.cold: ColdStart | None = None
        self._peak_bytes = 0
        self._looking = threading.Lock()
        self._ended_client = False
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._at: dict[str, tuple[ServerUsage, StorageCounters]] = {}
        self._reported_cpu_s: dict[str, float] = {}
        self._counted_before = self._counted()  # now: the client's first event arrives after its first operation
        self._thread.start()

    def mark(self, moment: str) -> None:
        """Records the use at the begin of `active`, `active_end` or `settled`, which is now."""
        if moment in self._at:
            return
        self._at[moment] = (self._usage(), StorageCounters.of(self.server.folder))

    def hear(self, event: Mapping[str, Any]) -> None:
        """Handles an event of the client."""
        if event["event"] == "start" and not self.server.version:
            self.server.version = event["database"]["version"]
        if event.get("server_cpu_ns") is not None:
            self._reported_cpu_s[event["event"]] = event["server_cpu_ns"] / 1e9
        if event["event"] == "phase" and event["phase"] == "active":
            self.mark("active")
        elif event["event"] in ("active_end", "settled"):
            self.mark(event["event"])

    def quiet(self, place: str, settle_timeout_s: float, seconds: float) -> dict[str, Any]:
        """Leaves the server open without requests and returns the event quiet_end. place: before or after the run."""
        settled = self.server.await_settled(settle_timeout_s if place == "before" else 0)
        begin_ns, cpu_s = time.monotonic_ns(), self.server.usage().cpu_s
        time.sleep(seconds)
        cpu_ns = int((self.server.usage().cpu_s - cpu_s) * 1e9)
        return {
            "event": "quiet_end", "monotonic_ns": time.monotonic_ns(), "quiet_start_ns": begin_ns, "place": place,
            "settled": settled.complete, "cpu_ns": cpu_ns,
        }  # fmt: skip

    def cool(self, settle_timeout_s: float) -> ColdStart:
        """Makes the caches cold just before the first operation. Raises DatabaseError."""
        self.cold = cool(self.server, settle_timeout_s)
        return self.cold

    def served(self) -> ServerUse:
        """Returns the use of a run whose moments have all been marked and whose client has ended."""
        if not self.server.observed:
            cpu_s, cpu_active_s = (self._reported_cpu_s.get(moment) for moment in ("settled", "active_end"))
            return ServerUse(cpu_s, cpu_active_s, None, None, None, None, None, {}, self._started_s)
        (begin, storage_begin), (active_end, _), (end, storage_end) = (
            self._at[moment] for moment in ("active", "active_end", "settled")
        )
        storage = storage_end.since(storage_begin)
        return ServerUse(
            cpu_s=end.cpu_s - begin.cpu_s,
            cpu_active_s=active_end.cpu_s - begin.cpu_s,
            rss_peak_bytes=self._peak_bytes,
            read_bytes=end.read_bytes - begin.read_bytes,
            write_bytes=end.write_bytes - begin.write_bytes,
            device_read_bytes=storage.read_bytes,
            device_write_bytes=storage.write_bytes,
            counted={name: n - self._counted_before.get(name, 0) for name, n in self._counted().items()},
            started_s=self._started_s,
        )

    def database_events(self, begin_ns: int, end_ns: int) -> list[dict[str, Any]]:
        """Returns the server's background work between two times of CLOCK_MONOTONIC, in the driver's form."""
        ahead_ns = time.time_ns() - time.monotonic_ns()
        events = []
        for work in self.server.work():
            at = work.begin_realtime_ns - ahead_ns
            if at <= end_ns and at + (work.duration_ns or 0) >= begin_ns:
                events.append({
                    "event": "database", "monotonic_ns": at, "kind": work.kind, "duration_ns": work.duration_ns,
                    "read_bytes": None, "write_bytes": work.write_bytes, "detail": work.detail,
                })  # fmt: skip
        return events

    def cause(self, error: DatabaseError) -> str:
        """Returns why a run failed: the server's incident, the client's message, and the end of the server's log."""
        causes = [self.trouble or self.server.trouble() or ""]
        causes += [] if self._ended_client else [str(error)]
        if self.server.observed and shutil.disk_usage(self.server.folder).free < _FULL_BYTES:
            causes.append(f"the file system of {self.server.folder} is full")
        return "; ".join([*filter(None, causes), self.server.last_output()])

    def close(self) -> None:
        """Ends the watch."""
        self._done.set()
        self._thread.join()

    def _counted(self) -> Mapping[str, int]:
        with contextlib.suppress(NotReadyError):
            return self.server.operations()
        return {}

    def _usage(self) -> ServerUsage:
        with self._looking:
            usage = self.server.usage()
            self._peak_bytes = max(self._peak_bytes, usage.rss_bytes)
        return usage

    def _watch(self) -> None:
        since = None
        while not self._done.wait(LOOK_S):
            self._usage()
            trouble = self.server.trouble()
            if trouble is None:
                since = None
                continue
            self.trouble = trouble
            since = since or time.monotonic()
            if time.monotonic() - since > GRACE_S:
                self._ended_client = True
                self.end_client()
                return


@contextlib.contextmanager
def serving(server: DatabaseServer) -> Iterator[Serving]:
    """Start it; when the block ends stop it. A DatabaseError of the block gets what the server had to say."""
    begin = time.monotonic()
    server.start()
    watched = Serving(server, time.monotonic() - begin)
    try:
        yield watched
    except DatabaseError as error:
        raise DatabaseError(watched.cause(error)) from error
    finally:
        watched.close()
        server.stop()


def options_of(kind: type[DatabaseServer], options: Mapping[str, object]) -> dict[str, object]:
    """Returns the server's options among those of a database; the others are its client's."""
    return {name: value for name, value in options.items() if name in kind.options or name.startswith(OWN)}


def keep_data_only(server: DatabaseServer, *, beside: str = "") -> None:
    """Reduces a stopped server's folder to its data, which a snapshot consists of. beside: a folder to keep as well."""
    for path in server.folder.iterdir():
        if path == server.data or path.name == beside:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def copy_logs(folder: Path, target: Path) -> Path | None:
    """Copies a server's logs to target and returns it; None where the server has no logs, or the disk has no room."""
    try:
        shutil.copytree(folder / LOGS, target, dirs_exist_ok=True)
    except (OSError, shutil.Error):
        return None
    return target
