"""Bundles with other members: what tests of their import make."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path


def rewritten(path: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """The bundle with other members."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    other = path.with_name("changed.zip")
    with zipfile.ZipFile(other, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return other


def with_hash(members: dict[str, bytes], name: str, data: bytes) -> None:
    """A change whose hash is right: what a forger or a bug would make."""
    head = json.loads(members["bundle.json"])
    head["sha256"][name] = hashlib.sha256(data).hexdigest()
    members |= {name: data, "bundle.json": json.dumps(head).encode()}
