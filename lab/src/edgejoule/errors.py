"""The errors that users see, as one class tree. Each message names the fault, its place and the expected value."""

from __future__ import annotations

from pathlib import Path


class EdgejouleError(Exception):
    """Base class of all errors. `exit_code` is what the command line returns (1 failure, 2 usage)."""

    exit_code = 1


class ProgrammingError(AssertionError):
    """A mistake in edgejoule, where it would give a wrong figure. No EdgejouleError: it is not reported in one line."""


def require(condition: bool, message: str) -> None:
    """Raises ProgrammingError if the condition is false; unlike `assert`, also under `python -O`."""
    if not condition:
        raise ProgrammingError(message)


class UsageError(EdgejouleError):
    """Invalid input from the user, such as an unknown name or a bad option."""

    exit_code = 2


class SweepError(UsageError):
    """An invalid description of an eco-sim sweep."""


class SpecError(UsageError):
    """A malformed experiment. Names file, line (1-based, None if unknown) and key."""

    def __init__(self, path: Path | str, line: int | None, key: str | None, message: str) -> None:
        where = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {f'{key}: ' if key else ''}{message}")
        self.path, self.line, self.key = Path(path), line, key


class DataError(EdgejouleError):
    """Data that cannot be analysed: too few values, a missing column, not a number."""


class InputError(DataError):
    """A file of the user that cannot be read or is not of its format."""

    exit_code = 2


class MeterError(EdgejouleError):
    """A meter cannot be opened, or every reading fails. A single failed reading is a missing sample, not an error."""


class DatabaseError(EdgejouleError):
    """The database under test, or the driver in front of it, failed or returned wrong data."""


class CommandError(DatabaseError):
    """The program under test cannot be started, was stopped, or failed."""


class FederationError(EdgejouleError):
    """A federation on this machine cannot be started, or one of its servers failed."""


class StoreError(EdgejouleError):
    """The store cannot be read or written (path, permission, full disk, another format)."""


class NoStoreError(StoreError):
    """There is no file of that name, or it is no store."""

    exit_code = 2


class BusyError(EdgejouleError):
    """Another study is running in this folder."""


class StudyInterruptedError(EdgejouleError):
    """The user stopped a study. The message names what is stored and the command that continues."""

    exit_code = 130
