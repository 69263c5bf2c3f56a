"""Drops the machine's page cache before a command, and checks that it holds none of the command's data files."""

from __future__ import annotations

import os
from pathlib import Path

from edgejoule.errors import DatabaseError
from edgejoule.machine.page_cache import RESIDENT_SHARE_MAX, files_below, resident_bytes, size_bytes

DROP_CACHES = Path("/proc/sys/vm/drop_caches")


def drop_caches(folder: Path) -> dict[str, int]:
    """Write out and drop the page cache; what of the files below `folder` was in it before and after, in bytes.

    Raises DatabaseError when that cannot be done, or when more than 1 % of the files stay in the cache.
    """
    os.sync()
    before = _resident_bytes(folder)
    try:
        DROP_CACHES.write_text("3")
    except OSError as error:
        raise DatabaseError(f"the page cache cannot be dropped: {DROP_CACHES}: {error.strerror}") from error
    after, size = _resident_bytes(folder), size_bytes(files_below(folder))
    if after > RESIDENT_SHARE_MAX * size:
        raise DatabaseError(f"the cache is not cold: {after} of {size} bytes of the data are still in it")
    return {"resident_bytes_before": before, "resident_bytes_after": after}


def _resident_bytes(folder: Path) -> int:
    try:
        return resident_bytes(files_below(folder))
    except OSError as error:
        raise DatabaseError(f"{error.filename or folder}: its pages in memory cannot be counted: {error}") from error
