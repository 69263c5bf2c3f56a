"""The errors a user can meet, as one tree. Each carries one message: what, where, what was expected."""

from __future__ import annotations

from pathlib import Path


class EdgejouleError(Exception):
    """Base of all. `exit_code` is what the command line returns (1 failure, 2 usage)."""

    exit_code = 1


class UsageError(EdgejouleError):
    """The user asked for something that cannot be: an unknown name, a bad option."""

    exit_code = 2


class SweepError(UsageError):
    """A sweep of eco-sim is described wrongly."""


class SpecError(UsageError):
    """A malformed experiment. Names file, line (1-based, None if unknown) and key."""

    def __init__(self, path: Path | str, line: int | None, key: str | None, message: str) -> None:
        where = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {f'{key}: ' if key else ''}{message}")
        self.path, self.line, self.key = Path(path), line, key


class DataError(EdgejouleError):
    """Data that cannot be analysed: too few values, a missing column, not a number."""


class MeterError(EdgejouleError):
    """A meter that cannot be opened or read at all. A single failed reading is not an error but a missing sample."""


class DatabaseError(EdgejouleError):
    """The database under test, or the driver in front of it, failed or returned wrong data."""


class CommandError(DatabaseError):
    """The program under test cannot be started, was stopped, or failed."""


class FederationError(EdgejouleError):
    """A federation on this machine that cannot be started, or a server of it that failed."""


class StoreError(EdgejouleError):
    """The store cannot be read or written (path, permission, full disk, another format)."""


class BusyError(EdgejouleError):
    """Another study measures in this folder."""


class StudyInterruptedError(EdgejouleError):
    """The user stopped a study. The message names what is stored and the command that continues."""

    exit_code = 130
