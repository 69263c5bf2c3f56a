"""Why a file cannot be read or written, and what the user can do: for errors of the system and of SQLite."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from pathlib import Path

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}
_REFUSED = {errno.EROFS, errno.EACCES, errno.EPERM}
_REFUSED_BY_SQLITE = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
_FREE_BYTES_MIN = 1 << 16  # with less, SQLite cannot make the files beside a store, and reports an I/O error


def reason(error: OSError | sqlite3.Error, path: Path) -> str:
    """Returns why `path` cannot be read or written, with the remedy where one is known."""
    folder = next(each for each in (path, *path.absolute().parents) if each.is_dir())
    if _is_full(error, folder):
        return f"no space is left on the file system of {folder}; free some there"
    if not _is_refused(error):
        return _text(error)
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        return f"the file system of {folder} is read-only; mount it for writing, or use a copy elsewhere"
    if path.exists() and not os.access(path, os.R_OK | os.W_OK):
        return "you have no right to read and write it; change its owner or mode, or use a copy"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"you have no right to write in {folder}; change its owner or mode, or use a copy elsewhere"
    return _text(error)


def _is_full(error: OSError | sqlite3.Error, folder: Path) -> bool:
    if isinstance(error, OSError):
        return error.errno in _NO_SPACE
    return _code(error) == sqlite3.SQLITE_FULL or (
        _is_refused(error) and shutil.disk_usage(folder).free < _FREE_BYTES_MIN
    )


def _is_refused(error: OSError | sqlite3.Error) -> bool:
    return error.errno in _REFUSED if isinstance(error, OSError) else _code(error) in _REFUSED_BY_SQLITE


def _text(error: OSError | sqlite3.Error) -> str:
    """Returns the error's own text, with advice where it is known."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if _code(error) == sqlite3.SQLITE_BUSY:
        return "another program is writing to it; try again when that one has ended"
    if _code(error) == sqlite3.SQLITE_IOERR:
        return (
            f"{error} ({error.sqlite_errorname}): a quota or a limit on the size of files (ulimit -f) is reached, or "
            "the disk is faulty (dmesg)"
        )
    return str(error)


def _code(error: sqlite3.Error) -> int:
    """Returns SQLite's result code without its details; 0 if Python itself found the error."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
