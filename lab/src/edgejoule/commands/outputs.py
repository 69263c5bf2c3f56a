"""Collects a command's output while it runs, extracts the declared responses, and keeps the last lines."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from edgejoule.errors import DatabaseError
from edgejoule.experiment.command import DeclaredResponse, json_steps

BYTES_MAX = 4 * 2**20  # the last bytes of the output, which are searched for responses
LAST_LINES = 10
NUMBER_MAX = 1e100  # of a response, so that squares and limits of intervals are finite
LINE_CHARACTERS_MAX = 400
_CHUNK_BYTES = 1 << 16


class Output:
    """Takes the output of a command by a FIFO, so that no file of it is written while the command is measured.

    A context manager. The command writes to `path`. The last BYTES_MAX bytes are kept.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes_total = 0
        self._kept = bytearray()

    def __enter__(self) -> Output:
        self.path.unlink(missing_ok=True)
        os.mkfifo(self.path, 0o600)
        self._fifo = os.open(
            self.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC
        )  # also open for writing, so that no end of file occurs
        self._end, self._ask_to_end = os.pipe2(os.O_CLOEXEC)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._ask_to_end)
        self._reader.join()
        for descriptor in (self._fifo, self._end):
            os.close(descriptor)
        self.path.unlink(missing_ok=True)

    def _read(self) -> None:
        ending = False
        while not ending:
            ready, _, _ = select.select([self._fifo, self._end], [], [])
            ending = self._end in ready
            with contextlib.suppress(BlockingIOError):
                while True:
                    self._take(os.read(self._fifo, _CHUNK_BYTES))

    def _take(self, chunk: bytes) -> None:
        self.bytes_total += len(chunk)
        self._kept += chunk
        if len(self._kept) > 2 * BYTES_MAX:
            del self._kept[:-BYTES_MAX]

    def text(self) -> str:
        """Returns the stored output of a command that has ended."""
        return bytes(self._kept[-BYTES_MAX:]).decode("utf-8", errors="replace")


def last_lines(text: str) -> list[str]:
    """Returns the last lines that are not empty, cut to a width that a report can show."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return [line[:LINE_CHARACTERS_MAX] for line in lines[-LAST_LINES:]]


def figures(text: str, declared: Mapping[str, DeclaredResponse], repetitions: int) -> dict[str, float]:
    """Returns the declared responses in the output, each the mean over the repetitions. Raises DatabaseError."""
    return {name: _mean(name, _printed(name, one, text, repetitions), repetitions) for name, one in declared.items()}


def _mean(name: str, values: list[float], repetitions: int) -> float:
    """Returns the mean of the last figure of each repetition."""
    each, rest = divmod(len(values), repetitions)
    if rest:
        raise DatabaseError(
            f"response {name}: the output of {repetitions} repetitions has {len(values)} matches; expected the same "
            "number in each"
        )
    last = values[each - 1 :: each]
    return sum(last) / len(last)


def _printed(name: str, declared: DeclaredResponse, text: str, repetitions: int) -> list[float]:
    """Returns every figure of a response, at least one for each repetition."""
    how = declared.regex or declared.json_path
    if declared.regex:
        texts: list[object] = [match[1] for match in re.finditer(declared.regex, text, re.MULTILINE)]
    else:
        texts = list(_by_path(name, declared, text))
    if len(texts) < repetitions:
        lacking = "the output has no match" if not texts else f"only {len(texts)} of {repetitions} repetitions have one"
        raise DatabaseError(f"response {name}: {lacking} of {how!r}; {_ends_with(text)}")
    return [_number(name, one) for one in texts]


def _ends_with(text: str) -> str:
    lines = last_lines(text)
    return f"it ends with: {' | '.join(lines[-3:])}" if lines else "the command printed nothing"


def _by_path(name: str, declared: DeclaredResponse, text: str) -> Iterator[object]:
    assert declared.json_path is not None
    steps = json_steps(declared.json_path) or []
    for document in _documents(name, text):
        value: Any = document
        try:
            for step in steps:
                value = value[step]
        except (KeyError, IndexError, TypeError):
            continue
        yield value


def _documents(name: str, text: str) -> Iterator[object]:
    """Yields the JSON documents in an output in order; skips other text around them."""
    decoder, at = json.JSONDecoder(), 0
    while (start := min((i for i in (text.find("{", at), text.find("[", at)) if i >= 0), default=-1)) >= 0:
        try:
            document, at = decoder.raw_decode(text, start)
        except ValueError:
            at = start + 1
        except RecursionError as error:
            raise DatabaseError(f"response {name}: the JSON output is nested too deep") from error
        else:
            yield document


def _number(name: str, value: object) -> float:
    try:
        if isinstance(value, bool) or value is None:
            raise ValueError
        number = float(str(value))
    except ValueError:
        raise DatabaseError(f"response {name}: expected a number, got {str(value)[:80]!r}") from None
    if not abs(number) < NUMBER_MAX:
        raise DatabaseError(f"response {name}: expected a finite number, below {NUMBER_MAX:g}, got {value!r}")
    return number
