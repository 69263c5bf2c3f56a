"""Files that commands write: whole or not at all, and never over a store or over what the command reads."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from edgejoule.errors import UsageError

_SQLITE = b"SQLite format 3\0"


def check_output(option: str, file: Path, *inputs: Path) -> None:
    """Raises UsageError if the file must not be written: it is named -, its folder does not exist (a misspelt path
    makes none), it is one of the command's inputs, or it is an SQLite database, such as a store.
    """
    if str(file) == "-":
        raise UsageError(f"{option} -: this command writes no such file to standard output; name a file")
    if not file.parent.is_dir():
        raise UsageError(f"{option} {file}: no folder {file.parent}; make it: mkdir -p {shlex.quote(str(file.parent))}")
    for source in inputs:
        if file.exists() and source.exists() and file.samefile(source):
            raise UsageError(f"{option} {file}: this command reads that file; name another one")
    if file.is_file() and _begins_like_sqlite(file):
        raise UsageError(f"{option} {file}: is an SQLite database, such as a store; name another file")


def _begins_like_sqlite(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False  # writing it will report the error


@contextlib.contextmanager
def whole_file(target: Path) -> Iterator[IO[bytes]]:
    """Opens a file that takes the target's place when the block ends; after an error the old file stays. A link stays a
    link. A device or a pipe is written to as it is. Raises OSError.
    """
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    target = target.resolve()
    scratch = target.with_name(f".{target.name}.part")
    try:
        with scratch.open("wb") as file:
            yield file
        scratch.replace(target)
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink()
