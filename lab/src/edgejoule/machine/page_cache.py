"""The page cache: how much of files it has, and dropping files from it.

Source: Linux man-pages mincore(2), posix_fadvise(2). The kernel keeps dirty pages and those that a process has mapped.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

RESIDENT_SHARE_MAX = 0.01  # of the files, for a cache that counts as cold
_WINDOW_BYTES = 256 << 20  # mapped at a time: a 32-bit process has little address space
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
_LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_LIBC.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
_FAILED = ctypes.c_void_p(-1).value


def files_below(folder: Path) -> list[Path]:
    """Returns the regular files below a folder."""
    return [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]


def size_bytes(files: Iterable[Path]) -> int:
    """Returns the size of the files; a file that is gone has none."""
    total = 0
    for path in files:
        with contextlib.suppress(FileNotFoundError):
            total += path.stat().st_size
    return total


def resident_bytes(files: Iterable[Path]) -> int:
    """Returns how many bytes of the files are in the page cache, in whole pages; a file that is gone has none.

    Raises OSError. Without root the kernel counts only files that the user owns or may write to.
    """
    total = 0
    for path in files:
        with contextlib.suppress(FileNotFoundError):
            total += _resident_bytes(path)
    return total


def forget(files: Iterable[Path]) -> None:
    """Drops clean pages of the files that no process has mapped. Raises OSError."""
    for path in files:
        with contextlib.suppress(FileNotFoundError):
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(handle)


def _resident_bytes(path: Path) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(descriptor).st_size
        windows = range(0, size, _WINDOW_BYTES)
        pages = sum(_resident_pages(descriptor, begin, min(_WINDOW_BYTES, size - begin)) for begin in windows)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(descriptor)
    return pages * mmap.PAGESIZE


def _resident_pages(descriptor: int, offset: int, size: int) -> int:
    """Maps a part of a file without reading it, so that the count itself loads no page."""
    address = _LIBC.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, offset)
    if address == _FAILED:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    try:
        pages = ctypes.create_string_buffer(-(-size // mmap.PAGESIZE))
        if _LIBC.mincore(address, size, pages) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        _LIBC.munmap(address, size)
    return sum(page & 1 for page in pages.raw)
