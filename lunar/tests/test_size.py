"""The library of `make firmware` has no static RAM and imports only functions that copy and compare bytes."""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
BUILDS = [str(REPOSITORY / "build" / name) for name in ("qemu-virt", "qemu-virt-save-restore", "mps2")]

pytestmark = pytest.mark.qemu


def size_of(*builds: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, REPOSITORY / "lunar" / "bench" / "size.py", *builds]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_has_no_static_ram_and_needs_only_memory_and_string_functions() -> None:
    table = size_of(*BUILDS)
    assert table.returncode in (0, 1), table.stderr
    assert "from outside" not in table.stdout
    assert "static RAM, expected none" not in table.stdout
    static_ram = next(line for line in table.stdout.splitlines() if line.startswith("static RAM"))
    assert static_ram.split()[2:] == ["0"] * 9
    assert "basic: device management" in table.stdout
    assert "table: SQL" in table.stdout


def test_says_what_to_do_when_nothing_was_built(tmp_path: Path) -> None:
    missing = size_of(str(tmp_path))
    assert missing.returncode == 2
    assert "run make firmware" in missing.stderr
