"""The library of `make firmware` has no static RAM, imports only functions that copy and compare bytes, and has the
sizes that the pages state.
"""

import re
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


def figures_of(table: str, row: str) -> list[float]:
    (line,) = (line for line in table.splitlines() if line.lstrip().startswith(row))
    return [float(figure) for figure in re.findall(r"[\d.]+", line.split(row)[1])]


def test_the_pages_state_the_sizes_of_this_library() -> None:
    """Sizes within 1 %: another version of the compiler needs no new page, other code does."""
    table = size_of(*BUILDS).stdout
    kb = figures_of(table, "linked, KB")
    rv64, cortex_m3 = kb[:3], kb[6:]
    readme = (REPOSITORY / "lunar/README.md").read_text()
    guide = (REPOSITORY / "lunar/docs/GUIDE.md").read_text()
    (in_readme,) = re.findall(r"\| ROM \| ([\d.]+) KB basic, ([\d.]+) KB [^,|]*, ([\d.]+) KB", readme)
    (in_guide,) = re.findall(r"\| ROM, linked, [^|]*\| RV64: ([\d. /]+) KB; Cortex-M3: ([\d. /]+) KB", guide)
    assert [float(figure) for figure in in_readme] == pytest.approx(rv64, rel=0.01)
    assert [float(figure) for figure in in_guide[0].split("/")] == pytest.approx(rv64, rel=0.01)
    assert [float(figure) for figure in in_guide[1].split("/")] == pytest.approx(cortex_m3, rel=0.01)
    (least,) = re.findall(r"`LUNAR_BUFFER_BYTES_MIN`, ([\d,]+) bytes with sectors of 512", readme)
    assert int(least.replace(",", "")) == figures_of(table, "RAM: smallest buffer, 512-byte sectors")[0]


def test_reports_the_remedy_when_nothing_was_built(tmp_path: Path) -> None:
    missing = size_of(str(tmp_path))
    assert missing.returncode == 2
    assert "run make firmware" in missing.stderr
