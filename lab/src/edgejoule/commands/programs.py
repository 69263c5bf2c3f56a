"""Converts the texts of an experiment to runnable programs: placeholders, shell, PATH, environment, files."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from edgejoule.commands.outputs import Output, last_lines
from edgejoule.commands.supervisor import Supervised, SupervisedCommand
from edgejoule.errors import DatabaseError
from edgejoule.experiment.command import (
    DISCARD,
    SHELL,
    CommandLine,
    CommandWorkload,
    filled,
    inherited_environment,
    located,
    program_of,
    unescaped,
    why_no_program,
)


@dataclass(frozen=True)
class Surroundings:
    """The values for the texts of one run. workload: the owner of the texts. values: placeholder -> its value.

    prefix: argv before a command's own, of a program that replaces itself by it (a memory group).
    """

    workload: CommandWorkload
    values: Mapping[str, object]
    prefix: tuple[str, ...] = ()

    def text(self, text: str) -> str:
        """Returns the text with every placeholder replaced."""
        return unescaped(filled(text, {**self.values, "folder": self.folder}))

    @cached_property
    def folder(self) -> Path:
        """Returns the folder of the experiment's file, which relative paths start from."""
        return Path(self.workload.folder or ".")

    def environment(self) -> dict[str, str]:
        """Returns the declared variables and the few that every command inherits."""
        return {**inherited_environment(), **{name: self.text(value) for name, value in self.workload.env.items()}}

    def argv(self, command_line: CommandLine, environment: Mapping[str, str]) -> list[str]:
        """Returns the program's path and its arguments. Raises DatabaseError if the program is missing."""
        if isinstance(command_line, str):
            command_line = [*shlex.split(self.workload.shell or SHELL), "-c", self.text(command_line)]
        else:
            command_line = [self.text(word) for word in command_line]
        program = program_of(command_line[0], self.folder, environment.get("PATH"))
        if program is None:
            raise DatabaseError(f"{command_line[0]}: {why_no_program(command_line[0], self.folder)}")
        return [*self.prefix, str(program.absolute()), *command_line[1:]]

    def path(self, text: str) -> Path:
        """Returns the absolute path of a file or folder that the experiment names."""
        return located(self.text(text), self.folder).absolute()

    def command(
        self, command_line: CommandLine, *, cwd: Path, output: Path | None, stdin: bool = False
    ) -> SupervisedCommand:
        """Returns a program of the workload for the supervisor."""
        source = self.path(self.workload.stdin) if stdin and self.workload.stdin else None
        environment = self.environment()
        return SupervisedCommand(self.argv(command_line, environment), environment, cwd, source, output)

    def cwd(self, data: Path) -> Path:
        """Returns the folder in which the command and the commands around each run work."""
        return self.path(self.workload.cwd) if self.workload.cwd else data

    def measured(self, data: Path, output: Output) -> SupervisedCommand:
        """Returns the workload's command for the supervisor."""
        target: Path | None = output.path
        if self.workload.output is not None:
            target = None if self.workload.output == DISCARD else self.path(self.workload.output)
        return self.command(self.workload.command, cwd=self.cwd(data), output=target, stdin=True)


def run_beside(around: Surroundings, key: str, data: Path, scratch: Path, timeout_s: float) -> None:
    """Run `load` in the data, `prepare` or `conclude`, where the workload has it. Raises DatabaseError if it fails."""
    command_line = getattr(around.workload, key)
    if command_line is None:
        return
    cwd = data if key == "load" else around.cwd(data)
    with Output(scratch) as output:
        supervised = Supervised(around.command(command_line, cwd=cwd, output=output.path), timeout_s=timeout_s)
        repetition = supervised.run()[-1]
    if repetition.failure:
        raise DatabaseError(failed(f"{key} failed: it {repetition.failure}", output.text()))


def failed(message: str, text: str) -> str:
    """Returns the message, with the last lines of the output if there are any."""
    lines = last_lines(text)
    return f"{message}; its output ends with: {' | '.join(lines[-3:])}" if lines else f"{message}, without any output"
