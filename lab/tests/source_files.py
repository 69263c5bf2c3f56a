"""The files of the repository, also where it is no Git repository: in a source archive."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

# What a build, a run or a tool writes into a source archive; in a Git repository .gitignore says it.
_WRITTEN = {"build", "results", "__pycache__", "uplot"}


def source_files(root: Path) -> list[str]:
    """Paths of the files below root that no build or run wrote, sorted."""
    if (root / ".git").exists():
        listed = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        return sorted({name for name in listed.stdout.split("\0") if name and (root / name).is_file()})
    files: list[str] = []
    for folder, folders, names in os.walk(root):
        # Tools write hidden folders (.venv, .ruff_cache); of the repository is only .ci.
        folders[:] = [
            name
            for name in folders
            if name not in _WRITTEN and not name.endswith(".egg-info") and (name == ".ci" or not name.startswith("."))
        ]
        files += [(Path(folder) / name).relative_to(root).as_posix() for name in names]
    return sorted(files)
