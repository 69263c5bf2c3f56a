"""docs/tutorials/any-program.md: its commands run as they stand, in order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

GUIDE = Path(__file__).resolve().parents[3] / "docs/tutorials/any-program.md"
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]


def prepared(folder: Path) -> None:
    """What the guide's commands work on, and an `edgejoule` on PATH."""
    (folder / "data.bin").write_bytes(os.urandom(200_000))
    (folder / "words.txt").write_text("\n".join(f"word{n * 7919 % 10007}" for n in range(20_000)))
    (folder / "many").write_text("x")
    subprocess.run(["tar", "cf", "data.tar", "many"], cwd=folder, check=True)
    program = folder / "bin/edgejoule"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from edgejoule.cli.main import main; main()" "$@"\n')
    program.chmod(0o755)


def test_the_guide_has_commands() -> None:
    assert len(COMMANDS) >= 10
    assert all(command.startswith("edgejoule ") for command in COMMANDS)


@pytest.mark.slow
def test_the_commands_of_the_guide_run_in_order(tmp_path: Path) -> None:
    """Each in the store that those before it made. 3: a busy machine's runs are flagged."""
    prepared(tmp_path)
    env = os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "EDGEJOULE_STORE": "results/store.db"}
    for command in COMMANDS:
        missing = [name for name in ("gzip", "zstd", "xz", "sort", "tar") if f"{name} " in command and not which(name)]
        if missing:
            print(f"left out, {missing[0]} is not installed: {command}")
            continue
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 3), (command, done.stdout[-1000:], done.stderr[-2000:])
        assert done.stdout or ">" in command
