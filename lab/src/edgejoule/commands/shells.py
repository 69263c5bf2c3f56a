"""The cost of a shell's start: measured once per study for every shell that runs commands, then subtracted."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgejoule.commands.programs import Surroundings
from edgejoule.commands.supervisor import Supervised
from edgejoule.errors import DatabaseError
from edgejoule.experiment.command import SHELL, CommandWorkload

if TYPE_CHECKING:
    from edgejoule.experiment.plan import PlannedRun

STARTS = 50
_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class ShellStart:
    """The median over STARTS starts of a shell with an empty command."""

    start_s: float
    cpu_s: float


NOTHING = ShellStart(0.0, 0.0)


def shell_of(command: CommandWorkload) -> str | None:
    """Returns the shell that runs the command; None for a command without one."""
    return (command.shell or SHELL) if isinstance(command.command, str) else None


def shells_of(plan: Iterable[PlannedRun]) -> list[str]:
    """Returns every shell that runs a command of the plan."""
    shells = (shell_of(run.command) for run in plan if run.command)
    return list(dict.fromkeys(shell for shell in shells if shell is not None))


def measure_start(shell: str, folder: Path) -> ShellStart:
    """Starts the shell with an empty command several times and measures it. Raises DatabaseError."""
    around = Surroundings(CommandWorkload(command=" ", shell=shell), {})
    command = around.command("", cwd=folder, output=None)
    repetitions = Supervised(command, timeout_s=_TIMEOUT_S, repeat=STARTS).run()
    if failure := repetitions[-1].failure:
        raise DatabaseError(f"the shell {shell} cannot run commands: with an empty one it {failure}")
    return ShellStart(
        statistics.median((r.end_ns - r.start_ns) / 1e9 for r in repetitions),
        statistics.median(r.cpu_user_s + r.cpu_system_s for r in repetitions),
    )


def to_note(starts: Mapping[str, ShellStart]) -> dict[str, Any]:
    """Returns the starts in the form that an experiment stores."""
    return {shell: {"start_s": start.start_s, "cpu_s": start.cpu_s} for shell, start in starts.items()}


def from_note(noted: Mapping[str, Any]) -> dict[str, ShellStart]:
    """Reads the starts that a continued experiment has stored."""
    return {shell: ShellStart(**start) for shell, start in noted.items()}
