"""What a program that was killed left on the machine: cgroups, namespaces and folders with its pid in their names."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from edgejoule.eco.federation import namespaces
from edgejoule.machine import cgroup

_FOLDER = re.compile(r"ej-(\d+)-")


def new_folder(parent: Path) -> Path:
    """Of this program's; what killed ones left there is removed. Short: sockets lie in it."""
    for entry in parent.glob("ej-*"):
        owner = _FOLDER.match(entry.name)
        if owner and not Path(f"/proc/{owner[1]}").exists():
            shutil.rmtree(entry, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"ej-{os.getpid()}-", dir=parent))


def remove_leftovers() -> list[str]:
    """With the processes that still run in them; what was removed."""
    return [*namespaces.remove_leftovers(), *cgroup.remove_leftovers()]
