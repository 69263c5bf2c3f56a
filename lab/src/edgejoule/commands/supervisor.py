"""Starts the native supervisor, which runs a command, measures its process tree and ends its leftover processes.

The supervisor is a program that writes JSON lines (supervisor/README.md); this module needs none of its code. It runs
in a separate session: Ctrl-C reaches only edgejoule, which stops the supervisor, which ends the command's processes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from edgejoule.commands.phase_lines import PhaseLines
from edgejoule.database_servers.processes import started_ticks
from edgejoule.errors import CommandError, EdgejouleError
from edgejoule.machine.processes import AdoptedTree, Membership, files_of_processes

PROGRAM = "edgejoule-supervisor"
MARKS_VARIABLE = "EDGEJOULE_MARKS"  # in the command's environment: the FIFO for names of phases
_MARKS_FOLDER = "edgejoule-marks-"  # followed by the pid and the start time of the process that made it
_marks_numbers = itertools.count(1)
_WRITE_ANEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
_CHUNK_BYTES = 1 << 16
_STOP_TIMEOUT_S = 15.0  # the supervisor itself gives up after 11 s


class SupervisorMissingError(EdgejouleError):
    """edgejoule-supervisor is not built."""


@cache
def supervisor_path() -> Path:
    """Returns the program's path: $EDGEJOULE_SUPERVISOR, else build/bin of this package's source tree, else PATH."""
    if named := os.environ.get("EDGEJOULE_SUPERVISOR"):
        if not _is_program(Path(named)):
            raise SupervisorMissingError(f"EDGEJOULE_SUPERVISOR={named}: no program is there")
        return Path(named).absolute()
    built = [parent / "build/bin" / PROGRAM for parent in Path(__file__).resolve().parents]
    on_path = shutil.which(PROGRAM)
    program = next((path for path in [*built, *([Path(on_path)] if on_path else [])] if _is_program(path)), None)
    if program is None:
        raise SupervisorMissingError(
            f"{PROGRAM} is not built: run `make build` in the source tree, or set EDGEJOULE_SUPERVISOR"
        )
    return program


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


@dataclass(frozen=True)
class SupervisedCommand:
    """A program and its surroundings. argv: without a shell. env: the whole environment. stdin: None for no input.

    output: takes standard output, None discards it. errors: takes standard error, None: the same file as `output`.
    Each repetition overwrites both files, so that they hold the output of the last one.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    stdin: Path | None
    output: Path | None
    errors: Path | None = None


@dataclass(frozen=True)
class PhaseMark:
    """The beginning of a phase: when its name arrived, and the storage bytes of the tree since the repetition began."""

    arrived_ns: int
    name: str
    read_bytes: int | None
    write_bytes: int | None


@dataclass(frozen=True)
class Repetition:
    """One execution of the command. Times are of CLOCK_MONOTONIC: before the start, after its own process has ended.

    Usage is of the whole process tree until end_ns; rss_peak_bytes is of the largest process. Bytes were fetched from
    storage, and made dirty for storage; None where the kernel does not count them. ended: descendants that still ran
    after the command's exit and were ended.
    """

    start_ns: int
    end_ns: int
    exit_code: int | None
    signal: int | None
    cpu_user_s: float
    cpu_system_s: float
    rss_peak_bytes: int
    voluntary_switches: int
    involuntary_switches: int
    read_bytes: int | None
    write_bytes: int | None
    ended: int
    marks: tuple[PhaseMark, ...] = ()

    @property
    def failure(self) -> str | None:
        """Describes how the command failed, as the rest of a sentence; None if it ended with exit code 0."""
        if self.signal is not None:
            return f"was killed by {signal_name(self.signal)}"
        return f"ended with exit code {self.exit_code}" if self.exit_code else None


def signal_name(number: int) -> str:
    """Returns SIGKILL for 9; `signal 40` for a number without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Supervised:
    """Runs a command under the supervisor. stop() may be called from a signal handler or another thread.

    timeout_s: for all repetitions together. repeat_for_s: repetitions start until this time has passed, at least one.
    The repetitions end with the first failed one, unless ignore_failure keeps non-zero exit codes; a death by signal
    always ends them. keep: run() returns after the command's exit, and its descendants go on until stop().
    phase: a line of the output that it matches begins a phase, named by its first group (without one, by the match);
    repetitions do not overwrite their output then. member: what the command's processes belong to while they run.
    """

    def __init__(
        self,
        command: SupervisedCommand,
        *,
        timeout_s: float,
        repeat: int = 1,
        repeat_for_s: float | None = None,
        ignore_failure: bool = False,
        keep: bool = False,
        phase: re.Pattern[str] | None = None,
        member: Membership | None = None,
    ) -> None:
        assert not (keep and (phase or member))
        if not command.argv:
            raise CommandError("the command is empty")
        self._command = command
        self._timeout_s = timeout_s
        self._keep = keep
        self._options = [f"--repeat={repeat}"] if repeat_for_s is None else [f"--repeat-for={repeat_for_s:.9f}"]
        self._options += ["--ignore-failure"] if ignore_failure else []
        self._options = ["--keep"] if keep else self._options
        self._phase = phase
        self._member = member
        self._adopted: AdoptedTree | None = None
        self._lines: PhaseLines | None = None
        self._stopped = False
        self._timed_out = False
        self._process: subprocess.Popen[bytes] | None = None
        self._resources = contextlib.ExitStack()

    def run(self) -> list[Repetition]:
        """Returns the repetitions in order; the last one may have failed (see Repetition.failure).

        Raises CommandError if the command cannot be started, took too long or was stopped.
        """
        try:
            events = list(self._events(self._start()))
            late = self._finish_lines()
            self._check(events)
        except BaseException:
            self.stop()
            with contextlib.suppress(CommandError):
                self._finish_lines()
            self._resources.close()
            raise
        if not self._keep:
            self._resources.close()
        repetitions = list(_repetitions(events))
        return [*repetitions[:-1], _with_late(repetitions[-1], events, late)]

    def stop(self) -> None:
        """End the command and all its descendants."""
        self._ask_to_end()
        if self._process is None:
            return
        _wait(self._process)
        if self._keep:
            self._resources.close()

    def _ask_to_end(self) -> None:
        self._stopped = True
        if self._process is None:
            return
        if self._adopted:
            self._adopted.release()
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def _start(self) -> int:
        """Starts the supervisor; returns the descriptor of its reports."""
        marks = self._make_marks()
        reports, report_fd = os.pipe()
        self._resources.callback(os.close, reports)
        options = [f"--report-fd={report_fd}", f"--marks={marks}", *self._options]
        try:
            with _opened(self._command) as (stdin, stdout, stderr), self._phase_lines(marks, stdout) as target:
                self._process = process = subprocess.Popen(
                    [str(supervisor_path()), *options, "--", *self._command.argv],
                    stdin=subprocess.PIPE if self._keep else stdin, stdout=target,
                    stderr=stderr if self._command.errors else target,
                    env={**self._command.env, MARKS_VARIABLE: str(marks)}, cwd=self._command.cwd,
                    pass_fds=(report_fd,), start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise CommandError(f"{self._command.argv[0]} cannot be started: {error}") from error
        finally:
            os.close(report_fd)
        if self._member:
            self._adopted = AdoptedTree(process.pid, self._member)
        if process.stdin:
            self._resources.enter_context(process.stdin)  # closing it ends the descendants
        if self._stopped:
            process.send_signal(signal.SIGTERM)
        return reports

    def _make_marks(self) -> Path:
        marks = Path(_marks_folder(os.getpid()).name, str(next(_marks_numbers)))
        os.mkfifo(marks, 0o600)
        self._resources.callback(marks.unlink, missing_ok=True)
        return marks

    @contextlib.contextmanager
    def _phase_lines(self, marks: Path, output: int) -> Iterator[int]:
        """Yields the descriptor that the command writes its output to."""
        if self._phase is None:
            yield output
            return
        self._lines = PhaseLines(self._phase, marks, os.fdopen(os.dup(output), "wb"))
        try:
            yield self._lines.writing
        finally:
            self._lines.close_writing()

    def _finish_lines(self) -> list[str]:
        """Returns names of phases that arrived after the command's end."""
        lines, self._lines = self._lines, None
        try:
            return lines.finish() if lines else []
        except OSError as error:
            raise CommandError(f"the output of {self._command.argv[0]} cannot be written: {error}") from error

    def _events(self, reports: int) -> Iterator[dict[str, Any]]:
        """Yields all reports; with `keep` those until the command's exit."""
        cpu_ns = 0
        for line in self._reported(reports):
            event = json.loads(line)
            yield event
            if self._keep and event["event"] == "exit":
                return
            if self._adopted and event["event"] == "exit":
                cpu_ns += event["cpu_user_ns"] + event["cpu_system_ns"]
                self._adopted.add_reported(cpu_ns / 1e9)
        if self._adopted:
            self._adopted.await_end()
        assert self._process is not None
        self._process.wait()  # its reports have closed, so it is ending

    def _reported(self, reports: int) -> Iterator[bytes]:
        """Yields lines until the supervisor ends. Asks the command to end when it takes too long, and finally kills
        it."""
        rest, end_s, poll = b"", time.monotonic() + self._timeout_s, select.poll()
        poll.register(reports, select.POLLIN)
        while True:
            if (left_s := end_s - time.monotonic()) <= 0 or not poll.poll(left_s * 1e3):
                self._end_late_run()
                end_s += _STOP_TIMEOUT_S
            elif chunk := os.read(reports, _CHUNK_BYTES):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from lines
            else:
                return

    def _end_late_run(self) -> None:
        assert self._process is not None
        if self._timed_out:
            self._process.kill()
        self._timed_out = True
        self._ask_to_end()

    def _check(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Raises CommandError unless the repetitions came to their end."""
        assert self._process is not None
        name, code = self._command.argv[0], self._process.returncode
        if error := next((e for e in events if e["event"] == "error"), None):
            raise CommandError(error["message"])
        if self._timed_out:
            raise CommandError(f"{name} took longer than {self._timeout_s:g} s and was stopped")
        if self._stopped:
            raise CommandError(f"{name} was stopped")
        if stopped := next((e for e in events if e["event"] == "stopped"), None):
            raise CommandError(f"{name} was stopped: {stopped['reason']}")
        if code is not None and code < 0:
            _end_session(self._process.pid)
            raise CommandError(f"the supervisor of {name} was killed by {signal_name(-code)}")
        if not any(e["event"] == "exit" for e in events):
            raise CommandError(f"the supervisor of {name} ended with code {code} and reported no exit")


@cache
def _marks_folder(pid: int) -> tempfile.TemporaryDirectory[str]:
    """Creates the folder for the marks of all commands of this program; it is removed when the program ends."""
    return tempfile.TemporaryDirectory(prefix=f"{_MARKS_FOLDER}{pid}-{started_ticks(pid)}-")


def remove_left_marks() -> None:
    """Remove the folders of phase marks whose program was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_MARKS_FOLDER}*-*-*"):
        pid, ticks = folder.name.removeprefix(_MARKS_FOLDER).split("-")[:2]
        if pid.isdecimal() and str(started_ticks(int(pid))) != ticks:
            shutil.rmtree(folder, ignore_errors=True)


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Waits until the supervisor has ended; kills it if it does not end in time."""
    try:
        process.wait(timeout=_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _end_session(session: int) -> None:
    """Kills the rest of a supervisor's session after the supervisor itself was killed."""
    for stat in files_of_processes("stat"):
        with contextlib.suppress(OSError):  # the process has ended meanwhile
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == session:
                os.kill(int(stat.parent.name), signal.SIGKILL)


@contextlib.contextmanager
def _opened(command: SupervisedCommand) -> Iterator[tuple[int, int, int]]:
    """Opens the command's standard input, output and error, and yields their descriptors."""
    with contextlib.ExitStack() as files:
        stdin = _open(files, command.stdin, os.O_RDONLY)
        stdout = _open(files, command.output, _WRITE_ANEW)
        yield stdin, stdout, _open(files, command.errors, _WRITE_ANEW) if command.errors else stdout


def _open(files: contextlib.ExitStack, path: Path | None, flags: int) -> int:
    descriptor = os.open(path or os.devnull, flags | os.O_CLOEXEC, 0o666)
    files.callback(os.close, descriptor)
    return descriptor


def _repetitions(events: Sequence[Mapping[str, Any]]) -> Iterator[Repetition]:
    marks: list[PhaseMark] = []
    for event in events:
        if event["event"] == "mark":
            marks.append(_mark(event))
        elif event["event"] == "exit":
            copied = {name: event[name] for name in _COPIED}
            cpu_user_s, cpu_system_s = event["cpu_user_ns"] / 1e9, event["cpu_system_ns"] / 1e9
            yield Repetition(**copied, cpu_user_s=cpu_user_s, cpu_system_s=cpu_system_s, marks=tuple(marks))
            marks = []


def _with_late(last: Repetition, events: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Repetition:
    """Returns the last repetition with the marks that arrived after it: no phase includes them, and a flag reports
    them."""
    exits = [index for index, event in enumerate(events) if event["event"] == "exit"]
    late = [_mark(event) for event in events[exits[-1] :] if event["event"] == "mark"]
    late += [PhaseMark(time.monotonic_ns(), name, None, None) for name in names]
    return dataclasses.replace(last, marks=(*last.marks, *late))


def _mark(event: Mapping[str, Any]) -> PhaseMark:
    return PhaseMark(event["monotonic_ns"], event["name"], event["read_bytes"], event["write_bytes"])


_COPIED = (
    "start_ns", "end_ns", "exit_code", "signal", "rss_peak_bytes", "voluntary_switches", "involuntary_switches",
    "read_bytes", "write_bytes", "ended",
)  # fmt: skip
