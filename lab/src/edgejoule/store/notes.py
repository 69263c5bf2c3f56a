"""Notes: what people remark on an experiment or a run, beside what was measured."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from edgejoule.errors import UsageError

TEXT_LENGTH_MAX = 10_000
AUTHOR_LENGTH_MAX = 200

NOTES_SCHEMA = """
CREATE TABLE notes (
  id INTEGER PRIMARY KEY, experiment_id INTEGER NOT NULL REFERENCES experiments(id), run_index INTEGER,
  written_realtime_ns INTEGER NOT NULL, author TEXT NOT NULL, text TEXT NOT NULL);
"""


@dataclass(frozen=True)
class Note:
    """A remark. number: its place among the experiment's notes, from 1. run_index: None for the whole experiment.
    author: may be empty.
    """

    number: int
    run_index: int | None
    written_realtime_ns: int
    author: str
    text: str

    @property
    def written(self) -> str:
        """Date and time on this machine's clock."""
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.written_realtime_ns / 1e9))

    @property
    def lead(self) -> str:
        """What the note is on, when and by whom: run 7, 2026-11-25 14:02, ada@bench."""
        on = [] if self.run_index is None else [f"run {self.run_index + 1}"]
        return ", ".join([*on, self.written, *([self.author] if self.author else [])])

    @property
    def line(self) -> str:
        """The note as one line of a list."""
        return f"note {self.number} ({self.lead}): {self.text}"

    def record(self) -> dict[str, Any]:
        """The note as JSON has it."""
        return {
            "number": self.number,
            "run_index": self.run_index,
            "written_realtime_ns": self.written_realtime_ns,
            "author": self.author,
            "text": self.text,
        }


def check_text(name: str, text: str, length_max: int) -> None:
    """Raises UsageError for a text that a terminal could not show as it is, or that is too long."""
    if len(text) > length_max:
        raise UsageError(f"{name}: {len(text):,} characters, expected at most {length_max:,}")
    if bad := next((c for c in text if not c.isprintable() and c not in "\n\t"), None):
        raise UsageError(f"{name}: has the control character {bad!r}, expected text")


def notes_of(rows: Iterable[sqlite3.Row]) -> list[Note]:
    """The notes of an experiment from its rows in the order written."""
    return [
        Note(number, row["run_index"], row["written_realtime_ns"], row["author"], row["text"])
        for number, row in enumerate(rows, 1)
    ]
