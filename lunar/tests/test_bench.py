"""A small `make bench-lunar` on loop devices: each section runs and reads from the stated place."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench" / "bench.py"
BUFFERS, SKEWS, ENGINES = 2, 3, 4  # lunar, with a query cache, two journals of SQLite


def quick(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, BENCH, "--quick", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.root
def test_reads_come_from_the_device(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    done = quick("--only", "reads", "--json", figures)
    assert done.returncode == 0, done.stderr
    section = json.loads(figures.read_text())["sections"]["reads"]
    assert len(section) == BUFFERS * SKEWS * ENGINES + SKEWS  # the device without a database
    for name, (reading, *_) in section.items():
        assert reading["block"]["reads"] / reading["operations"] > 0.2
        if "WAL" in name:
            assert reading["block"]["bytes_read"] == pytest.approx(4096 * reading["block"]["reads"], rel=0.05)
    assert done.stdout.count("bar >= 2:") == SKEWS


@pytest.mark.root
def test_every_other_section_runs(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    names = ["ceilings", "card", "modes", "fragmentation", "wear", "calls", "volumes", "layers"]
    done = quick("--json", figures, *(word for name in names for word in ("--only", name)))
    assert done.returncode == 0, done.stderr
    result = json.loads(figures.read_text())
    assert sorted(result["sections"]) == sorted(names)
    assert all(result["sections"].values())
    assert {bar["name"].split(",")[0] for bar in result["bars"] if "mode " in bar["name"]} == {
        f"mode {mode} over none" for mode in ("disorder", "metadata", "data", "full")
    }
