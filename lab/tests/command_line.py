"""The command `edgejoule` within the test's process: starting one and importing everything takes longer than most
commands.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
from pathlib import Path

from click.testing import CliRunner

from edgejoule.cli.main import main


def edgejoule(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Call it in that folder. An error that no command should have is raised here."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with contextlib.chdir(folder):
            done = CliRunner().invoke(main, arguments, catch_exceptions=False, env={"COLUMNS": None})
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)
