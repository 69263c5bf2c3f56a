"""Ctrl-C ends the driver at once, whatever it waits for at a server: its own time limits are ten minutes here."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from edgejoule.database_servers import DatabaseServer
from edgejoule.databases.driver import driver_path
from edgejoule.machine.processes import children_of

from .conftest import Start
from .studies import needs

pytestmark = pytest.mark.server
LIMIT_MS = 600_000
SOON_S = 120  # on a loaded machine; no limit of the driver's own is as short


class Client:
    """The driver against a server, its output, and its events so far."""

    def __init__(self, server: DatabaseServer, folder: Path, command: str, *more: str) -> None:
        limits = {f"{name}_ms": LIMIT_MS for name in ("reconnect", "timeout", "connect_timeout")}
        properties = {**server.connection(), **limits}
        arguments = [word for name, value in properties.items() for word in ("-p", f"{server.name}.{name}={value}")]
        self._log = folder / f"{command}.jsonl"
        self.process = subprocess.Popen(
            [driver_path(), command, "-db", server.name, "-p", "recordcount=100", *arguments, *more, "-threads", "2",
             "--interval-ms", "50", "-json", self._log],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def events(self) -> list[dict[str, Any]]:
        text = self._log.read_text() if self._log.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def until(self, holds: Callable[[], object]) -> None:
        end = time.monotonic() + SOON_S
        while not holds():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end
            time.sleep(0.02)

    def intervals(self) -> list[int]:
        return [event["operations"] for event in self.events() if event["event"] == "interval"]

    def interrupted(self) -> None:
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate(timeout=SOON_S)
        assert self.process.returncode == 130, errors
        assert errors.splitlines()[-1] == "edgejoule-driver: interrupted (SIGINT)"
        last = self.events()[-1]
        assert (last["event"], last["kind"]) == ("error", "interrupted")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Callable[..., Client]]:
    begun: list[Client] = []

    def one(server: DatabaseServer, command: str, *more: str) -> Client:
        begun.append(Client(server, tmp_path, command, *more))
        return begun[-1]

    yield one
    for each in begun:
        each.process.kill()
        each.process.communicate()


def signal_all(server: DatabaseServer, number: signal.Signals) -> None:
    for process in server.processes:
        for pid in (process.pid, *children_of(process.pid)):
            with contextlib.suppress(ProcessLookupError):  # a helper of PostgreSQL's that ended meanwhile
                os.kill(pid, number)


def has_socket(pid: int) -> bool:
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            if str(file.readlink()).startswith("socket:"):
                return True
    return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "paused"])
@pytest.mark.parametrize("name", ["redis", "postgres"])
def test_while_it_waits_for_a_server_that_was_lost(
    start: Start, client: Callable[..., Client], name: str, number: signal.Signals
) -> None:
    needs(name)
    server = start(name)
    load = client(server, "load")
    _, errors = load.process.communicate(timeout=SOON_S)
    assert load.process.returncode == 0, errors
    run = client(server, "run", "-p", "operationcount=1000000000")
    run.until(lambda: any(run.intervals()))
    signal_all(server, number)
    so_far = len(run.intervals())
    run.until(lambda: 0 in run.intervals()[so_far:])
    run.interrupted()
    if number == signal.SIGSTOP:
        signal_all(server, signal.SIGCONT)


@pytest.mark.parametrize("name", ["redis", "postgres"])
def test_while_it_connects_to_a_server_that_does_not_answer(
    start: Start, client: Callable[..., Client], name: str
) -> None:
    needs(name)
    server = start(name)
    signal_all(server, signal.SIGSTOP)
    load = client(server, "load")
    load.until(lambda: has_socket(load.process.pid))
    load.interrupted()
    signal_all(server, signal.SIGCONT)
