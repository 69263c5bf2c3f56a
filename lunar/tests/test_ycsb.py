"""make bench-ycsb, small: every engine does every mix, and the table has a bar for each pair."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
MIXES, SKEWS = 5, 3


def bench(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, REPOSITORY / "lunar" / "bench" / "ycsb.py", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_all_engines_do_all_mixes_and_nothing_is_left_behind(tmp_path: Path) -> None:
    small = ("--records", "2000", "--operations", "2", "--rounds", "1", "--json", tmp_path / "figures.json")
    data = tmp_path / "data"
    data.mkdir()
    done = bench("--data", data, *small)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert set(figures) == {"lunar full", "SQLite TRUNCATE FULL", "SQLite WAL FULL"}
    for cells in figures.values():
        assert len(cells) == MIXES * SKEWS
        assert all(us > 0 for cell in cells for us in cell["us"])
    assert done.stdout.count("bar <= 0.4") == done.stdout.count("bar <= 0.85") == (MIXES - 1) * SKEWS
    assert done.stdout.count("bar >= 1:") == 2 * SKEWS
    assert not list(data.iterdir())


@pytest.mark.parametrize("words", [("--driver", "/bin/false"), ("--data", "/no/such/folder")])
def test_what_cannot_be_measured_is_one_line(words: tuple[str, ...], tmp_path: Path) -> None:
    done = bench("--data", tmp_path, "--records", "2000", *words)
    assert done.returncode == 1
    assert done.stderr.startswith("lunar's YCSB: ")
    assert "Traceback" not in done.stderr
