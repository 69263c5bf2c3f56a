"""What a program that was killed left on the machine: cgroups, namespaces and folders with its pid in their names."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import time
from pathlib import Path

from edgejoule.federation import namespaces
from edgejoule.federation.shares import CGROUPS

_GROUP = re.compile(r"edgejoule-(\d+)-")
_FOLDER = re.compile(r"ej-(\d+)-")


def new_folder(parent: Path) -> Path:
    """Of this program's; what killed ones left there is removed. Short: sockets lie in it."""
    for entry in parent.glob("ej-*"):
        owner = _FOLDER.match(entry.name)
        if owner and not Path(f"/proc/{owner[1]}").exists():
            shutil.rmtree(entry, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"ej-{os.getpid()}-", dir=parent))


def remove_leftovers(cgroups: Path = CGROUPS) -> list[str]:
    """With the processes that still run in them; what was removed."""
    removed = namespaces.remove_leftovers()
    for base in (cgroups / "cpu", cgroups):
        for group in sorted(base.iterdir()) if base.exists() else []:
            owner = _GROUP.match(group.name)
            if owner is None or Path(f"/proc/{owner[1]}").exists() or not (group / "cgroup.procs").exists():
                continue
            _remove(group)
            removed.append(str(group))
    return removed


def _remove(group: Path) -> None:
    for _ in range(50):
        for pid in (group / "cgroup.procs").read_text().split():
            namespaces.kill(int(pid))
        with contextlib.suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.02)  # who was killed is a member until it has ended
