"""Commands for tests, and the processes that are left of them."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import uuid
from pathlib import Path

from edgejoule.commands.supervisor import SupervisedCommand
from edgejoule.machine.processes import files_of_processes

TOKEN_VARIABLE = "EDGEJOULE_TEST_TOKEN"


def command(folder: Path, *argv: str | bytes, token: str = "", stdin: Path | None = None) -> SupervisedCommand:
    """A command in that folder; its output goes to `output` there. Its descendants carry the token."""
    env = {"PATH": os.environ["PATH"], TOKEN_VARIABLE: token}
    command = [os.fsdecode(word) for word in argv]
    return SupervisedCommand(command, env, folder, stdin, folder / "output")


def python(folder: Path, code: str, token: str = "") -> SupervisedCommand:
    """Runs Python code without site packages."""
    return command(folder, sys.executable, "-S", "-E", "-c", code, token=token)


def new_token() -> str:
    """Marks the processes of one test."""
    return uuid.uuid4().hex


def alive(token: str) -> list[int]:
    """The processes that carry the token; zombies have no environment any more."""
    wanted = f"{TOKEN_VARIABLE}={token}".encode()
    pids = []
    for environ in files_of_processes("environ"):
        with contextlib.suppress(OSError):  # ended meanwhile
            if wanted in environ.read_bytes().split(b"\0"):
                pids.append(int(environ.parent.name))
    return pids


def all_ended(token: str, within_s: float = 10) -> bool:
    """Waits until no process carries the token."""
    deadline_s = time.monotonic() + within_s
    while alive(token):
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.01)
    return True


def await_processes(token: str, count: int, within_s: float = 10) -> list[int]:
    """Waits until that many processes carry the token."""
    deadline_s = time.monotonic() + within_s
    while len(pids := alive(token)) < count:
        assert time.monotonic() < deadline_s, f"{len(pids)} of {count} processes have started"
        time.sleep(0.01)
    return pids
