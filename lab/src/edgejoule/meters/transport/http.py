"""Asking a device on the network for a JSON object: the transport of plugs and meters with a web server."""

from __future__ import annotations

import base64
import http.client
import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

from edgejoule.errors import UsageError

FetchText = Callable[[str], str]
TIMEOUT_S = 0.8  # for the connection and for every wait on it: below the second between polls
_BYTES_MAX = 1 << 20
_HOST = re.compile(r"[A-Za-z0-9_.-]+(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?")


def checked_host(meter: str, host: str | None) -> str | None:
    """An option `host` (name or address, with a port or without). Raises UsageError for anything else."""
    if host is None or (isinstance(host, str) and _HOST.fullmatch(host)):
        return host
    raise UsageError(f"{meter}: host: expected a name or address, with :PORT or without, got {host!r}")


def fetcher(user: str | None = None, password: str | None = None) -> FetchText:
    """GET of a URL as text, with basic authentication where a password is given. Raises OSError."""
    headers = {}
    if password is not None:
        headers["Authorization"] = "Basic " + base64.b64encode(f"{user or 'admin'}:{password}".encode()).decode()

    def fetch(url: str) -> str:
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_S) as answer:
                body: bytes = answer.read(_BYTES_MAX)
        except urllib.error.HTTPError as error:
            raise OSError(f"status {error.code}{' (it wants a password)' if error.code == 401 else ''}") from error
        except (urllib.error.URLError, http.client.HTTPException, UnicodeError) as error:
            raise OSError(str(getattr(error, "reason", error)) or type(error).__name__) from error
        return body.decode("utf-8", errors="replace")

    return fetch


def json_object(text: str) -> dict[str, Any]:
    """The object in the text; numbers with a fraction stay texts, so that their digits can be counted. ValueError."""
    try:
        result = json.loads(text, parse_float=str)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"expected JSON, got {text[:40]!r}") from error
    if not isinstance(result, dict):
        raise ValueError(f"expected a JSON object, got {text[:40]!r}")
    return result


def number_at(reply: dict[str, Any], *keys: str) -> tuple[float, float]:
    """The number under these keys, and the step of its last digit. Raises ValueError for a value that is no number."""
    value: Any = reply
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    text = str(value)
    if isinstance(value, bool) or not re.fullmatch(r"-?\d+(\.\d+)?", text):
        raise ValueError(f"expected a number under {'.'.join(keys)}, got {text[:40]}")
    return float(text), 10.0 ** -len(text.partition(".")[2])
