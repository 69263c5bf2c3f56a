"""Servers that a test starts are stopped when it ends, also when it fails."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, Self

import pytest
from pymongo import MongoClient

from edgejoule.database_servers import SERVERS, DatabaseServer
from edgejoule.database_servers.mongodb import ANSWER_S, Document, MongoDB, time_limits
from edgejoule.database_servers.mongodb_record import URI, given_uri, product_of
from edgejoule.machine.processes import files_of_processes

SHARED_MEMORY = Path("/dev/shm")
GIVEN_MONGODB = given_uri()


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


class GivenMongoDB(MongoDB):
    """The MongoDB that EDGEJOULE_MONGODB_URI names: tests neither start nor stop it."""

    test_database = "edgejoule_test"

    def start(self) -> Self:
        self.version = self.ask_version()
        self.empty()
        return self

    def stop(self) -> str:
        raise AssertionError("the user runs it; is needs_own_mongodb missing?")

    def kill(self) -> None:
        """Nothing."""

    def client(self, wait_s: float = ANSWER_S) -> MongoClient[Document]:
        return MongoClient(GIVEN_MONGODB, **time_limits(wait_s))

    @property
    def stand_in(self) -> str:
        build, status = (self._ask(command) for command in ("buildInfo", "serverStatus"))
        name, is_stand_in = product_of(build, str(status.get("process", "")))
        return name if is_stand_in else ""

    def empty(self) -> None:
        with self.client() as client:
            client.drop_database(self.test_database)


needs_own_mongodb = pytest.mark.skipif(
    bool(GIVEN_MONGODB), reason=f"{URI} names a server that tests neither start nor stop"
)


class Start(Protocol):
    def __call__(self, name: str, folder: str = "server", **options: Any) -> DatabaseServer: ...


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a server; __ in the name of an option stands for a dot."""
    started: list[DatabaseServer] = []
    emptied = contextlib.ExitStack()

    def one(name: str, folder: str = "server", **options: Any) -> DatabaseServer:
        if name == "mongodb" and GIVEN_MONGODB:
            assert not options, "is needs_own_mongodb missing?"
            given = GivenMongoDB(tmp_path / folder)
            emptied.callback(given.empty)
            return given.start()
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
    emptied.close()
