"""A cold start of a running server: its tables are neither in the page cache nor in the server's own cache.

Only pages of the server's files are dropped. Its program stays in memory, so that a run reads the database from storage
and nothing else (docs/adr/051).
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgejoule.database_servers.server import DatabaseServer, NotReadyError, OwnCache, Settled
from edgejoule.errors import DatabaseError
from edgejoule.machine.block_devices import layers_below
from edgejoule.machine.page_cache import (
    RESIDENT_SHARE_MAX,
    files_below,
    forget,
    resident_bytes,
    size_bytes,
)

_ATTEMPTS = 5
_PAUSE_S = 0.1  # for pages that were being written to storage


@dataclass(frozen=True)
class TablePages:
    """The tables' files: their size, and what of them is in the page cache, in bytes."""

    table_bytes: int
    resident_bytes: int

    @property
    def cold(self) -> bool:
        """Returns whether less than 1 % is in the page cache."""
        return self.resident_bytes < RESIDENT_SHARE_MAX * self.table_bytes


@dataclass(frozen=True)
class ColdStart:
    """The caches before the first operation. resident_bytes_before: of the tables' files, before they were dropped."""

    pages: TablePages
    resident_bytes_before: int
    own: OwnCache
    settled: Settled

    def facts(self) -> dict[str, Any]:
        """Returns the values for the start event and the run's record."""
        return {
            "resident_bytes_before": self.resident_bytes_before,
            "resident_bytes_after": self.pages.resident_bytes,
            "table_bytes": self.pages.table_bytes,
            "own_cache_bytes": self.own.cached_bytes,
            "own_cache": self.own.how,
        }

    def doubts(self) -> list[str]:
        """Returns why the start may not have been cold; a run has these as flags."""
        tables, own, doubts = self.pages.table_bytes, self.own, []
        if not self.settled.complete:
            doubts.append(f"the server had not settled before its files were dropped from memory: {self.settled.how}")
        if not tables:
            doubts.append("unknown whether the cache was cold: the server has no file of a table")
        elif not self.pages.cold:
            resident = self.pages.resident_bytes
            doubts.append(
                f"the cache was not cold: {resident / tables:.1%} of the tables' files ({resident / 1e6:,.1f} of "
                f"{tables / 1e6:,.1f} MB) were in memory before the first operation"
            )
        if own.cached_bytes is None:
            doubts.append(f"unknown whether the server's own cache was cold: {own.how}")
        elif own.cached_bytes - own.catalog_bytes_max >= RESIDENT_SHARE_MAX * max(tables, 1):
            doubts.append(
                f"the server's own cache was not cold: it had {own.cached_bytes / 1e6:,.1f} MB before the first "
                f"operation ({own.how})"
            )
        return doubts


def cool(server: DatabaseServer, settle_timeout_s: float) -> ColdStart:
    """Waits until the server has settled, drops its files from the page cache, and inspects the caches.

    Raises DatabaseError when they cannot be inspected, or when its files are in memory alone.
    """
    images = _images_below(server.folder)
    own = _own_cache(server)
    settled = server.await_settled(settle_timeout_s)
    try:
        tables = server.table_files()
        before = after = table_pages(tables)
        for attempt in range(_ATTEMPTS):
            time.sleep(_PAUSE_S if attempt else 0)
            os.sync()  # only clean pages are dropped
            forget([*files_below(server.folder), *images])
            after = table_pages(tables)
            if after.cold:
                break
    except OSError as error:
        raise DatabaseError(
            f"{server.name}: {error.filename or server.folder}: cannot be dropped from the page cache: {error.strerror}"
        ) from error
    return ColdStart(after, before.resident_bytes, own, settled)


def table_pages(files: Sequence[Path]) -> TablePages:
    """Counts now. Raises OSError."""
    return TablePages(size_bytes(files), resident_bytes(files))


def _own_cache(server: DatabaseServer) -> OwnCache:
    try:
        return server.own_cache()
    except NotReadyError as error:
        return OwnCache(None, str(error))


def _images_below(folder: Path) -> list[Path]:
    """Returns the files that loop devices below the folder show as disks: the page cache has their pages, too."""
    layers = layers_below(folder)
    if layers and layers[0].kind == "memory":
        raise DatabaseError(
            f"{folder} lies on a file system in memory ({layers[0].name}), which is never cold; put the data on a disk"
        )
    return [Path(layer.name) for layer in layers if layer.kind == "image"]
