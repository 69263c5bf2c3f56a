"""Optional Python packages, as extras of lab/pyproject.toml, and the command that installs one."""

from __future__ import annotations

import sys
from pathlib import Path

_SOURCE = Path(__file__).resolve().parents[2]


def install_command(extra: str) -> str:
    """Returns the command that installs an extra of edgejoule with the Python that runs: from the source tree if
    edgejoule runs from one, else from the package index.
    """
    pip = Path(sys.executable).parent / "pip"
    if not (_SOURCE / "pyproject.toml").is_file():
        return f"{_short(pip)} install 'edgejoule[{extra}]'"
    return f"{_short(pip)} install -e '{_short(_SOURCE)}[{extra}]'"


def _short(path: Path) -> str:
    """Returns the path relative to the present folder if it lies below it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, FileNotFoundError):  # elsewhere; the present folder was removed
        return str(path)
