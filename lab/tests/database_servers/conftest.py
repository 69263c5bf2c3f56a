"""Servers that a test starts are stopped when it ends, also when it fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from edgejoule.database_servers import SERVERS, DatabaseServer


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
