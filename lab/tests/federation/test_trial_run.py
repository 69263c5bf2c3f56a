"""A trial's rounds with real servers. Needs root."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgejoule.federation import Programs
from edgejoule.federation.namespaces import NAMED
from edgejoule.federation.shares import CGROUPS, why_no_groups
from edgejoule.federation.trial.pictures import draw_all
from edgejoule.federation.trial.rounds import run_trial
from edgejoule.federation.trial.spec import Link, Trial
from edgejoule.federation.trial.tables import read_rounds, tables

REPOSITORY = Path(__file__).resolve().parents[3]
BUILD = REPOSITORY / "build"

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(not (BUILD / "bin/ecod").exists(), reason="make eco builds ecod"),
    pytest.mark.skipif(shutil.which("db_bench") is None, reason="db_bench is not installed"),
    pytest.mark.skipif(why_no_groups() is not None, reason=str(why_no_groups())),
]

TRIAL = {
    "name": "small",
    "question": "?",
    "tiers": str(REPOSITORY / "eco/sim/tiers/paper.toml"),
    "policies": ["static:high"],
    "rounds": 1,
    "duration_s": 3,
    "links": [{"name": "shaped", "rate_mbit_s": 1000.0}],
    "database": {"write_buffer_kb": 128, "value_bytes": [400]},
    "servers": [
        {"name": "low", "tier": "low-1", "share": 0.2, "writes_mb_s": 1.0},
        {"name": "high", "tier": "high", "share": 0.4, "loaded": False},
    ],
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short: sockets lie in it."""
    made = Path(tempfile.mkdtemp(prefix="ej-"))
    yield made
    shutil.rmtree(made)


@pytest.mark.parametrize("encrypted", [True, False], ids=["certificates", "without"])
def test_a_round_tells_what_was_written_offloaded_and_used_and_leaves_nothing(folder: Path, encrypted: bool) -> None:
    trial = Trial.model_validate(TRIAL)
    link = Link(name="shaped", rate_mbit_s=1000, encrypted=encrypted)
    out, said = folder / "rounds.jsonl", []
    trial = trial.model_copy(update={"links": [link]})
    run_trial(trial, REPOSITORY / "trial.toml", Programs.of(BUILD), folder, out, said.append)
    (only,) = read_rounds([out])
    low = only["servers"]["low"]
    assert low["operations"] > 1000
    assert low["offloaded"]["high"] > 0
    assert low["cpu_s"] <= 0.25 * only["took_s"]
    assert only["servers"]["high"]["cpu_s"] > 0
    installed = [each for each in only["decisions"] if each.get("outcome") == "installed"]
    assert installed
    assert all(each["home_cpu_s"] > 0 and each["compute_s"] > 0 and each["options"] for each in installed)
    assert "static:high" in tables([only])
    assert len(draw_all([only], folder / "pictures")) >= 2
    assert json.dumps(only)
    assert not [entry for entry in NAMED.iterdir() if f"-{os.getpid()}-" in entry.name]
    assert not list(CGROUPS.glob(f"**/edgejoule-{os.getpid()}-*"))
