"""A small `make bench-lunar` on loop devices: each section runs and reads from the stated place."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
BENCH = REPOSITORY / "lunar" / "bench" / "bench.py"
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


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """The program, and a plan for sections that need no loop devices."""
    monkeypatch.syspath_prepend(BENCH.parent)
    from contest import Bench
    from sections import Plan

    return Bench(REPOSITORY / "build" / "bin" / "lunar-bench", None), Plan(True, 1, tmp_path / "scratch", print)


@pytest.mark.root  # lunar-bench is built for these tests only
def test_growth_has_each_step_of_each_engine_at_each_size(small: tuple[Any, Any]) -> None:
    from growth import ENGINES, STEPS, exponent, growth, requests

    section = growth(*small, sizes=(1000, 4000))
    for name in ENGINES:
        for steps in (section.data[name]["1000"], section.data[name]["4000"]):
            assert set(STEPS) - set(steps) == ({"check"} if name == "LMDB sync" else set())
            assert requests(steps["insert"]) >= 1, "a durable insert writes"
            assert steps["insert"]["operations"] == steps["load"]["operations"] / 4
    assert len(section.bars) == 12
    assert exponent([10, 100], [3, 30]) == pytest.approx(1)
    assert math.isnan(exponent([10, 100], [0, 30]))


@pytest.mark.root
def test_space_is_measured_and_drawn(small: tuple[Any, Any], tmp_path: Path) -> None:
    from space import ENGINES, space

    section = space(*small, operations=2000)
    picture = (tmp_path / "lunar-space.svg").read_text()
    for name in ENGINES:
        of = section.data[name]
        assert of["stopped"] == ""
        assert [point[0] for point in of["points"]] == list(range(0, 2001, 10))
        assert all(used > payload for _, used, payload in of["points"])
        assert f">{name}<" in picture
    assert all(bar.met for bar in section.bars)
