"""The part of Cassandra's protocol (version 4) that a health query needs: one query at a time, no parameters.

Frames: version, flags, stream (2 bytes), opcode, length (4), body. Source: native_protocol_v4.spec of Apache Cassandra.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from typing import BinaryIO

from edgejoule.database_servers.server import NotReadyError

ANSWER_S = 15.0
_ERROR, _STARTUP, _READY, _QUERY, _RESULT = 0, 1, 2, 7, 8
_ROWS = 2
_ONE = 1  # consistency level ONE
_NUMBERS = {0x02: ">q", 0x05: ">q", 0x07: ">d", 0x08: ">f", 0x09: ">i", 0x04: ">?"}
_TEXTS = (0x01, 0x0D)

Value = str | int | float | bytes | None


class CqlError(Exception):
    """The node refused a query. The message is the node's."""


class Connection:
    """A connection to one node."""

    def __init__(self, sock: socket.socket, file: BinaryIO) -> None:
        self._sock, self._file = sock, file

    def ask(self, query: str) -> list[dict[str, Value]]:
        """Returns the rows. Raises CqlError, or NotReadyError when no answer came."""
        text = query.encode()
        body = self._exchange(_QUERY, struct.pack(">i", len(text)) + text + struct.pack(">HB", _ONE, 0))
        reader = _Reader(body)
        return reader.rows() if reader.integer() == _ROWS else []

    def _exchange(self, opcode: int, body: bytes) -> bytes:
        try:
            self._sock.sendall(struct.pack(">BBHBi", 4, 0, 0, opcode, len(body)) + body)
            head = self._file.read(9)
            if len(head) < 9:
                raise ConnectionError("the connection was closed")
            answer, size = struct.unpack(">BBHBi", head)[3:]
            body = self._file.read(size)
        except OSError as error:
            raise NotReadyError(f"no answer: {error}") from error
        if answer == _ERROR:
            reader = _Reader(body)
            code = reader.integer()
            raise CqlError(f"{reader.string()} ({code:#x})")
        return body

    def begin(self) -> None:
        """Sends the startup message, which must precede the first query."""
        self._exchange(_STARTUP, struct.pack(">H", 1) + _string("CQL_VERSION") + _string("3.0.0"))


class _Reader:
    def __init__(self, body: bytes) -> None:
        self._body, self._at = body, 0

    def _take(self, form: str) -> int:
        (value,) = struct.unpack_from(form, self._body, self._at)
        self._at += struct.calcsize(form)
        return int(value)

    def integer(self) -> int:
        return self._take(">i")

    def string(self) -> str:
        return self._bytes(self._take(">H")).decode(errors="replace")

    def _bytes(self, size: int) -> bytes:
        self._at += size
        return self._body[self._at - size : self._at]

    def _type(self) -> int:
        kind = self._take(">H")
        if kind == 0x00:
            self.string()
        for _ in range({0x20: 1, 0x22: 1, 0x21: 2}.get(kind, 0)):  # list, set, map
            self._type()
        return kind

    def rows(self) -> list[dict[str, Value]]:
        flags, count = self.integer(), self.integer()
        if flags & 1:
            self.string(), self.string()
        columns = []
        for _ in range(count):
            if not flags & 1:
                self.string(), self.string()
            columns.append((self.string(), self._type()))
        return [{name: self._value(kind) for name, kind in columns} for _ in range(self.integer())]

    def _value(self, kind: int) -> Value:
        size = self.integer()
        if size < 0:
            return None
        raw = self._bytes(size)
        if kind in _TEXTS:
            return raw.decode(errors="replace")
        if kind in _NUMBERS:
            value: Value = struct.unpack(_NUMBERS[kind], raw)[0]
            return value
        return raw


def _string(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


@contextlib.contextmanager
def connected(host: str, port: int) -> Iterator[Connection]:
    """Raises NotReadyError."""
    try:
        sock = socket.create_connection((host, port), timeout=ANSWER_S)
    except OSError as error:
        raise NotReadyError(f"{host}:{port}: {error.strerror or error}") from error
    with sock, sock.makefile("rb") as file:
        connection = Connection(sock, file)
        try:
            connection.begin()
        except CqlError as error:
            raise NotReadyError(str(error)) from error
        yield connection
