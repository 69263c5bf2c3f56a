"""Servers that a test starts are stopped when it ends, also when it fails."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from edgejoule.database_servers import SERVERS, DatabaseServer
from edgejoule.machine.processes import files_of_processes

SHARED_MEMORY = Path("/dev/shm")


def _segments() -> set[Path]:
    """The shared memory of PostgreSQL and of MongoDB's client library."""
    return {*SHARED_MEMORY.glob("PostgreSQL.*"), *SHARED_MEMORY.glob("mongoc-*")}


@pytest.fixture(autouse=True)
def no_shared_memory_left() -> Iterator[None]:
    """Removes what a killed server or driver leaves in memory: files of this test's time that no process has mapped."""
    before = _segments()
    yield
    if new := _segments() - before:
        mapped = ""
        for maps in files_of_processes("maps"):
            with contextlib.suppress(OSError):  # the process has ended
                mapped += maps.read_text()
        for segment in new:
            if f"{segment}\n" not in mapped:
                segment.unlink(missing_ok=True)


class Start(Protocol):
    def __call__(self, name: str, folder: str = "server", **options: Any) -> DatabaseServer: ...


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a server; __ in the name of an option stands for a dot."""
    started: list[DatabaseServer] = []

    def one(name: str, folder: str = "server", **options: Any) -> DatabaseServer:
        installed = SERVERS[name].installation()
        if not installed.available:
            pytest.fail(f"{installed.why}: {installed.fix}")
        asked = {key.replace("__", "."): value for key, value in options.items()}
        server = SERVERS[name](tmp_path / folder, asked)
        started.append(server)
        return server.start()

    yield one
    for server in started:
        server.kill()
