"""Running a small program for its text: the transport of meters that a vendor's tool reads."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence

RunText = Callable[[Sequence[str]], str]

TIMEOUT_S = 0.15


def run_text(command: Sequence[str]) -> str:
    """What the program writes to standard output. Raises OSError when it is not there, fails or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise OSError(f"{command[0]} has not answered within {TIMEOUT_S:g} s") from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise OSError(f"{command[0]} failed with status {done.returncode}{': ' + lines[-1] if lines else ''}")
    return done.stdout
