"""As much of Redis's protocol (RESP2) as asking a server how it is takes."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import BinaryIO

from edgejoule.database_servers.server import NotReadyError

ANSWER_S = 5.0

Reply = str | int | None | list["Reply"]


class RedisError(Exception):
    """The server refused a command; its own words."""


class Connection:
    """One request at a time."""

    def __init__(self, sock: socket.socket, file: BinaryIO) -> None:
        self._sock, self._file = sock, file

    def ask(self, *words: str) -> Reply:
        """Raises RedisError, or NotReadyError when no answer came."""
        request = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in map(str.encode, words))
        try:
            self._sock.sendall(request)
            return self._read()
        except OSError as error:
            raise NotReadyError(f"no answer to {words[0]}: {error}") from error

    def _read(self) -> Reply:
        line = self._file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the connection was closed")
        kind, rest = line[:1], line[1:-2].decode(errors="replace")
        if kind == b"-":
            raise RedisError(rest)
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == "-1" else self._file.read(int(rest) + 2)[:-2].decode(errors="replace")
        if kind == b"*":
            return [self._read() for _ in range(int(rest))]
        return rest


@contextlib.contextmanager
def connected(host: str, port: int) -> Iterator[Connection]:
    """Raises NotReadyError."""
    try:
        sock = socket.create_connection((host, port), timeout=ANSWER_S)
    except OSError as error:
        raise NotReadyError(f"{host}:{port}: {error.strerror or error}") from error
    with sock, sock.makefile("rb") as file:
        yield Connection(sock, file)
