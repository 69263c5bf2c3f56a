"""Reading the kernel's small files: the transport of meters that live in /proc and /sys."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

ReadText = Callable[[Path], str]

_BYTES_MAX = 1 << 16


def read_bytes(path: Path | str) -> bytes:
    """Returns the whole file. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # a tenth of the cost of a Python file object
    try:
        text = b""
        while part := os.read(descriptor, _BYTES_MAX):  # some of these files come in parts of a page
            text += part
        return text
    finally:
        os.close(descriptor)


def read_text(path: Path) -> str:
    """Returns the whole file's text. Raises OSError, and ValueError for text that is not ASCII."""
    return read_bytes(path).decode("ascii")
