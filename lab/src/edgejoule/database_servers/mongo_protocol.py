"""As much of MongoDB's wire protocol (OP_MSG, BSON) as asking a server how it is takes."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

from edgejoule.database_servers.server import NotReadyError

ANSWER_S = 15.0
_OP_MSG = 2013
_HEAD = struct.Struct("<iiii")  # length, request, answer to, operation

Document = dict[str, Any]


class MongoError(Exception):
    """The server refused a command; its own words."""


class Connection:
    """One command at a time."""

    def __init__(self, sock: socket.socket, file: BinaryIO) -> None:
        self._sock, self._file = sock, file

    def ask(self, command: Mapping[str, object], database: str = "admin") -> Document:
        """Raises MongoError, or NotReadyError when no answer came."""
        body = bytes(4) + b"\0" + encoded({**command, "$db": database})
        name = next(iter(command))
        try:
            self._sock.sendall(_HEAD.pack(_HEAD.size + len(body), 1, 0, _OP_MSG) + body)
            length, _, _, operation = _HEAD.unpack(self._read(_HEAD.size))
            answer = self._read(length - _HEAD.size)
        except OSError as error:
            raise NotReadyError(f"no answer to {name}: {error}") from error
        if operation != _OP_MSG or answer[4:5] != b"\0":
            raise NotReadyError(f"no answer of MongoDB's protocol to {name}")
        told = decoded(answer[5:])
        if told.get("ok") != 1:
            raise MongoError(f"{name}: {told.get('errmsg', 'refused')}")
        return told

    def _read(self, size: int) -> bytes:
        found = self._file.read(size)
        if len(found) < size:
            raise ConnectionError("the connection was closed")
        return found


@contextlib.contextmanager
def connected(host: str, port: int) -> Iterator[Connection]:
    """Raises NotReadyError."""
    try:
        sock = socket.create_connection((host, port), timeout=ANSWER_S)
    except OSError as error:
        raise NotReadyError(f"{host}:{port}: {error.strerror or error}") from error
    with sock, sock.makefile("rb") as file:
        yield Connection(sock, file)


def encoded(document: Mapping[str, object]) -> bytes:
    """BSON of strings, whole numbers, truth values, bytes, documents and lists. Raises TypeError for anything else."""
    body = b"".join(_element(name, value) for name, value in document.items())
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def _element(name: str, value: object) -> bytes:
    key = name.encode() + b"\0"
    match value:
        case bool():
            return b"\x08" + key + bytes([value])
        case int():
            return b"\x12" + key + struct.pack("<q", value)
        case str():
            text = value.encode() + b"\0"
            return b"\x02" + key + struct.pack("<i", len(text)) + text
        case bytes():
            return b"\x05" + key + struct.pack("<iB", len(value), 0) + value
        case Mapping():
            return b"\x03" + key + encoded(value)
        case list():
            return b"\x04" + key + encoded({str(i): item for i, item in enumerate(value)})
    raise TypeError(f"{name}: no BSON of {type(value).__name__}")


def decoded(data: bytes) -> Document:
    """What BSON says; what has no like in Python (timestamps, decimals) as bytes. Raises NotReadyError."""
    try:
        return _document(data, 0)[0]
    except (ValueError, IndexError, struct.error) as error:
        raise NotReadyError(f"an answer that is no BSON: {error}") from error


def _document(data: bytes, at: int) -> tuple[Document, int]:
    end = at + int.from_bytes(data[at : at + 4], "little")
    at += 4
    found: Document = {}
    while (kind := data[at]) != 0:
        name_end = data.index(b"\0", at)
        name = data[at + 1 : name_end].decode()
        found[name], at = _value(kind, data, name_end + 1)
    return found, end


def _value(kind: int, data: bytes, at: int) -> tuple[object, int]:
    if kind in _FIXED:
        size, read = _FIXED[kind]
        return read(data[at : at + size]), at + size
    if kind == 3:
        return _document(data, at)
    if kind == 4:
        listed, end = _document(data, at)
        return list(listed.values()), end
    size = int.from_bytes(data[at : at + 4], "little")
    if kind == 2:
        return data[at + 4 : at + 3 + size].decode(errors="replace"), at + 4 + size
    if kind == 5:
        return data[at + 5 : at + 5 + size], at + 5 + size
    raise ValueError(f"type {kind:#x}")


def _whole(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


#: Bytes of a value by its type, and what makes it one of Python. Times are milliseconds since 1970.
_FIXED: dict[int, tuple[int, Callable[[bytes], object]]] = {
    0x01: (8, lambda data: struct.unpack("<d", data)[0]),
    0x07: (12, bytes.hex),
    0x08: (1, lambda data: data != b"\0"),
    0x09: (8, _whole),
    0x0A: (0, lambda data: None),
    0x10: (4, _whole),
    0x11: (8, bytes),
    0x12: (8, _whole),
    0x13: (16, bytes),
}
