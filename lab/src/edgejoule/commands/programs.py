"""From the texts of an experiment to programs that can be started: placeholders, shell, PATH, environment, files."""

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
    CommandWorkload,
    Words,
    filled,
    inherited_environment,
    located,
    program_of,
    unescaped,
    why_no_program,
)


@dataclass(frozen=True)
class Surroundings:
    """What the texts of one run are filled with. workload: whose texts they are; values: placeholder -> its value.

    prefix: argv before a command's own, of a program that replaces itself by it (a memory group).
    """

    workload: CommandWorkload
    values: Mapping[str, object]
    prefix: tuple[str, ...] = ()

    def text(self, text: str) -> str:
        """The text with every placeholder replaced."""
        return unescaped(filled(text, {**self.values, "folder": self.folder}))

    @cached_property
    def folder(self) -> Path:
        """Of the experiment's file: relative paths are below it."""
        return Path(self.workload.folder or ".")

    def environment(self) -> dict[str, str]:
        """Declared variables beside the few that every command inherits."""
        return {**inherited_environment(), **{name: self.text(value) for name, value in self.workload.env.items()}}

    def argv(self, words: Words, environment: Mapping[str, str]) -> list[str]:
        """The program's path and its arguments. Raises DatabaseError where it is not here."""
        if isinstance(words, str):
            words = [*shlex.split(self.workload.shell or SHELL), "-c", self.text(words)]
        else:
            words = [self.text(word) for word in words]
        program = program_of(words[0], self.folder, environment.get("PATH"))
        if program is None:
            raise DatabaseError(f"{words[0]}: {why_no_program(words[0], self.folder)}")
        return [*self.prefix, str(program.absolute()), *words[1:]]

    def path(self, text: str) -> Path:
        """A file or folder that the experiment names."""
        return located(self.text(text), self.folder).absolute()

    def command(self, words: Words, *, cwd: Path, output: Path | None, stdin: bool = False) -> SupervisedCommand:
        """A program of the workload for the supervisor."""
        source = self.path(self.workload.stdin) if stdin and self.workload.stdin else None
        environment = self.environment()
        return SupervisedCommand(self.argv(words, environment), environment, cwd, source, output)

    def cwd(self, data: Path) -> Path:
        """Returns the folder in which the command and the commands around each run work."""
        return self.path(self.workload.cwd) if self.workload.cwd else data

    def measured(self, data: Path, output: Output) -> SupervisedCommand:
        """The workload's command itself."""
        target: Path | None = output.path
        if self.workload.output is not None:
            target = None if self.workload.output == DISCARD else self.path(self.workload.output)
        return self.command(self.workload.command, cwd=self.cwd(data), output=target, stdin=True)


def run_beside(around: Surroundings, key: str, data: Path, scratch: Path, timeout_s: float) -> None:
    """Run `load` in the data, `prepare` or `conclude`, where the workload has it. Raises DatabaseError if it fails."""
    words = getattr(around.workload, key)
    if words is None:
        return
    cwd = data if key == "load" else around.cwd(data)
    with Output(scratch) as output:
        supervised = Supervised(around.command(words, cwd=cwd, output=output.path), timeout_s=timeout_s)
        repetition = supervised.run()[-1]
    if repetition.failure:
        raise DatabaseError(failed(f"{key} failed: it {repetition.failure}", output.text()))


def failed(message: str, text: str) -> str:
    """The message, with the last lines of the output where there are any."""
    lines = last_lines(text)
    return f"{message}; its output ends with: {' | '.join(lines[-3:])}" if lines else f"{message}, without any output"
