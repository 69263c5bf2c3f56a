"""A study with an emulated board on a serial line: the real driver stands still, and both baselines are kept."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import math
import os
import pty
import threading
import tty
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import command_line
import jsonschema
import pytest

import edgejoule.study.study
from edgejoule.machine import environment
from edgejoule.store import Run, RunData, Store

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
SPEC = """\
name = "quiet"
question = "What does an open database draw when nobody asks?"

[factors]
database = ["sqlite"]
workload = ["workloada"]

[fixed]
recordcount = 500
operationcount = 4000
durability = "none"

[design]
replications = 1

[timing]
idle_s = 0.5
interval_ms = 50

[meter]
prefer = ["serial"]
run_s_min = 0
options = {{ serial = {{ port = "{port}", profile = "slow.toml" }} }}
"""
RATE_HZ = 10  # slow: a busy machine that does not wake the board for a while makes no gap of it
NAMES = ("energy_j", "power_idle_w", "energy_net_j", "power_quiet_w", "energy_net_quiet_j")


class Board:
    """A board that continuously prints 5 V and its current."""

    def __init__(self) -> None:
        self.amperes, self.wobble = 0.4, 0.0
        self._controller, self._line = pty.openpty()
        for end in (self._controller, self._line):
            tty.setraw(end)
        os.set_blocking(self._controller, False)
        self.port = os.ttyname(self._line)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._report, daemon=True)
        self._thread.start()

    def _report(self) -> None:
        signs = itertools.cycle((1, -1))
        while not self._ended.wait(1 / RATE_HZ):
            amperes = self.amperes + next(signs) * self.wobble
            with contextlib.suppress(BlockingIOError):  # nobody reads
                os.write(self._controller, f"5.000 V {amperes:.4f} A\n".encode())

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        os.close(self._controller)
        os.close(self._line)


@pytest.fixture
def board() -> Iterator[Board]:
    with contextlib.closing(Board()) as result:
        yield result


@pytest.fixture(autouse=True)
def _short_machine_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edgejoule.study.study, "SPEED_S", 0.005)
    monkeypatch.setattr(environment, "BUSY_WINDOW_S", 0.02)


def command(folder: Path, *arguments: str, code: tuple[int, ...] = (0,)) -> str:
    """What the command printed. 3 is a finished study with flagged runs: a busy machine makes a meter late."""
    done = command_line.edgejoule(folder, *arguments, "--store", "store.db")
    assert done.returncode in code, (done.stdout, done.stderr)
    return done.stdout


def describe(folder: Path, board: Board) -> None:
    """The experiment, and the instrument: text-vi at the board's rate."""
    (folder / "experiment.toml").write_text(SPEC.format(port=board.port))
    profile = (resources.files("edgejoule.meters.plugins.serial") / "profiles/text-vi.toml").read_text(encoding="utf-8")
    (folder / "slow.toml").write_text(profile.replace("rate_hz = 50", f"rate_hz = {RATE_HZ}"))


def study(folder: Path, board: Board, *arguments: str) -> tuple[Run, RunData]:
    describe(folder, board)
    command(folder, "run", "experiment.toml", *arguments, code=(0, 3))
    with Store.open(folder / "store.db") as store:
        run = next(r for r in store.runs(store.find().id) if r.status == "finished")
        return run, store.data(run)


def test_both_baselines_and_both_nets_are_in_the_run_the_terminal_the_exports_and_the_report(
    tmp_path: Path, board: Board
) -> None:
    run, data = study(tmp_path, board)
    values = {r.name: r for r in run.responses}
    for name in NAMES:
        assert values[name].value is not None, values[name].missing_reason
        assert values[name].uncertainty_k2 is not None
    assert values["power_quiet_w"].value == pytest.approx(2.0, rel=1e-6)
    assert run.facts["baselines"]["quiet"]["core_share"] < 0.1
    assert abs(values["energy_net_quiet_j"].value or 0.0) < 1e-6, "a board that always draws the same"
    ends: list[Any] = [e for e in data.events if e["event"] == "quiet_end"]
    assert run.intervals is not None
    assert ends[0]["monotonic_ns"] <= run.intervals.active_start_ns
    assert run.intervals.settled_end_ns <= ends[1]["quiet_start_ns"]

    shown = command(tmp_path, "show", "--run", "1")
    assert "database open, quiet" in shown
    assert "idle, no database open" in shown
    record = json.loads(command(tmp_path, "export", "--jsonl"))
    jsonschema.Draft202012Validator(json.loads((SCHEMAS / "run-record.schema.json").read_text())).validate(record)
    (row,) = csv.DictReader(io.StringIO(command(tmp_path, "export", "--csv")))
    for name in NAMES:
        assert float(row[f"{name}.measured"]) == values[name].value
        assert float(row[f"{name}.measured.k2"]) == values[name].uncertainty_k2
    page = (tmp_path / "quiet-1.html").read_text()
    assert "Gross, baselines and net" in page
    assert "power of the open database, quiet (W, measured)" in page


@pytest.mark.slow
def test_of_several_executions_the_quiet_stands_around_all_of_them(tmp_path: Path, board: Board) -> None:
    board.wobble = 0.01
    run, data = study(tmp_path, board, "--set", "meter.run_s_min=0.4")
    assert run.facts["executions"] > 1
    kinds = [e["event"] for e in sorted(data.events, key=lambda e: e["monotonic_ns"])]
    quiet = [i for i, kind in enumerate(kinds) if kind == "quiet_end"]
    assert len(quiet) == 2
    assert kinds[: quiet[0]].count("active_end") == 0
    assert kinds[: quiet[1]].count("active_end") == run.facts["executions"]
    (net,) = (r for r in run.responses if r.name == "energy_net_quiet_j")
    lines = run.facts["baselines"]["quiet"]["net_budget_j"].values()
    assert net.value is not None
    assert max(lines) > 0
    assert net.uncertainty_k2 == pytest.approx(2 * math.hypot(*lines) / run.facts["executions"]), "per execution"
    shown = command(tmp_path, "show", "--run", "1")
    assert "settled energy of one execution" in shown
    assert f"of all {run.facts['executions']} executions" in shown
    rows = shown[shown.index("database open, quiet") :].splitlines()[1:3]
    drift_j = max(lines) / run.facts["executions"]
    assert any(f"{drift_j:.3g}" in line for line in rows), "a line of the budget is of one execution, as net is"


def test_a_run_without_quiet_windows_reports_why_and_never_zero(tmp_path: Path, board: Board) -> None:
    run, data = study(tmp_path, board, "--set", "timing.quiet_s=0")
    values = {r.name: r for r in run.responses}
    assert not [e for e in data.events if e["event"] == "quiet_end"]
    for name in ("power_quiet_w", "energy_net_quiet_j"):
        assert values[name].value is None
        assert "timing.quiet_s is 0" in (values[name].missing_reason or "")
    assert values["energy_net_j"].value is not None
    assert "timing.quiet_s is 0" in command(tmp_path, "show", "--run", "1")


def test_the_time_estimate_has_the_quiet_windows_in_it(tmp_path: Path, board: Board) -> None:
    describe(tmp_path, board)
    output = command(tmp_path, "run", "experiment.toml", "--dry-run", "--set", "timing.quiet_s=60")
    assert "60 s with the database open and quiet" in output
    assert "at least 2 min 2 s" in output


@pytest.mark.slow
def test_a_resumed_study_waits_for_the_idle_power_that_it_began_with(tmp_path: Path, board: Board) -> None:
    arguments = ("--set", "timing.cool_down_s_max=0.5", "--set", 'factors.database=["sqlite", "lmdb"]')
    study(tmp_path, board, *arguments, "--only", "database=sqlite")
    board.amperes = 0.6
    command(tmp_path, "run", "experiment.toml", *arguments, "--resume", code=(3,))
    with Store.open(tmp_path / "store.db") as store:
        by_database = {run.levels["database"]: run for run in store.runs(store.find().id)}
    first, resumed = (by_database[name].facts["cool_down"]["idle_power"] for name in ("sqlite", "lmdb"))
    assert (first["start_w"], first["reached_w"], first["settled"]) == (pytest.approx(2.0), pytest.approx(2.0), True)
    assert (resumed["start_w"], resumed["reached_w"], resumed["settled"]) == (
        first["start_w"],
        pytest.approx(3.0),
        False,
    )
    number = str(by_database["lmdb"].run_index + 1)
    (flag,) = (flag for flag in by_database["lmdb"].flags if "idle" in flag)
    assert flag.startswith("began at 3 W idle (measured), 2 W when the study began: not settled after")
    assert "3 W measured at idle (2 at the start of the study)" in command(tmp_path, "show", "--run", number)
