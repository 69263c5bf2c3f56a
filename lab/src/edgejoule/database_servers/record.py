"""The record of a running server's processes in its folder, by which another program can stop them."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgejoule.database_servers.processes import NodeProcess, started_ticks

FILE = "server.json"


@dataclass(frozen=True)
class Record:
    """A started server. ports: by name. owner: pid and start time of the program that stops it; None: it runs until
    a user stops it."""

    server: str
    settings: Mapping[str, str]
    ports: Mapping[str, int]
    processes: Sequence[NodeProcess]
    owner: tuple[int, int] | None

    def write(self, folder: Path) -> None:
        """Writes the record whole or not at all."""
        kept = {
            "server": self.server,
            "settings": dict(self.settings),
            "ports": dict(self.ports),
            "processes": [{"name": p.name, "pid": p.pid, "started_ticks": p.started_ticks} for p in self.processes],
            "owner": self.owner,
        }
        part = folder / f"{FILE}.part"
        part.write_text(json.dumps(kept, indent=1))
        part.rename(folder / FILE)

    @classmethod
    def read(cls, folder: Path) -> Record | None:
        """Reads the record; None if no server was left there."""
        try:
            kept = json.loads((folder / FILE).read_text())
            processes = [NodeProcess(p["name"], p["pid"], p["started_ticks"]) for p in kept["processes"]]
            owner = tuple(kept["owner"]) if kept["owner"] else None
            return cls(kept["server"], kept["settings"], kept["ports"], processes, owner)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def orphaned(self) -> bool:
        """Returns whether the program that would stop it has ended."""
        return self.owner is not None and started_ticks(self.owner[0]) != self.owner[1]

    def kill(self, folder: Path) -> list[str]:
        """Kills its processes that still run and returns their names."""
        killed = [p.name for p in self.processes if p.runs()]
        for process in self.processes:
            process.kill()
        forget(folder)
        return killed


def this_program() -> tuple[int, int]:
    """Returns this program's process and start time, in the form of Record.owner."""
    return os.getpid(), started_ticks(os.getpid()) or 0


def forget(folder: Path) -> None:
    """Removes the record: no server runs there any more."""
    with contextlib.suppress(FileNotFoundError):
        (folder / FILE).unlink()


def remove_leftovers(below: Path) -> list[str]:
    """Kill servers below a folder whose program was killed; their names. Servers that were to outlive it stay."""
    killed = []
    for file in sorted(below.glob(f"**/{FILE}")):
        record = Record.read(file.parent)
        if record and record.orphaned():
            killed += record.kill(file.parent)
    return killed
