"""Runs `setup` and `cleanup` of a study's commands: a setup is in force from its first run until another's begins."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from edgejoule.commands.outputs import Output
from edgejoule.commands.programs import Surroundings, failed
from edgejoule.commands.supervisor import Supervised
from edgejoule.errors import DatabaseError
from edgejoule.experiment.command import CommandLine, filled, shown

if TYPE_CHECKING:
    from edgejoule.experiment.plan import PlannedRun

Turn = tuple[str, str]


class Setups:
    """Runs the setup before the first run of its turn, and the cleanup after the last. scratch: a folder for sockets.

    Processes that a setup started in the background run until the turn ends.
    """

    def __init__(self, scratch: Path, timeout_s: float) -> None:
        self._scratch, self._timeout_s = scratch, timeout_s
        self._turn: Turn | None = None
        self._around: Surroundings | None = None
        self._background: Supervised | None = None

    def __enter__(self) -> Setups:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.end_turn()
            return
        with contextlib.suppress(DatabaseError):  # the study's own error is the one to report
            self.end_turn()

    def enter(self, planned: PlannedRun) -> None:
        """Set up what the run needs, where it is not in force. Raises DatabaseError."""
        if planned.command is None:
            return
        around = Surroundings(planned.command, planned.values)
        turn = _turn(around)
        if turn == self._turn:
            return
        self.end_turn()
        self._turn, self._around = turn, around
        if planned.command.setup is not None:
            try:
                self._background = self._run(around, "setup", planned.command.setup, keep=True)
            except DatabaseError:
                self._turn = None  # the next run tries again
                raise

    def end_turn(self) -> None:
        """Cleans up after the setup in force. Raises DatabaseError."""
        around, background = self._around, self._background
        self._turn = self._around = self._background = None
        try:
            if around is not None and around.workload.cleanup is not None:
                self._run(around, "cleanup", around.workload.cleanup)
        finally:
            if background is not None:
                background.stop()

    def _run(self, around: Surroundings, key: str, command_line: CommandLine, *, keep: bool = False) -> Supervised:
        with Output(self._scratch / f"{key}-output") as output:
            command = around.command(command_line, cwd=around.folder, output=output.path)
            supervised = Supervised(command, timeout_s=self._timeout_s, keep=keep)
            repetition = supervised.run()[-1]
            if repetition.failure:
                supervised.stop()
        if repetition.failure:
            raise DatabaseError(failed(f"{key} failed: it {repetition.failure}", output.text()))
        return supervised


def _turn(around: Surroundings) -> Turn:
    setup, cleanup = (
        filled(shown(command_line), around.values) if command_line else ""
        for command_line in (around.workload.setup, around.workload.cleanup)
    )
    return setup, cleanup
