"""docs/guides/any-program.md: its commands run as they stand, in order."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[3] / "docs/guides/any-program.md"
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the guide's commands work on, and an `edgejoule` on PATH."""
    made = tmp_path_factory.mktemp("guide")
    (made / "data.bin").write_bytes(os.urandom(200_000))
    (made / "words.txt").write_text("\n".join(f"word{n * 7919 % 10007}" for n in range(20_000)))
    (made / "many").write_text("x")
    subprocess.run(["tar", "cf", "data.tar", "many"], cwd=made, check=True)
    program = made / "bin/edgejoule"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from edgejoule.cli.main import main; main()" "$@"\n')
    program.chmod(0o755)
    return made


def test_the_guide_has_commands() -> None:
    assert len(COMMANDS) >= 10
    assert all(command.startswith("edgejoule ") for command in COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(COMMANDS)))
def test_a_command_of_the_guide_runs(folder: Path, number: int) -> None:
    """In order, each in the store that those before it made. 3: a busy machine's runs are flagged."""
    command = COMMANDS[number]
    for program in ("gzip", "zstd", "xz", "sort", "tar"):
        if f"{program} " in command and shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    env = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "EDGEJOULE_STORE": "results/store.db"}
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), (command, done.stdout[-1000:], done.stderr[-2000:])
    assert done.stdout or ">" in command
