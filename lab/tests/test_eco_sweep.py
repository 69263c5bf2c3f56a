"""Sweeps of eco-sim: plan, run here and on Dask, resume, tables and pictures."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from click.testing import CliRunner

from edgejoule.cli.main import main
from edgejoule.eco import sweep as sweeps
from edgejoule.eco.pictures import draw, front_of, lines_of
from edgejoule.errors import DataError, SweepError, UsageError
from edgejoule.extras import install_command

ROOT = Path(__file__).resolve().parents[2]

EXPERIMENT = """
schema_version = 1
name = "two"
question = "?"
tiers = "tiers.toml"
calibration = "calibration.toml"
[run]
policies = ["local", "eco"]
[[servers]]
name = "a"
tier = "weak"
"""
TIERS = """
schema_version = 1
[tiers.weak]
link_gbit_s = 1
[tiers.strong]
link_gbit_s = 1
"""
SWEEP = """
schema_version = 1
name = "links"
question = "Does it pay?"
experiment = "experiment.toml"
seeds = [1, 2]
[factors]
"tiers.*.link_gbit_s" = [0.1, 10]
"database.max_background_jobs" = [2, 8]
[[pictures]]
file = "links"
title = "Throughput"
kind = "lines"
x = "tiers.*.link_gbit_s"
y = "throughput_ops_s"
relative_to = "local"
where = { "database.max_background_jobs" = 8 }
[[pictures]]
file = "front"
title = "Front"
kind = "front"
x = "reads_ops_s"
y = "energy_per_op_uj.modelled"
label = "tiers.*.link_gbit_s"
"""
#: Answers as eco-sim does; counts its runs; fails where a test wants it to.
SIMULATOR = """#!/usr/bin/env -S python3 -I -S
import json, pathlib, sys, tomllib
argv = sys.argv[2:]
option = lambda name: argv[argv.index(name) + 1]
experiment = pathlib.Path(argv[0])
here = pathlib.Path(__file__).parent
with (here / "runs").open("a") as runs:
    runs.write("x")
if (here / "fails").exists():
    sys.exit(f"eco-sim: {experiment}: run.seeds: nothing is right")
content = tomllib.loads(experiment.read_text())
tiers = tomllib.loads((experiment.parent / content["tiers"]).read_text())["tiers"]
jobs, seed, link = content["database"]["max_background_jobs"], int(option("--seed")), tiers["strong"]["link_gbit_s"]
gain = {"local": 1, "eco": 1 + link / 10}[option("--policy")]
keys = "throughput_ops_s writes_ops_s reads_ops_s stopped_s delayed_s level0_files_mean level0_compactions offloaded"
keys += " energy_j energy_marginal_j energy_per_op_uj fell_back elsewhere_s_p50 elsewhere_s_p95"
keys += " elsewhere_s_p99 met_slow_s_p50 met_slow_s_p95 moved_bytes wasted_bytes wasted_cpu_s"
one = {key: 100 * seed * jobs * gain for key in keys.split()}
server = lambda name: {"name": name, "tier": "weak", **one}
pathlib.Path(option("--json")).write_text(json.dumps({"runs": [{"total": server("total"), "servers": [server("a")]}]}))
"""


def write_sweep(folder: Path) -> Path:
    """Writes a sweep and its simulator into a folder. Returns the folder."""
    for name, text in {
        "experiment.toml": EXPERIMENT,
        "tiers.toml": TIERS,
        "calibration.toml": "schema_version = 1\n",
        "sweep.toml": SWEEP,
        "eco-sim": SIMULATOR,
    }.items():
        (folder / name).write_text(text)
    (folder / "eco-sim").chmod(0o755)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_sweep(tmp_path)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[sweeps.Row]:
    """The rows of the whole sweep, simulated once for all tests of the pictures."""
    folder = write_sweep(tmp_path_factory.mktemp("sweep"))
    return [row for point in read(folder).points for row in sweeps.simulate(point, str(folder / "eco-sim"))]


def runs_of(folder: Path) -> int:
    return len((folder / "runs").read_text())


def read(folder: Path, old: str = "", new: str = "") -> sweeps.Sweep:
    file = folder / "sweep.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    return sweeps.read_sweep(file)


def test_every_combination_of_levels_policies_and_seeds_is_a_point(folder: Path) -> None:
    sweep = read(folder)
    assert len(sweep.points) == 2 * 2 * 2 * 2
    assert len({point.key for point in sweep.points}) == len(sweep.points)


def test_a_level_is_set_in_every_tier_or_in_one(folder: Path) -> None:
    tiers = tomllib.loads(dict(read(folder).points[-1].files)["tiers"])
    assert [tiers["tiers"][name]["link_gbit_s"] for name in ("weak", "strong")] == [10, 10]
    one = read(folder, '"tiers.*.link_gbit_s" = [0.1, 10]', '"tiers.strong.link_gbit_s" = [0.1, 10]')
    tiers = tomllib.loads(dict(one.points[-1].files)["tiers"])
    assert [tiers["tiers"][name]["link_gbit_s"] for name in ("weak", "strong")] == [1, 10]


def test_a_file_is_a_level(folder: Path) -> None:
    (folder / "other.toml").write_text(TIERS.replace("weak", "weaker"))
    sweep = read(folder, "[factors]", '[factors]\ntiers = ["tiers.toml", "other.toml"]')
    assert "weaker" in dict(sweep.points[-1].files)["tiers"]
    assert "weaker" not in dict(sweep.points[0].files)["tiers"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("seeds", "seed", "seed: there is no such key"),
        ('"tiers.*.link_gbit_s"', '"tiers.middle.link_gbit_s"', "there is no table middle; there are weak, strong"),
        ("[0.1, 10]", "3", "a list of levels is expected"),
        ('"database.max_background_jobs" = [2, 8]', "jobs = [2]", "expected TABLE.KEY"),
        ("experiment.toml", "none.toml", "none.toml: No such file"),
    ],
)
def test_errors_in_a_sweep_file_are_refused(folder: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(SweepError, match=said.replace("[", r"\[")):
        read(folder, old, new)


def test_what_the_simulator_refuses_is_reported_with_its_levels(folder: Path) -> None:
    (folder / "fails").touch()
    with pytest.raises(DataError, match=r"run.seeds: nothing is right \(at .*max_background_jobs': 2"):
        sweeps.simulate(read(folder).points[0], str(folder / "eco-sim"))


def test_a_simulator_that_is_killed_or_writes_no_result_is_reported(folder: Path) -> None:
    simulator, point = folder / "eco-sim", read(folder).points[0]
    simulator.write_text("#!/bin/sh\nkill -9 $$\n")
    with pytest.raises(DataError, match=r"was killed by SIGKILL \(at .*, policy local, seed 1\)"):
        sweeps.simulate(point, str(simulator))
    simulator.write_text("#!/bin/sh\n")
    with pytest.raises(DataError, match=r"ended without a result: .*No such file"):
        sweeps.simulate(point, str(simulator))


@pytest.mark.parametrize("taken", ["out", "out/points.jsonl", "out/rows.csv"])
def test_an_output_that_cannot_be_written_is_named(folder: Path, taken: str) -> None:
    if taken == "out":
        (folder / "out").write_text("")
    else:
        (folder / taken).mkdir(parents=True)
    done = command(folder)
    assert done.exit_code != 0
    assert f"{folder / taken}" in str(done.exception or done.output) or f"{folder / taken}" in done.output
    assert "Traceback" not in done.output


@pytest.mark.slow
def test_lines_are_compared_seed_by_seed_with_the_policy_that_is_named(folder: Path, rows: list[sweeps.Row]) -> None:
    sweep = read(folder)
    points = lines_of(sweep.pictures[0], rows, list(sweep.factors))
    assert points["eco"] == {0.1: pytest.approx([1, 1]), 10: pytest.approx([100, 100])}
    assert points["local"] == {0.1: [0, 0], 10: [0, 0]}


def test_the_front_has_the_points_that_none_is_better_than_in_both() -> None:
    assert front_of([(1, 1), (2, 3), (2, 2), (3, 9), (2.5, 10), (0, 1)]) == [(3, 9), (2, 2), (1, 1)]


def test_pictures_are_drawn_and_name_their_content(folder: Path, rows: list[sweeps.Row]) -> None:
    sweep = read(folder)
    files = draw(sweep, rows, folder)
    text = files[0].read_text()
    assert [file.name for file in files] == ["links.svg", "front.svg"]
    for phrase in ("Throughput", "% against local", "link, Gbit/s", "max_background_jobs 8", "eco"):
        assert phrase in text, phrase
    assert "modelled" in files[1].read_text()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('y = "throughput_ops_s"', 'y = "speed"', "there is no column speed"),
        ('kind = "front"', 'kind = "pie"', "expected lines or front"),
        ("label =", "lable =", "lable: there is no such key"),
        ("= 8 }", "= 9 }", "no run is chosen"),
    ],
)
def test_a_picture_of_what_is_not_there_is_refused(
    folder: Path, rows: list[sweeps.Row], old: str, new: str, said: str
) -> None:
    sweep = read(folder, old, new)
    with pytest.raises(SweepError, match=said):
        draw(sweep, rows, folder)


@pytest.fixture(params=["threads", pytest.param("a Dask cluster", marks=pytest.mark.slow)])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """Two simulations at a time."""
    if request.param == "threads":
        with ThreadPoolExecutor(2) as threads:
            yield threads
        return
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 40}
    cluster = distributed.LocalCluster(host="127.0.0.1", **options)
    with cluster, sweeps.dask_executor(cluster.scheduler_address) as of_cluster:
        yield of_cluster


def test_a_sweep_runs_and_is_resumed(folder: Path, executor: Executor) -> None:
    sweep = read(folder)
    results = sweeps.Results(folder / "points.jsonl")
    done: list[int] = []
    sweeps.run(sweep, results, executor, str(folder / "eco-sim"), lambda: done.append(1))
    assert len(done) == runs_of(folder) == 16
    with (folder / "points.jsonl").open("a") as file:
        file.write('{"key": "of one that was interr')
    again = sweeps.Results(folder / "points.jsonl")
    longer = read(folder, "seeds = [1, 2]", "seeds = [1, 2, 3]")
    sweeps.run(longer, again, executor, str(folder / "eco-sim"), lambda: done.append(1))
    assert len(done) == runs_of(folder) == 24
    sweeps.run(longer, again, executor, str(folder / "eco-sim"), lambda: done.append(1))
    assert len(done) == 24
    assert [(row["policy"], row["seed"]) for row in again.rows(longer)[:6:2]] == [
        ("local", 1),
        ("local", 2),
        ("local", 3),
    ]


def test_points_that_were_simulated_stay_when_one_fails(folder: Path, executor: Executor) -> None:
    sweep = read(folder)
    results = sweeps.Results(folder / "points.jsonl")

    def fail() -> None:
        (folder / "fails").touch()

    with pytest.raises(DataError, match="nothing is right"):
        sweeps.run(sweep, results, executor, str(folder / "eco-sim"), fail)
    kept = len(sweeps.Results(folder / "points.jsonl").rows(sweep))
    assert 2 <= kept < 2 * len(sweep.points)


@pytest.mark.parametrize("known", [True, False])
def test_an_interrupt_between_a_start_and_its_future_ends_both_simulators(
    folder: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """The second simulator runs, but its thread is still in Popen, and its future has not been returned.

    known: whether the executor has noted the thread.
    """
    simulator = folder / "eco-sim"
    simulator.write_text(f"#!/bin/sh\necho $$ >> {folder}/pids\nexec sleep 30\n")
    simulator.chmod(0o755)
    popen = subprocess.Popen

    def started() -> list[str]:
        return (folder / "pids").read_text().split() if (folder / "pids").exists() else []

    def slow_second(*arguments: Any, **named: Any) -> Any:
        process = popen(*arguments, **named)
        if Interrupted.calls == 2:
            time.sleep(1)
        return process

    class Interrupted(ThreadPoolExecutor):
        calls = 0

        def submit(self, *arguments: Any, **named: Any) -> Any:
            Interrupted.calls += 1
            future = super().submit(*arguments, **named)
            while len(started()) < Interrupted.calls:
                time.sleep(0.05)
            if Interrupted.calls < 2:
                return future
            if not known:
                self._threads.clear()
            raise KeyboardInterrupt

    monkeypatch.setattr(sweeps.subprocess, "Popen", slow_second)
    sweep = sweeps.read_sweep(folder / "sweep.toml")
    results = sweeps.Results(folder / "points.jsonl")
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), Interrupted(2) as executor:
        sweeps.run(sweep, results, executor, str(simulator), lambda: None)
    while any(Path(f"/proc/{pid}").exists() for pid in started()):
        time.sleep(0.05)
        assert time.monotonic() - began < 20, "the simulators were ended, they did not end by themselves"


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_sweep_ends_its_simulators(folder: Path, stop: signal.Signals) -> None:
    """The signal goes to the command alone, as from a service manager."""
    simulator = folder / "eco-sim"
    simulator.write_text(f"#!/bin/sh\necho $$ >> {folder}/pids\nexec sleep 600\n")
    script = f"from edgejoule.cli.main import main; main(['eco', 'sweep', '{folder}/sweep.toml', '-o', '{folder}/out', "
    script += f"'--eco-sim', '{simulator}', '--workers', '2'])"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while not ((folder / "pids").exists() and len((folder / "pids").read_text().split()) == 2):
            assert time.monotonic() < deadline, "two simulators begin"
            time.sleep(0.05)
        process.send_signal(stop)
        assert process.wait(timeout=30) == 130
    left = [pid for pid in (folder / "pids").read_text().split() if Path("/proc", pid).exists()]
    assert left == []


def test_a_scheduler_that_does_not_answer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(sweeps, "SCHEDULER_ANSWER_S", 0.5)
    with pytest.raises(UsageError, match="no Dask scheduler answers"), sweeps.dask_executor("tcp://127.0.0.1:1"):
        pass


def test_a_simulator_that_is_no_program_is_refused_with_the_plan_too(folder: Path) -> None:
    for program in (folder / "none", folder):
        refused = command(folder, "--dry-run", "--eco-sim", str(program))
        assert refused.exit_code == 2
        assert f"--eco-sim {program}" in refused.output


def test_a_scheduler_needs_dask_and_this_machine_does_not(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    refused = command(folder, "--scheduler", "tcp://127.0.0.1:1")
    assert refused.exit_code != 0
    assert install_command("distributed") in refused.output
    assert command(folder).exit_code == 0


def test_a_sweep_with_pictures_needs_matplotlib_before_it_simulates(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = command(folder)
    assert result.exit_code != 0
    assert f"pictures need matplotlib: {install_command('sweeps')}" in result.output
    assert not (folder / "out/points.jsonl").exists()


def command(folder: Path, *more: str) -> Any:
    arguments = [
        "eco",
        "sweep",
        str(folder / "sweep.toml"),
        "-o",
        str(folder / "out"),
        "--eco-sim",
        str(folder / "eco-sim"),
    ]
    return CliRunner().invoke(main, [*arguments, *more])


@pytest.mark.slow
def test_the_command_writes_tables_and_pictures(folder: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    planned = command(folder, "--dry-run")
    assert "16 simulations, 0 of them in" in planned.output
    assert not (folder / "out").exists()
    done = command(folder, "--workers", "2", "--parquet")
    assert done.exit_code == 0, done.output
    with (folder / "out/rows.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 32
    assert rows[0]["server"] == "total"
    assert rows[0]["energy_j.modelled"] == "200"
    assert parquet.read_table(folder / "out/rows.parquet").num_rows == 32
    assert (folder / "out/links.svg").exists()
    assert f"16 of them in {folder}/out: reused" in command(folder).output
    assert runs_of(folder) == 16


@pytest.mark.slow
def test_a_second_sweep_into_a_folder_is_refused_while_the_first_writes_there(folder: Path) -> None:
    (folder / "out").mkdir()
    with sweeps.alone_in(folder / "out"):
        refused = command(folder)
    assert "another sweep writes here" in str(refused.output)
    assert not (folder / "runs").exists()
    assert command(folder).exit_code == 0


@pytest.mark.slow
def test_the_folder_of_a_killed_sweep_is_removed_by_the_next(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "tmp"))
    (folder / "tmp").mkdir()
    simulator = folder / "eco-sim"
    answering = simulator.read_text()
    simulator.write_text(f"#!/bin/sh\necho $$ > {folder}/pid\nexec sleep 600\n")
    script = f"from edgejoule.cli.main import main; main(['eco', 'sweep', '{folder}/sweep.toml', '-o', '{folder}/out', "
    script += f"'--eco-sim', '{simulator}', '--workers', '1'])"
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL, env=environment) as process:
        deadline = time.monotonic() + 60
        while not (folder / "pid").exists() or not (folder / "pid").read_text().strip():
            assert time.monotonic() < deadline, "a simulator begins"
            time.sleep(0.05)
        process.kill()
    os.kill(int((folder / "pid").read_text()), signal.SIGKILL)
    assert list((folder / "tmp").iterdir())
    simulator.write_text(answering)
    assert command(folder).exit_code == 0
    assert not list((folder / "tmp").iterdir())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("eco demo --rounds 3", "`edgejoule run experiments/eco-demo`"),
        ("eco trial experiments/eco-real/static.toml", "`edgejoule run experiments/eco-real`"),
        ("audit table.txt", "docs/how-to/printed-anova-tables.md"),
    ],
)
def test_a_command_that_is_gone_names_what_replaces_it(arguments: str, said: str) -> None:
    refused = CliRunner().invoke(main, arguments.split())
    assert refused.exit_code == 2
    assert " is gone: " in refused.output
    assert said in refused.output


@pytest.mark.parametrize("file", sorted((ROOT / "experiments/eco-sweeps").glob("*.toml")), ids=lambda file: file.stem)
def test_sweeps_of_this_repository_are_planned(file: Path) -> None:
    assert sweeps.read_sweep(file).points


def test_the_simulator_reads_what_a_sweep_writes(tmp_path: Path) -> None:
    program = ROOT / "build/bin/eco-sim"
    if not os.access(program, os.X_OK):
        pytest.skip("eco-sim is not built")
    sweep = sweeps.read_sweep(ROOT / "experiments/eco-sweeps/links.toml")
    point = sweep.points[0]
    experiment = json.loads(json.dumps(tomllib.loads(dict(point.files)["experiment"])))
    experiment["run"]["duration_s"] = 5
    short = sweeps.Point(point.levels, "local", 1, (("experiment", tomli_w.dumps(experiment)), *point.files[1:]))
    rows = sweeps.simulate(short, str(program))
    assert [row["server"] for row in rows][:2] == ["total", "High-1"]
    assert float(rows[0]["throughput_ops_s"]) > 0
