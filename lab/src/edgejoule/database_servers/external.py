"""A server that the user runs: a study works on it with what the user has loaded, and neither starts, configures, stops
nor empties it. Only its client reports on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar, Self, cast

from edgejoule.database_servers.server import DatabaseServer, FoundServer, Node

HOST = "host"  # the option that says that the server is the user's
SECRET = "password"


class ExternalServer(DatabaseServer):
    """options: of its client, which alone gets them."""

    summary = "a server that the user runs"
    observed: ClassVar[bool] = False

    def __init__(self, folder: Path, options: Mapping[str, object]) -> None:
        super().__init__(folder)
        self.settings = {name: str(value) for name, value in options.items() if name != SECRET}

    @classmethod
    def found(cls) -> FoundServer:
        """Its client finds out."""
        return FoundServer(True)

    def prepare(self) -> None:
        """Nothing."""

    def nodes(self) -> Sequence[Node]:
        """None of ours."""
        return ()

    def ask_version(self) -> str:
        """Its client says it."""
        return self.version

    def connection(self) -> Mapping[str, object]:
        """Among the client's options already."""
        return {}

    def start(self) -> Self:
        """It runs, or its client says that it does not."""
        return self

    def stop(self) -> str:
        """It is not ours."""
        return "not stopped: the user runs it"

    def kill(self) -> None:
        """It is not ours."""

    def last_output(self, node: str | None = None) -> str:
        """Where the user keeps it."""
        return "its log is where the user runs it"


@cache
def external(kind: type[DatabaseServer]) -> type[ExternalServer]:
    """Of a kind."""
    return cast(type[ExternalServer], type(f"ExternalServer{kind.__name__}", (ExternalServer,), {"name": kind.name}))


def is_local(host: str) -> bool:
    """Decides by the name alone; a path is a socket's."""
    return host in ("localhost", "::1") or host.startswith(("/", "127."))
