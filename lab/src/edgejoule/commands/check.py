"""Checks the requirements of a planned run of a command before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edgejoule.commands.client import surroundings
from edgejoule.errors import DatabaseError, UsageError

if TYPE_CHECKING:
    from edgejoule.experiment.plan import PlannedRun


def check_command(run: PlannedRun) -> None:
    """Checks that the run's programs and folder exist here. Raises UsageError."""
    command = run.command
    assert command is not None
    around = surroundings(run, Path("/nowhere"))
    for key in ("command", "load", "setup", "cleanup", "prepare", "conclude"):
        command_line = getattr(command, key)
        try:
            if command_line is not None:
                around.argv(command_line, around.environment())
        except DatabaseError as error:
            raise UsageError(f"{run.label()}: {key}: {error}") from error
    if command.cwd is not None and "{data}" not in command.cwd and not around.path(command.cwd).is_dir():
        raise UsageError(f"{run.label()}: cwd: no folder {around.path(command.cwd)}")
