"""A server that the user runs: a study works on it with what the user has loaded, and neither starts, configures, stops
nor empties it. Only its client reports on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar, Self, cast

from edgejoule.database_servers.server import DatabaseServer, Installation, Node

HOST = "host"  # an option that only a server of the user has
SECRET = "password"


class ExternalServer(DatabaseServer):
    """options: the client's; the server gets none."""

    summary = "a server that the user runs"
    observed: ClassVar[bool] = False

    def __init__(self, folder: Path, options: Mapping[str, object]) -> None:
        super().__init__(folder)
        self.settings = {name: str(value) for name, value in options.items() if name != SECRET}

    @classmethod
    def installation(cls) -> Installation:
        """Reports it as available: only its client can check."""
        return Installation(True)

    def prepare(self) -> None:
        """Does nothing."""

    def nodes(self) -> Sequence[Node]:
        """Returns no nodes: this program starts none."""
        return ()

    def ask_version(self) -> str:
        """Returns the version that its client reported."""
        return self.version

    def connection(self) -> Mapping[str, object]:
        """Returns nothing: the client's options contain the connection already."""
        return {}

    def start(self) -> Self:
        """Does nothing: if the server does not run, its client reports that."""
        return self

    def stop(self) -> str:
        """Does nothing: the user runs the server."""
        return "not stopped: the user runs it"

    def kill(self) -> None:
        """Does nothing: the user runs the server."""

    def last_output(self, node: str | None = None) -> str:
        """Reports that this program cannot read the log."""
        return "its log is where the user runs it"


@cache
def external(kind: type[DatabaseServer]) -> type[ExternalServer]:
    """Returns the class of a kind of server that the user runs."""
    return cast(type[ExternalServer], type(f"ExternalServer{kind.__name__}", (ExternalServer,), {"name": kind.name}))


def is_local(host: str) -> bool:
    """Decides by the name alone whether a host is this machine; a path names a socket."""
    return host in ("localhost", "::1") or host.startswith(("/", "127."))
