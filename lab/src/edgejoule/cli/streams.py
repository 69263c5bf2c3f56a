"""The standard streams of a command: closed by the caller, full, or left by their reader."""

from __future__ import annotations

import os
import select
import sys
from typing import TextIO

EXIT_NO_READER = 141  # as of a program that SIGPIPE ends
_ENDED = select.POLLERR | select.POLLHUP | select.POLLNVAL


def open_closed() -> None:
    """Opens /dev/null for every stream that the caller closed (>&-), so that no file of a study gets its number and
    with it the output of child processes. Input is empty, messages are lost, and writing to standard output fails.
    """
    for name, flags, mode in (
        ("stdin", os.O_RDONLY, "r"),
        ("stdout", os.O_RDONLY, "w"),  # so that writes fail: a result must not be lost with exit code 0
        ("stderr", os.O_WRONLY, "w"),
    ):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, flags)
            os.set_inheritable(descriptor, True)
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))


def has_reader() -> bool:
    """Returns whether standard output and standard error still have readers."""
    return not any(_is_left(stream) for stream in (sys.stdout, sys.stderr))


def _is_left(stream: TextIO) -> bool:
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return False  # no stream of the system
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & _ENDED for _, event in poll.poll(0))


def discard_output() -> None:
    """Drops what is buffered for standard output, so that Python does not try to write it again when it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.stdout.flush()
    except (OSError, ValueError):
        pass  # no stream of the system
