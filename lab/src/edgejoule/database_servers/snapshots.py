"""Copies the data of a stopped server to a folder and restores them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from edgejoule.database_servers.server import DatabaseServer
from edgejoule.errors import StoreError, UsageError

_ABOUT = "about.json"


def keep(server: DatabaseServer, target: Path) -> None:
    """Copies the data to the folder target, whole or not at all; replaces an older snapshot. Raises StoreError."""
    part = target.with_name(target.name + ".part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        shutil.copytree(server.data, part / "data", symlinks=True)
        about = {"server": server.name, "version": server.version, "settings": dict(server.settings)}
        (part / _ABOUT).write_text(json.dumps(about, indent=1))
        if target.exists():
            about_of(target)  # never replace a folder that is no snapshot
            shutil.rmtree(target)
        part.rename(target)
    except OSError as error:
        raise StoreError(f"{target}: the snapshot cannot be kept: {error.strerror or error}") from error


def check(server: DatabaseServer, source: Path) -> None:
    """Raises UsageError when it is no snapshot, or another server's."""
    about = about_of(source)
    if about.get("server") != server.name:
        raise UsageError(f"{source}: a snapshot of {about.get('server')}, not of {server.name}")


def put_back(server: DatabaseServer, source: Path) -> None:
    """Replaces the server's data, which stay when that fails. Raises as check(), and StoreError."""
    check(server, source)
    part = server.data.with_name(server.data.name + ".part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(source / "data", part, symlinks=True)
        shutil.rmtree(server.data, ignore_errors=True)
        part.rename(server.data)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise StoreError(f"{source}: cannot be restored: {error.strerror or error}") from error


def about_of(source: Path) -> dict[str, object]:
    """Returns the description that a snapshot holds. Raises UsageError when it is no snapshot."""
    try:
        about: dict[str, object] = json.loads((source / _ABOUT).read_text())
    except (OSError, ValueError) as error:
        raise UsageError(f"{source}: no snapshot of a server") from error
    return about
