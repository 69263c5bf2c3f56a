"""Drops the machine's page cache before a command, and checks that it holds none of the command's data files."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

from edgejoule.errors import DatabaseError

DROP_CACHES = Path("/proc/sys/vm/drop_caches")
RESIDENT_SHARE_MAX = 0.01
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
_LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_LIBC.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
_FAILED = ctypes.c_void_p(-1).value


def drop_caches(folder: Path) -> dict[str, int]:
    """Write out and drop the page cache; what of the files below `folder` was in it before and after, in bytes.

    Raises DatabaseError when that cannot be done, or when more than 1 % of the files stay in the cache.
    """
    os.sync()
    before = resident_bytes(folder)
    try:
        DROP_CACHES.write_text("3")
    except OSError as error:
        raise DatabaseError(f"the page cache cannot be dropped: {DROP_CACHES}: {error.strerror}") from error
    after, size = resident_bytes(folder), sum(f.stat().st_size for f in _files(folder))
    if after > RESIDENT_SHARE_MAX * size:
        raise DatabaseError(f"the cache is not cold: {after} of {size} bytes of the data are still in it")
    return {"resident_bytes_before": before, "resident_bytes_after": after}


def resident_bytes(folder: Path) -> int:
    """Returns how many bytes of the files below a folder are in the page cache. Raises DatabaseError."""
    try:
        return sum(map(_resident_bytes, _files(folder)))
    except OSError as error:
        raise DatabaseError(f"{error.filename or folder}: its pages in memory cannot be counted: {error}") from error


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]


def _resident_bytes(path: Path) -> int:
    size = path.stat().st_size
    if size == 0:
        return 0
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        address = _LIBC.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    finally:
        os.close(descriptor)
    if address == _FAILED:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(path))
    try:
        pages = ctypes.create_string_buffer(-(-size // mmap.PAGESIZE))
        if _LIBC.mincore(address, size, pages) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(path))
    finally:
        _LIBC.munmap(address, size)
    return sum(page & 1 for page in pages.raw) * mmap.PAGESIZE
