"""Java's .properties text, as the driver reads it: the later of two lines with one key counts.

Comments (# and !), key=value, key: value and key value, continued lines, escapes, a byte order mark, CRLF. A line
without a separator is refused, because it is a typing error more often than an empty value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from edgejoule.errors import UsageError

_BLANKS = " \t\f"
_KEY = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_SHOWN_MAX = 60  # characters of a line that a message shows


class Entry(NamedTuple):
    """A value, and the first line of the file that states it (1-based)."""

    value: str
    line: int


def read_properties(path: Path) -> dict[str, Entry]:
    """Reads a property file. Raises UsageError with file and line."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        bad = error.object[: error.start].count(b"\n") + 1
        raise UsageError(f"{path}:{bad}: is not UTF-8 text; save it in UTF-8") from error
    entries: dict[str, Entry] = {}
    for number, line in _logical_lines(text):
        pair = _pair(line)
        if pair is None:
            raise UsageError(f"{path}:{number}: not a property: {line[:_SHOWN_MAX]!r}; expected key=value")
        entries[pair[0]] = Entry(pair[1], number)
    return entries


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yields the lines that are no comments, with those that continue them, and the number of the first."""
    lines = iter(enumerate((line.removesuffix("\r") for line in text.split("\n")), 1))
    for number, physical in lines:
        line = physical.lstrip(_BLANKS)
        if not line or line[0] in "#!":
            continue
        while (len(line) - len(line.rstrip("\\"))) % 2:
            following = next(lines, None)
            line = line[:-1] + (following[1].lstrip(_BLANKS) if following else "")
        yield number, line


def _pair(line: str) -> tuple[str, str] | None:
    """Returns key and value; None if the line is no property."""
    match = _KEY.match(line)
    end = match.end() if match else 0
    if end in (0, len(line)):
        return None
    rest = line[end:].lstrip(_BLANKS)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANKS)
    try:
        return _unescaped(line[:end]), _unescaped(rest)
    except ValueError:
        return None


def _unescaped(text: str) -> str:
    """Raises ValueError for an incomplete \\uXXXX."""

    def letter(match: re.Match[str]) -> str:
        code = match[1]
        if code == "u":
            raise ValueError
        return chr(int(code[1:], 16)) if len(code) > 1 else _LETTERS.get(code, code)

    # Two escapes may stand for the halves of one letter.
    return _ESCAPE.sub(letter, text).encode("utf-16", "surrogatepass").decode("utf-16")
