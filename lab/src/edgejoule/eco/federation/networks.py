"""Where servers listen and how their processes get into their network."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence
from typing import Protocol

from edgejoule.eco.federation.server import FederationServer


class Network(Protocol):
    """A network between servers. A context manager: it makes what it needs and removes that on exit.

    about: a description. encrypted: it goes beyond loopback, so that ecod demands certificates.
    """

    about: str
    encrypted: bool

    def __enter__(self) -> Network:
        """Make it."""
        ...

    def __exit__(self, *_: object) -> None:
        """Remove it."""
        ...

    def add(self, server: FederationServer) -> None:
        """Adds a server. Called once, before any other method names that server."""
        ...

    def host(self, server: FederationServer) -> str:
        """The address at which it listens and by which the others reach it."""
        ...

    def ports(self, server: FederationServer, count: int) -> list[int]:
        """Free ones there, all different; another call gives others."""
        ...

    def interface(self, server: FederationServer) -> str:
        """Returns the interface whose traffic its ecod counts."""
        ...

    def command(self, server: FederationServer) -> Sequence[str]:
        """Returns the argv prefix that starts a command in the server's network."""
        ...


class Loopback:
    """All servers on 127.0.0.1, as fast as the machine copies. Each sees the traffic of all."""

    about = "loopback, not shaped"
    encrypted = False

    def __enter__(self) -> Loopback:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def add(self, server: FederationServer) -> None:
        """Nothing is to be done."""

    def host(self, server: FederationServer) -> str:
        """The same for all."""
        return "127.0.0.1"

    def ports(self, server: FederationServer, count: int) -> list[int]:
        """That were free a moment ago."""
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
            for each in sockets:
                each.bind((self.host(server), 0))
            return [each.getsockname()[1] for each in sockets]

    def interface(self, server: FederationServer) -> str:
        """Loopback's."""
        return "lo"

    def command(self, server: FederationServer) -> Sequence[str]:
        """None are needed."""
        return ()
