"""Control groups of Linux, of version 1 or 2: groups of this program, their members, and what killed programs left.

Source: Linux kernel documentation, "Control Group v2" and "Control Groups version 1".
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
_OWN = re.compile(r"edgejoule-(\d+)-")
_END_S, _POLL_S = 1.0, 0.02  # a process that has ended is still a member for a moment


@dataclass(frozen=True)
class Hierarchy:
    """Where groups with a controller are made: one for each controller in version 1, one for all in version 2."""

    version: int
    base: Path
    controller: str


class ControlGroup:
    """A group of this program in a hierarchy, from make() to remove()."""

    def __init__(self, hierarchy: Hierarchy, name: str) -> None:
        self.version, self._hierarchy = hierarchy.version, hierarchy
        self.folder = hierarchy.base / f"edgejoule-{os.getpid()}-{name}"

    def make(self, settings: Mapping[str, object]) -> None:
        """settings: file -> its content. Raises OSError; nothing is then left."""
        try:
            if self.version == 2:
                self._delegate()
            self.folder.mkdir(exist_ok=True)
            for file, value in settings.items():
                (self.folder / file).write_text(str(value))
        except OSError:
            self.remove()
            raise

    def _delegate(self) -> None:
        """Let groups below the base have the controller."""
        control = self._hierarchy.base / "cgroup.subtree_control"
        if self._hierarchy.controller not in control.read_text().split():
            control.write_text(f"+{self._hierarchy.controller}")

    def command(self) -> list[str]:
        """argv prefix that starts a command inside the group."""
        return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self.folder / "cgroup.procs")]

    def remove(self) -> None:
        """Waits a moment for its members to end."""
        _remove(self.folder, kill=False)


def find(controller: str, root: Path = ROOT) -> Hierarchy | None:
    """Returns the hierarchy that has the controller, or None if there is none."""
    if (root / controller / "cgroup.procs").exists():
        return Hierarchy(1, root / controller, controller)
    for base in (root, root / "unified"):
        with contextlib.suppress(OSError):
            if controller in (base / "cgroup.controllers").read_text().split():
                return Hierarchy(2, base, controller)
    return None


def why_not(controller: str, root: Path = ROOT) -> str | None:
    """Why no group with the controller can be made here; None: one can."""
    hierarchy = find(controller, root)
    if hierarchy is None:
        return f"no {controller} controller below {root}"
    return None if os.access(hierarchy.base, os.W_OK) else f"{hierarchy.base} may not be written by this user"


def remove_leftovers(root: Path = ROOT) -> list[str]:
    """Groups of programs that have ended, with the processes that still run in them; their folders."""
    removed = []
    for base in (root / "cpu", root / "memory", root, root / "unified"):
        for folder in sorted(base.iterdir()) if base.exists() else []:
            owner = _OWN.match(folder.name)
            if owner is None or Path(f"/proc/{owner[1]}").exists() or not (folder / "cgroup.procs").exists():
                continue
            _remove(folder, kill=True)
            removed.append(str(folder))
    return removed


def _remove(folder: Path, *, kill: bool) -> None:
    end_s = time.monotonic() + _END_S
    while folder.exists() and time.monotonic() < end_s:
        for pid in (folder / "cgroup.procs").read_text().split() if kill else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        with contextlib.suppress(OSError):
            folder.rmdir()
            return
        time.sleep(_POLL_S)
