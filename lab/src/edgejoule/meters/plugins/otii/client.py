"""Requests to the Otii server: JSON objects in lines, each answered under its transaction id.

Source: Qoitech, otii-tcp-client-python (package otii_tcp_client 1.0.13, docstrings of OtiiConnection, Arc, Project and
Recording) and the Otii TCP server's documentation.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from edgejoule.meters.transport.lines import Stream, read_line

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 1905


class OtiiClient:
    """One connection. Every call raises OSError for silence, a refusal and an invalid answer."""

    def __init__(self, stream: Stream, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._stream, self._clock_ns = stream, clock_ns
        self._rest = b""
        self._transaction = 0

    def greeting(self, timeout_s: float) -> Mapping[str, Any]:
        """What the server says of itself when one connects."""
        try:
            message = self._message(timeout_s)
        except ValueError as error:
            raise OSError(f"what answers is no Otii server: {error}") from error
        if message.get("type") == "error":
            raise OSError(f"the server refused: {_refusal(message)}")
        if message.get("type") != "information" or message.get("info") != "connected":
            raise OSError("what answers is no Otii server")
        data = message.get("data")
        return data if isinstance(data, dict) else {}

    def ask(self, command: str, timeout_s: float, **data: object) -> Mapping[str, Any]:
        """The answer's data. Answers to earlier questions that came too late are passed over."""
        self._transaction += 1
        number = str(self._transaction)
        request = {"type": "request", "cmd": command, "data": data, "trans_id": number}
        self._stream.write(json.dumps(request).encode() + b"\r\n")
        end_ns = self._clock_ns() + round(timeout_s * 1e9)
        while True:
            try:
                message = self._message((end_ns - self._clock_ns()) / 1e9)
            except ValueError:
                continue  # a line that is no answer
            if message.get("trans_id") != number or message.get("type") in ("information", "progress"):
                continue
            if message.get("type") == "error":
                raise OSError(f"{command}: {_refusal(message)}")
            result = message.get("data", {})
            if not isinstance(result, dict):
                raise OSError(f"{command}: an answer without data")
            return result

    def close(self) -> None:
        """Hang up."""
        self._stream.close()

    def _message(self, timeout_s: float) -> Mapping[str, Any]:
        line, self._rest = read_line(self._stream, self._rest, timeout_s, self._clock_ns)
        try:
            message = json.loads(line)
        except ValueError as error:
            raise ValueError(f"not JSON: {line[:40]!r}") from error
        if not isinstance(message, dict):
            raise ValueError(f"no JSON object: {line[:40]!r}")
        return message


def _refusal(message: Mapping[str, Any]) -> str:
    data = message.get("data")
    detail = data.get("message") if isinstance(data, dict) else None
    return str(detail or message.get("errorcode") or "an error without a message")
