"""A study from the spec to the report, with the real driver and real databases; and what happens when things fail."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_line import edgejoule
from small_disk import small_disk

from edgejoule.databases import checks
from edgejoule.databases import driver as databases
from edgejoule.databases.driver import driver_path
from edgejoule.databases.snapshots import Snapshots, data_bytes
from edgejoule.dictionary.properties import CORE, KINDS, LOAD_PROPERTIES
from edgejoule.errors import EdgejouleError
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import Addition, cells, make_plan
from edgejoule.machine import environment
from edgejoule.machine.processes import files_of_processes
from edgejoule.store import Store
from edgejoule.study import study

REPOSITORY = Path(__file__).resolve().parents[2]
SCHEMAS = REPOSITORY / "schemas"
SPEC = """\
name = "tiny"
question = "Does it work from end to end?"

[factors]
database = ["sqlite", "leveldb"]
workload = ["mixed"]

[fixed]
recordcount = 2000
operationcount = 5000
requestdistribution = "zipfian"

[workloads.mixed]
readproportion = 0.5
updateproportion = 0.5

[design]
replications = 2
seed = 5

[timing]
idle_s = 0.25
interval_ms = 50

[meter]
run_s_min = 0
"""


class Bench:
    """A folder with a spec and a store, and the command line to work on them."""

    def __init__(self, folder: Path, spec: str = SPEC) -> None:
        self.folder, self.spec, self.store = folder, folder / "experiment.toml", folder / "results/store.db"
        self.spec.write_text(spec)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-c", "from edgejoule.cli.main import main; main()", *self.arguments(*arguments)]

    def arguments(self, *given: str) -> list[str]:
        return [*given, *(() if given[0] == "analyse" else ("--store", str(self.store)))]

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The command within this process."""
        return edgejoule(self.folder, *self.arguments(*arguments))

    def process(self, *arguments: str, before: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
        """The command as a user calls it."""
        return subprocess.run(
            self.command(*arguments), capture_output=True, text=True, timeout=120, check=False, preexec_fn=before,
            cwd=self.folder, env={k: v for k, v in os.environ.items() if k != "COLUMNS"},
        )  # fmt: skip

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder
        )

    def counts(self) -> Mapping[str, int]:
        with Store.open(self.store) as store:
            return store.find().counts

    def finished(self) -> dict[int, tuple[Any, ...]]:
        """run index -> what must not change once a run is finished."""
        with Store.open(self.store) as store:
            runs = store.runs(store.find().id)
        return {r.run_index: (r.id, r.started_realtime_ns, r.responses) for r in runs if r.status == "finished"}


@pytest.fixture(scope="session", autouse=True)
def _short_machine_check() -> Iterator[None]:
    """Shortens the check of the machine to milliseconds for a study in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "SPEED_S", 0.005)
        patch.setattr(environment, "BUSY_WINDOW_S", 0.02)
        yield


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(scope="session")
def both_databases(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A finished study with one run per cell."""
    bench = Bench(tmp_path_factory.mktemp("both"))
    finished(bench("run", "experiment.toml", "--set", "design.replications=1"))
    return bench


@pytest.fixture(scope="session")
def one_run(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("one"))
    finished(bench("run", "experiment.toml", *ONE))
    return bench


@pytest.fixture
def after_one_run(one_run: Bench, bench: Bench) -> Bench:
    """A copy of a finished study of one run, to be changed."""
    shutil.copytree(one_run.folder, bench.folder, dirs_exist_ok=True)
    return bench


def one_line_error(done: subprocess.CompletedProcess[str], code: int, *phrases: str) -> None:
    """The command ended with this code and one clear message that has these phrases."""
    assert done.returncode == code, (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    for phrase in phrases:
        assert phrase in last, last


def finished(done: subprocess.CompletedProcess[str]) -> None:
    """The command did its work. 3: a busy machine makes a meter late, and such a run is flagged."""
    assert done.returncode in (0, 3), (done.returncode, done.stdout[-2000:], done.stderr[-2000:])


def test_a_study_runs_from_the_spec_to_the_report_and_its_exports(bench: Bench) -> None:
    done = bench.process("run", "experiment.toml")
    finished(done)
    lines = done.stdout.strip().splitlines()
    assert lines[0].startswith("Energy: "), "the first line says which energy it is"
    report = Path(lines[-1].removeprefix("report: "))
    assert lines[-1].startswith("report: ")
    assert "</html>" in (bench.folder / report).read_text()
    assert bench.counts() == {"finished": 4}

    rows = list(csv.DictReader(bench("export", "--csv").stdout.splitlines()))
    assert [r["status"] for r in rows] == ["finished"] * 4
    assert all(float(r["throughput_ops_s"]) > 0 for r in rows)
    energy = [name for name in rows[0] if name.startswith(("energy_", "power_"))]
    assert energy, rows[0]
    assert all(name.split(".")[1] in ("measured", "counted", "modelled") for name in energy)

    record = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "run-record.schema.json").read_text()))
    for line in bench("export", "--jsonl").stdout.splitlines():
        record.validate(json.loads(line))
    sample = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "meter-sample.schema.json").read_text()))
    samples = bench("export", "--samples").stdout.splitlines()
    assert len(samples) > 20
    for line in samples[:200]:
        sample.validate(json.loads(line))
    shown = json.loads(bench("show", "--json").stdout)
    assert len(shown["records"]) == 4
    assert shown["records"][0]["meters"][0]["describe"]
    assert "tiny" in bench("list").stdout
    (bench.folder / "runs.csv").write_text(bench("export", "--csv").stdout)
    analysed = bench("analyse", "runs.csv", "--response", "throughput_ops_s", "--factors", "database", "--json")
    assert {row["source"] for row in json.loads(analysed.stdout)["anova"]} >= {"database"}


def test_the_drivers_events_and_the_golden_example_follow_the_schema(both_databases: Bench) -> None:
    event = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "driver-event.schema.json").read_text()))
    golden = (SCHEMAS / "examples/driver-events.jsonl").read_text().splitlines()
    with Store.open(both_databases.store) as store:
        runs = store.runs(store.find().id)
        streams = [list(store.data(run).events) for run in runs]
    for stream in [[json.loads(line) for line in golden], *streams]:
        for e in stream:
            event.validate(e)
        kinds = [e["event"] for e in sorted(stream, key=lambda e: e["monotonic_ns"])]
        assert kinds.index("start") < kinds.index("active_end") < kinds.index("settled") < kinds.index("end")


def test_both_intervals_lie_inside_the_trace_and_settled_is_the_longer(both_databases: Bench) -> None:
    with Store.open(both_databases.store) as store:
        for run in store.runs(store.find().id):
            assert run.intervals is not None
            i, (trace, *_) = run.intervals, store.data(run).traces
            assert trace.t_ns[0] < i.active_start_ns < i.active_end_ns <= i.settled_end_ns < trace.t_ns[-1]
            joules = [run.value(name) for name in ("energy_active_j", "energy_j")]
            assert None not in joules
            assert 0 < joules[0] <= joules[1]  # type: ignore[operator]


def test_write_amplification_counts_pages_and_not_folios_of_the_page_cache(bench: Bench) -> None:
    writes = (
        "--set",
        "workloads.mixed={readproportion = 0.0, updateproportion = 1.0}",
        "--set",
        "fixed.writeallfields=true",
    )
    finished(bench("run", "experiment.toml", *ONE, *writes))
    with Store.open(bench.store) as store:
        (run,) = store.runs(store.find().id)
    written = run.value("write_amplification")
    assert written is not None
    assert 2 < written < 20, "a row of 1 kB: a page or two of 4 kB in the log, and again at the checkpoint"


def test_a_dry_run_prints_the_plan_and_leaves_nothing(bench: Bench) -> None:
    done = bench("run", "experiment.toml", "--dry-run")
    finished(done)
    assert "4 runs of 2 cells, order randomised-blocks, seed 5" in done.stdout
    assert re.findall(r"^(sqlite|leveldb) +mixed +(\d+)$", done.stdout, re.MULTILINE) == [
        ("sqlite", "2"),
        ("leveldb", "2"),
    ]
    full = bench("run", "experiment.toml", "--dry-run", "--full").stdout
    assert len(re.findall(r"^ *\d+ +\d+ +leveldb", full, re.MULTILINE)) == 2
    assert re.search(r"^recordcount +experiment\.toml:\d+ +\d+", done.stdout, re.MULTILINE)
    assert not bench.store.parent.exists()


def test_a_plan_that_ends_by_time_reports_how_long_it_takes(bench: Bench) -> None:
    timed = ("--set", "fixed.operationcount=0", "--set", "fixed.maxexecutiontime=60")
    assert "about 4 min 6 s, and the loads before" in bench("run", "experiment.toml", "--dry-run", *timed).stdout


@pytest.mark.parametrize(
    ("override", "phrases"),
    [
        ('factors.database=["sqllite"]', ("sqllite", "did you mean 'sqlite'")),
        ("databases.sqlite.jurnal_mode=WAL", ("jurnal_mode", "did you mean 'journal_mode'")),
        ("fixed.recordcont=5", ("fixed.recordcont", "did you mean 'recordcount'")),
        ('fixed.sqlit.journal_mode="delete"', ("no run uses a database 'sqlit'", "did you mean 'sqlite'")),
        ("fixed.rocksdb.bloom_bits=10", ("no run uses a database 'rocksdb'",)),
        ("factors.leveldb.bloom_bits=[0, 10]", ("changes nothing for sqlite",)),
        ('meter.prefer=["wattmeter"]', ("wattmeter",)),
        ("meter.profile=no-such-board", ("no-such-board",)),
    ],
)
def test_an_unknown_name_is_refused_before_anything_is_written(
    bench: Bench, override: str, phrases: tuple[str, ...]
) -> None:
    one_line_error(bench("run", "experiment.toml", "--set", override), 2, *phrases)
    assert not bench.store.exists()


@contextlib.contextmanager
def fresh_driver_caches() -> Iterator[None]:
    """Clears the cache about the driver, before and after."""
    known = (databases.driver_path, databases.adapters, databases.driver_digest)
    for each in known:
        each.cache_clear()
    try:
        yield
    finally:
        for each in known:
            each.cache_clear()


@pytest.mark.parametrize(
    ("program", "phrase"),
    [
        (None, "no program is there"),
        ("#!/bin/sh\nexit 3\n", "is no edgejoule-driver"),
        ("no program at all", "is no edgejoule-driver"),
        ("#!/bin/sh\necho '[{}]'\n", "is no edgejoule-driver"),
    ],
)
def test_an_invalid_driver_is_reported(
    bench: Bench, program: str | None, phrase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bench.folder / "driver"
    if program is not None:
        path.write_text(program)
        path.chmod(0o755)
    monkeypatch.setenv("EDGEJOULE_DRIVER", "./driver")
    with fresh_driver_caches():
        one_line_error(bench("run", "experiment.toml"), 1, phrase)
    assert not bench.store.exists()


@pytest.mark.parametrize(("name", "meaning"), [("latest", "the latest experiment"), ("12", "of that number")])
def test_a_name_that_means_another_experiment_is_refused(bench: Bench, name: str, meaning: str) -> None:
    spec = bench.folder / "experiment.toml"
    spec.write_text(re.sub('^name = ".*"', f'name = "{name}"', spec.read_text(), flags=re.MULTILINE))
    one_line_error(bench("run", "experiment.toml", "--dry-run"), 2, f"name: '{name}' means", meaning)


@pytest.mark.parametrize("as_json", [False, True])
def test_without_the_driver_the_dry_run_shows_the_plan_and_what_is_missing(
    bench: Bench, as_json: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGEJOULE_DRIVER", "./driver")
    with fresh_driver_caches():
        shown = bench("run", "experiment.toml", "--dry-run", *(["--json"] if as_json else []))
    assert shown.returncode == 1, shown.stderr
    assert shown.stderr.endswith("edgejoule: no run of the plan can be done here\n")
    if as_json:
        assert len(json.loads(shown.stdout)["runs"]) == 4
    else:
        assert "! EDGEJOULE_DRIVER=./driver: no program is there\n0 of 4 runs can be done here\n" in shown.stdout


def test_a_run_without_an_end_is_refused(bench: Bench) -> None:
    never = bench("run", "experiment.toml", "--set", "fixed.operationcount=0", "--dry-run")
    one_line_error(never, 2, "would never end", "operationcount")


def test_a_report_that_could_not_be_written_is_reported_before_measuring(bench: Bench) -> None:
    one_line_error(bench("run", "experiment.toml", "-o", "/proc/x.html"), 1, "/proc/x.html")
    assert not bench.store.exists()


def test_a_snapshot_with_a_missing_file_is_loaded_again(after_one_run: Bench) -> None:
    bench = after_one_run
    (database,) = (bench.folder / "results/snapshots").glob("sqlite-*/data/*.sqlite")
    database.unlink()
    done = bench("run", "experiment.toml", *ONE)
    finished(done)
    assert "loaded sqlite" in done.stderr


def test_a_property_the_database_refuses_ends_with_the_databases_message(bench: Bench) -> None:
    done = bench("run", "experiment.toml", "--set", "databases.sqlite.journal_mode=SIDEWAYS")
    one_line_error(done, 1, "journal_mode", "sideways")


def test_a_meter_that_is_asked_for_and_not_there_is_an_error(bench: Bench) -> None:
    if Path("/sys/class/powercap/intel-rapl:0").exists():
        name, phrase = "no-such-meter", "no-such-meter"
    else:
        name, phrase = "rapl", "cannot be used here"
    done = bench("run", "experiment.toml", "--meter", name)
    assert done.returncode in (1, 2)
    assert phrase in done.stderr


def test_a_path_that_cannot_be_written_is_named(bench: Bench) -> None:
    (bench.folder / "results").write_text("a file where a folder should be")
    one_line_error(bench("run", "experiment.toml"), 2, "results", "is not a directory")
    (bench.folder / "results").unlink()
    one_line_error(bench("run", "experiment.toml", "--data", "/proc/edgejoule"), 1, "/proc/edgejoule")
    assert not bench.store.exists(), "a study that cannot start makes no store"


def test_a_data_folder_takes_the_loaded_databases_too(bench: Bench) -> None:
    finished(bench("run", "experiment.toml", *ONE, "--data", "card"))
    assert len(list((bench.folder / "card/snapshots").glob("*/files.json"))) == 1
    assert not (bench.folder / "results/snapshots").exists()
    finished(bench("delete", "--snapshots", "--data", "card", "--yes"))
    assert list((bench.folder / "card/snapshots").glob("*/files.json")) == []


def test_two_studies_do_not_measure_in_one_place(bench: Bench) -> None:
    first = bench.start("run", "experiment.toml", "--set", "fixed.operationcount=50000000")
    try:
        wait_until((bench.folder / "results/lock").exists, first)
        for arguments in ((), ("--data", "elsewhere")):
            one_line_error(bench("run", "experiment.toml", *arguments), 1, "another study is measuring")
    finally:
        first.terminate()
        first.communicate(timeout=60)
    assert first.returncode == 130


@pytest.mark.parametrize("name", LOAD_PROPERTIES)
def test_what_decides_the_content_decides_the_snapshot(tmp_path: Path, name: str) -> None:
    run = next(p for p in make_plan(Spec.model_validate(tomllib.loads(SPEC))) if p.adapter == "sqlite")
    snapshots = Snapshots(tmp_path)
    changed = dataclasses.replace(run, properties={**run.properties, name: "other"})
    assert snapshots.key(changed) != snapshots.key(run)
    assert snapshots.key(dataclasses.replace(run, options={"page_size_bytes": 512})) != snapshots.key(run)
    same = dataclasses.replace(run, properties={**run.properties, "operationcount": 1}, block=3, seed=9, threads=4)
    assert snapshots.key(same) == snapshots.key(run)


def test_a_restored_image_has_the_bytes_of_the_loaded_one_and_its_holes(tmp_path: Path) -> None:
    run = next(p for p in make_plan(Spec.model_validate(tomllib.loads(SPEC))) if p.adapter == "sqlite")
    snapshots = Snapshots(tmp_path / "snapshots")
    loaded = tmp_path / "snapshots" / snapshots.key(run) / "data" / "image"
    loaded.parent.mkdir(parents=True)
    with loaded.open("wb") as image:
        for at in (0, 40 << 20, 90 << 20):
            image.seek(at)
            image.write(bytes(range(1, 256)) * 100)
        image.truncate(100 << 20)
    (loaded.parent / "small").write_bytes(b"whole")
    snapshots.restore(run, tmp_path / "data")
    restored = tmp_path / "data" / "image"
    assert restored.read_bytes() == loaded.read_bytes()
    assert (tmp_path / "data" / "small").read_bytes() == b"whole"
    assert restored.stat().st_blocks * 512 < 1 << 20
    assert data_bytes(tmp_path / "data") < 1 << 20


def test_a_part_load_is_no_snapshot(bench: Bench) -> None:
    part = bench("run", "experiment.toml", "--set", "fixed.insertcount=1000", *ONE)
    one_line_error(part, 1, "did not find")
    whole = bench("run", "experiment.toml", *ONE)
    finished(whole)


def tamper_with_sqlite_snapshot(bench: Bench, statement: str) -> None:
    (database,) = (bench.folder / "results/snapshots").glob("sqlite-*/data/*.sqlite")
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as db:
        assert db.execute(statement).rowcount > 0
    files = database.parents[1] / "files.json"  # as if the driver had left it so
    files.write_text(json.dumps({database.name: database.stat().st_size}))


ONE = ("--set", 'factors.database=["sqlite"]', "--set", "design.replications=1")


def test_lost_rows_end_the_study_and_leave_earlier_results_alone(after_one_run: Bench) -> None:
    bench = after_one_run
    before = bench.finished()
    tamper_with_sqlite_snapshot(bench, "DELETE FROM usertable WHERE rowid % 2 = 0")
    done = bench("run", "experiment.toml", *ONE, "--set", "design.seed=6")
    one_line_error(done, 1, "of 5000 operations failed", "READ NOT_FOUND", "no such record")
    assert (done.stdout + done.stderr).count("READ NOT_FOUND") == 1
    with Store.open(bench.store) as store:
        first, second = store.experiments()
        assert first.counts == {"finished": 1}
        assert second.counts == {"failed": 1}
        assert {r.run_index: (r.id, r.started_realtime_ns, r.responses) for r in store.runs(first.id)} == before
        assert "READ NOT_FOUND" in str(store.runs(second.id)[0].cause)
    assert "failed" in bench("show").stdout


def test_changed_rows_are_wrong_data(bench: Bench) -> None:
    checked = (
        *ONE,
        "--set",
        "fixed.dataintegrity=true",
        "--set",
        "workloads.mixed={readproportion = 1.0, updateproportion = 0.0}",
    )
    finished(bench("run", "experiment.toml", *checked))
    tamper_with_sqlite_snapshot(bench, "UPDATE usertable SET field3 = 'nonsense'")
    one_line_error(bench("run", "experiment.toml", *checked, "--set", "design.seed=6"), 1, "field3")


@pytest.mark.slow
def test_a_database_that_cannot_write_ends_the_study_with_its_own_message(bench: Bench) -> None:
    def limit_file_size() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, 4_000_000))

    arguments = ("--set", 'factors.database=["leveldb"]', "--set", "databases.leveldb.write_buffer_bytes=16000000",
             "--set", "workloads.mixed={readproportion = 0.0, updateproportion = 1.0}")  # fmt: skip
    finished(bench("run", "experiment.toml", *arguments, "--set", "fixed.operationcount=100"))
    done = bench.process(
        "run", "experiment.toml", *arguments, "--set", "fixed.operationcount=20000", before=limit_file_size
    )
    one_line_error(done, 1, "leveldb", "File too large")
    with Store.open(bench.store) as store:
        assert [dict(e.counts) for e in store.experiments()] == [{"finished": 2}, {"failed": 1, "planned": 1}]


def test_a_run_too_short_for_the_meter_is_executed_several_times_and_reports_it(bench: Bench) -> None:
    done = bench("run", "experiment.toml", *ONE, "--set", "meter.run_s_min=2")
    finished(done)
    with Store.open(bench.store) as store:
        (run,) = store.runs(store.find().id)
        events = store.data(run).events
    k = run.facts["executions"]
    assert k > 1
    assert f"k = {k} executions" in done.stderr
    assert [e["operations"] for e in events if e["event"] == "end"] == [5000] * k
    assert 0 < run.facts["worked_share"] < 1
    values = {r.name: r for r in run.responses}
    assert values["energy_j"].value is not None
    assert values["energy_active_j"].value is None
    assert "several executions" in str(values["energy_active_j"].missing_reason)
    ends = [e for e in events if e["event"] == "active_end"]
    active_s = sum(e["monotonic_ns"] - e["active_start_ns"] for e in ends) / 1e9
    assert values["throughput_ops_s"].value == pytest.approx(5000 * k / active_s)
    assert values["active_s"].value == pytest.approx(active_s / k), "amounts are those of one execution"
    assert values["energy_per_op_uj"].value == pytest.approx(values["energy_j"].value / 5000 * 1e6)
    assert run.intervals is not None
    assert (run.intervals.settled_end_ns - run.intervals.active_start_ns) / 1e9 > active_s


@pytest.mark.slow
def test_a_phase_that_ends_by_time_is_lengthened_for_a_slow_meter(bench: Bench) -> None:
    arguments = ("--set", "fixed.operationcount=0", "--set", "fixed.maxexecutiontime=1", "--set", "meter.run_s_min=1.5")
    finished(bench("run", "experiment.toml", *ONE, *arguments))
    with Store.open(bench.store) as store:
        (run,) = store.runs(store.find().id)
    assert "executions" not in run.facts
    assert run.value("active_s") == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        (("--set", "design.load=block"), "a load made for the run"),
        (("--set", "meter.run_s_min=30000"), "more than 500"),
    ],
)
def test_a_run_that_can_not_be_made_long_enough_is_refused(
    bench: Bench, arguments: tuple[str, ...], phrase: str
) -> None:
    one_line_error(bench("run", "experiment.toml", *ONE, "--set", "meter.run_s_min=5", *arguments), 1, phrase, "raise")


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str], limit_s: float = 60) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(0.02)


def stored_runs(bench: Bench) -> int:
    try:
        return bench.counts().get("finished", 0)
    except EdgejouleError:  # the store is being created meanwhile
        return 0


SIX = ("--set", "design.replications=3")


def drivers_below(folder: Path) -> list[str]:
    """Command lines of drivers that work in a folder, from /proc."""
    result = []
    for entry in files_of_processes("cmdline"):
        with contextlib.suppress(OSError):
            argv = entry.read_bytes().decode(errors="replace").split("\0")
            if "edgejoule-driver" in argv[0] and any(str(folder) in w for w in argv):
                result.append(" ".join(argv))
    return result


@pytest.mark.slow
def test_a_killed_study_leaves_no_driver_behind(bench: Bench) -> None:
    process = bench.start(
        "run", "experiment.toml", "--set", "fixed.operationcount=50000000", "--set", "timing.interval_ms=60000"
    )
    wait_until(lambda: any(" run " in d for d in drivers_below(bench.folder)), process)
    process.kill()
    process.communicate(timeout=30)
    end = time.monotonic() + 60
    while drivers_below(bench.folder) and time.monotonic() < end:
        time.sleep(0.02)
    assert drivers_below(bench.folder) == []


@pytest.mark.slow
def test_resume_continues_its_own_experiment_and_only_with_the_same_instruments(bench: Bench) -> None:
    process = bench.start("run", "experiment.toml", *SIX)
    wait_until(lambda: stored_runs(bench) >= 1, process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    finished(bench("run", "experiment.toml", *ONE))
    if not Path("/sys/class/powercap/intel-rapl:0").exists():
        other = bench("run", "experiment.toml", *SIX, "--resume", "--profile", "raspberry-pi-zero-w")
        one_line_error(other, 2, "experiment 1 cannot go on", "another reads")
    done = bench("run", "experiment.toml", *SIX, "--resume")
    finished(done)
    assert done.stdout.strip().endswith("results/tiny-1.html")
    with Store.open(bench.store) as store:
        assert [dict(e.counts) for e in store.experiments()] == [{"finished": 6}, {"finished": 1}]


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_study_cut_off_in_the_middle_is_resumed_without_losing_or_repeating_a_run(
    bench: Bench, how: signal.Signals
) -> None:
    process = bench.start("run", "experiment.toml", *SIX)
    wait_until(lambda: stored_runs(bench) >= 2, process)
    process.send_signal(how)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == (-9 if how is signal.SIGKILL else 130)
    before = bench.finished()
    assert 2 <= len(before) < 6
    if how is not signal.SIGKILL:
        assert f"{len(before)} runs stored, {6 - len(before)} left" in stderr
    done = bench("run", "experiment.toml", *SIX, "--resume")
    finished(done)
    assert f"{len(before)} runs finished, {6 - len(before)} to do" in done.stderr
    after = bench.finished()
    assert len(after) == 6
    assert {index: after[index] for index in before} == before
    with Store.open(bench.store) as store:
        assert len(store.experiments()) == 1
    one_line_error(bench("run", "experiment.toml", *SIX, "--resume"), 2, "nothing to resume")


COLD = ("--set", "fixed.cache=cold")


def test_a_cold_cache_and_a_memory_limit_without_the_rights_are_refused_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = Spec.model_validate(tomllib.loads(SPEC) | {"fixed": {"cache": "cold", "memory_limit_mb": 64}})
    monkeypatch.setattr(checks, "DROP_CACHES", tmp_path / "drop_caches")
    monkeypatch.setattr(checks.memory_group, "why_not", lambda: "memory_limit_mb: may not be written; run as root")
    first, second = checks.not_here(make_plan(spec))
    assert "needs root" in first
    assert "--set fixed.cache=warm" in first
    assert "run as root" in second
    plain = Spec.model_validate(tomllib.loads(SPEC))
    assert checks.not_here(make_plan(plain)) == []


@pytest.fixture
def bench_on_disk() -> Iterator[Bench]:
    """Files in a tmpfs, which /tmp may be, are always in memory."""
    with tempfile.TemporaryDirectory(prefix="edgejoule-study-", dir="/var/tmp") as folder:
        yield Bench(Path(folder))


@pytest.mark.root
def test_a_cold_run_finds_an_empty_page_cache_and_reports_it(bench_on_disk: Bench) -> None:
    bench = bench_on_disk
    cold = bench("run", "experiment.toml", *ONE, *COLD, "--set", "fixed.recordcount=20000")
    finished(cold)
    with Store.open(bench.store) as store:
        (run,) = store.runs(store.find().id)
    cache = run.facts["cache"]
    assert cache["state"] == "cold"
    assert cache["resident_bytes_before"] > 20_000_000, "restoring left the copy in the cache"
    assert cache["resident_bytes_after"] < 0.01 * run.value("data_bytes")  # type: ignore[operator]
    assert run.value("process_read_bytes") > 1_000_000  # type: ignore[operator]


@pytest.mark.root
def test_a_memory_limit_keeps_the_ratio_of_data_to_memory(bench_on_disk: Bench) -> None:
    bench = bench_on_disk
    arguments = (*ONE, "--set", "fixed.recordcount=80000", "--set", "fixed.operationcount=30000")
    limited = bench("run", "experiment.toml", *arguments, "--set", "fixed.memory_limit_mb=48")
    finished(limited)
    finished(bench("run", "experiment.toml", *arguments))
    with Store.open(bench.store) as store:
        (tight,), (free,) = (store.runs(e.id) for e in store.experiments())
    memory = tight.facts["memory"]
    assert memory["limit_bytes"] == 48 * 2**20
    assert memory["peak_bytes"] is None or memory["peak_bytes"] <= memory["limit_bytes"]
    assert memory["data_bytes_per_limit"] > 1.5
    assert "memory" not in free.facts
    assert tight.value("process_read_bytes") > 10 * max(1.0, free.value("process_read_bytes") or 0.0)  # type: ignore


@pytest.mark.root
def test_a_full_disk_ends_the_study_and_keeps_what_was_stored(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 24) as disk:
        bench = Bench(disk)
        finished(bench("run", "experiment.toml", "--set", "design.replications=1"))
        before = bench.finished()
        (disk / "ballast").write_bytes(bytes(shutil.disk_usage(disk).free - 200_000))
        done = bench("run", "experiment.toml", "--set", "design.seed=9")
        assert done.returncode == 1, done.stderr
        assert f"no space is left on the file system of {disk}" in done.stderr
        assert "Traceback" not in done.stderr
        (disk / "ballast").unlink()
        with Store.open(bench.store) as store:
            first = store.experiments()[0]
            runs = {r.run_index: (r.id, r.started_realtime_ns, r.responses) for r in store.runs(first.id)}
        assert runs == before


def test_the_driver_takes_every_property_a_spec_may_name() -> None:
    values = {"count": "3", "share": "0.2", "flag": "true", "number": "1", "text": "uniform"}
    special = {
        "insertorder": "hashed",
        "fieldlengthdistribution": "constant",
        "fieldnameprefix": "f",
        "dataintegrity": "false",
        "insertstart": "0",
        "keytype": "integer",
        "update": "put",
        "zipfian.ranks": "records",
    }
    arguments = [w for n, kind in KINDS[CORE].items() for w in ("-p", f"{n}={special.get(n, values[kind])}")]
    done = subprocess.run(
        [driver_path(), "run", "-db", "noop", "--quiet", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    finished(done)
    refused = subprocess.run(
        [driver_path(), "run", "-db", "noop", "-p", "recordcont=3"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert refused.returncode == 2
    assert "recordcount" in refused.stderr


SHARED = """\
name = "shared"
question = "Which one, on loads that runs share?"
[factors]
database = ["sqlite", "leveldb"]
workload = ["workloadb", "workloadc"]
[fixed]
recordcount = 1000
operationcount = 3000
[design]
replications = 4
load = "block"
[timing]
idle_s = 0.1
interval_ms = 50
[meter]
run_s_min = 0
[analysis]
responses = ["throughput_ops_s"]
"""


def loads_of(bench: Bench) -> list[tuple[int, tuple[Any, ...], str, int]]:
    with Store.open(bench.store) as store:
        runs = store.runs(store.find().id)
    return [(r.block, tuple(r.levels.values()), r.facts["load"]["name"], r.facts["load"]["runs_before"]) for r in runs]


@pytest.mark.slow
def test_runs_of_a_block_share_a_load_and_are_analysed_by_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, SHARED)
    done = bench("run", "experiment.toml", "--json")
    finished(done)
    loads = loads_of(bench)
    assert len({name for _, _, name, _ in loads}) == 8, "a block has a load for each database"
    for name in {name for _, _, name, _ in loads}:
        own = [(block, levels, before) for block, levels, n, before in loads if n == name]
        assert len({block for block, _, _ in own}) == 1
        assert len({levels[0] for _, levels, _ in own}) == 1
        assert [before for _, _, before in own] == [0, 1]
    assert not list((tmp_path / "results/data").glob("loads/*")), "a load goes with its last run"
    (analysis,) = json.loads(done.stdout)["responses"][0]["analyses"]
    assert analysis["analysis"]["unit"] == "load"
    errors = [row["source"] for row in analysis["analysis"]["anova"]]
    assert any("load" in source for source in errors), errors


@pytest.mark.slow
def test_runs_of_a_cell_share_its_loads_and_one_load_is_no_replication(tmp_path: Path) -> None:
    bench = Bench(tmp_path, SHARED.replace('load = "block"', 'load = "cell"'))
    done = bench("run", "experiment.toml", "--json", "--set", "design.replications=2")
    finished(done)
    assert sorted(before for _, _, _, before in loads_of(bench)) == [0] * 4 + [1] * 4
    (response, *_) = json.loads(done.stdout)["responses"]
    assert "repetitions on one load are not replications" in response["analyses"][0]["reason"]
    assert {cell["letters"] for cell in response["cells"]} == {None}
    twice = bench("run", "experiment.toml", "--json", "--set", "design.replications=4", "--set", "design.loads=2")
    finished(twice)
    assert len({name for _, _, name, _ in loads_of(bench)}) == 8
    assert json.loads(twice.stdout)["responses"][0]["analyses"][0]["analysis"]["unit"] == "load"


@pytest.mark.slow
def test_a_fresh_load_is_measured_as_a_run_is(tmp_path: Path) -> None:
    responses = [
        "load_throughput_ops_s",
        "load_settled_s",
        "load_energy_j",
        "load_device_write_bytes",
        "throughput_ops_s",
    ]
    bench = Bench(tmp_path, SHARED.replace('"block"', '"fresh"').replace('["throughput_ops_s"]', json.dumps(responses)))
    done = bench(
        "run", "experiment.toml", "--json", "--set", "design.replications=2", "--set", "fixed.recordcount=4000"
    )
    finished(done)
    record = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "run-record.schema.json").read_text()))
    with Store.open(bench.store) as store:
        runs = store.runs(store.find().id)
    assert [(r.facts["load"]["name"].startswith("run-"), r.facts["load"]["runs_before"]) for r in runs] == [
        (True, 0)
    ] * 8
    assert not list((tmp_path / "results/data").glob("loads/*"))
    for run in runs:
        load, intervals = run.facts["load"], run.intervals
        assert load["records"] == 4000
        assert load["intervals"]["settled_end_ns"] < intervals.active_start_ns, "the load ends before the run begins"
        assert run.value("load_active_s") == pytest.approx(load["active_s"])
        assert run.value("load_throughput_ops_s") == pytest.approx(4000 / load["active_s"])
        assert run.value("load_settled_s") >= run.value("load_active_s")
        assert run.value("load_data_bytes") > 4000 * 1000
        if run.value("load_energy_j") is not None:
            mean_w = run.value("load_energy_j") / run.value("load_settled_s")
            assert mean_w == pytest.approx(run.value("load_power_mean_w"), rel=1e-6)
    for line in bench("export", "--jsonl").stdout.splitlines():
        record.validate(json.loads(line))
    load = json.loads(done.stdout)["responses"][0]
    assert load["response"] == "load_throughput_ops_s"
    assert {cell["n"] for cell in load["cells"]} == {2}
    assert load["analyses"][0]["analysis"]["unit"] is None, "each run has its own load: runs are replications"
    more = bench(
        "run", "experiment.toml", "--more", "1", "--set", "fixed.recordcount=4000", "--set", "design.replications=2"
    )
    finished(more)


@pytest.mark.slow
def test_loads_of_cells_are_the_replications_of_what_loading_costs(tmp_path: Path) -> None:
    bench = Bench(
        tmp_path, SHARED.replace('"block"', '"cell"\nloads = 2').replace('["thr', '["load_throughput_ops_s", "thr')
    )
    done = bench("run", "experiment.toml", "--json")
    finished(done)
    load, run = json.loads(done.stdout)["responses"]
    assert {cell["n"] for cell in load["cells"]} == {2}, "one value for each load"
    assert {cell["n"] for cell in run["cells"]} == {4}
    assert load["analyses"][0]["analysis"] is not None, load["analyses"][0]["reason"]


@pytest.mark.parametrize(("load", "why"), [("run", "a snapshot is loaded once"), ("block", "cells share the load")])
def test_a_response_of_loads_needs_loads_that_are_replications(tmp_path: Path, load: str, why: str) -> None:
    bench = Bench(tmp_path, SHARED.replace('"block"', f'"{load}"').replace('["thr', '["load_energy_j", "thr'))
    one_line_error(bench("run", "experiment.toml", "--dry-run"), 2, why)


def test_a_load_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    bench = Bench(tmp_path, SHARED.replace('"block"', '"fresh"'))
    done = bench("run", "experiment.toml", "--keep-going", "--set", "timing.run_timeout_s=0.01")
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert bench.counts() == {"failed": 16}
    with Store.open(bench.store) as store:
        assert "the load took longer than run_timeout_s = 0.01 s" in str(store.runs(store.find().id)[0].cause)
    assert not list((tmp_path / "results/data").glob("loads/*"))


@pytest.mark.slow
def test_stein_makes_as_many_replications_as_the_first_ones_ask_for(tmp_path: Path) -> None:
    stein = "[design.sequential]\nkind = 'stein'\nfirst = 2\nprecision = 100.0\n"
    bench = Bench(tmp_path, SHARED.replace('load = "block"\n', stein))
    done = bench("run", "experiment.toml")
    finished(done)
    assert "the spread of the first 2 replications asks for 2" in done.stderr
    assert bench.counts() == {"finished": 8}
    assert "asks for 2" in bench("show").stdout
    one_line_error(bench("run", "experiment.toml", "--resume"), 2, "nothing to resume")
    modelled = bench("run", "experiment.toml", "--set", "analysis.responses=['energy_j']", "--profile", "generic-x86")
    if "MODELLED" in modelled.stdout:
        one_line_error(modelled, 2, "error is the model's")


@pytest.mark.slow
def test_a_load_curve_holds_shares_of_the_rate_that_was_reached(tmp_path: Path) -> None:
    bench = Bench(
        tmp_path,
        SPEC.replace('workload = ["mixed"]', "load_percent = [0, 50]")
        .replace("operationcount = 5000", 'workload = "mixed"')
        .replace('"sqlite", "leveldb"', '"leveldb"')
        .replace("replications = 2", "replications = 1")
        .replace("idle_s = 0.25", "idle_s = 0.25\ncalibration_s = 1\nlevel_s = 1"),
    )
    done = bench("run", "experiment.toml")
    finished(done)
    with Store.open(bench.store) as store:
        experiment = store.find()
        runs = {r.levels["load_percent"]: r for r in store.runs(experiment.id)}
    reached = experiment.environment["reached_ops_s"]["leveldb"]
    assert runs[50].facts["load_percent"] == {"percent": 50.0, "reached_ops_s": reached}
    assert runs[50].settings["load_percent"] == 50
    with Store.open(bench.store) as store:
        start = next(e for e in store.data(runs[50]).events if e["event"] == "start")
    assert start["target_ops_s"] == pytest.approx(reached / 2, abs=1)
    kept = (runs[50].value("target_share") or 0) >= 0.95
    assert kept != any("does not sustain" in flag for flag in runs[50].flags), "a rate that was not reached is reported"
    assert {r.name for r in runs[0].responses} == {"energy_j", "power_mean_w", "settled_s", "other_cpu_share"}
    assert runs[0].database is None


@pytest.mark.slow
def test_only_some_cells_are_done_now_and_the_others_later(bench: Bench) -> None:
    first = bench("run", "experiment.toml", "--only", "database=leveldb")
    finished(first)
    assert "4 runs, 2 not done yet" in first.stdout
    assert "2 of 4 runs are not done yet" in bench("show").stdout
    before = bench.finished()
    assert len(before) == 2
    for arguments in (["--only", "database=leveldb"], ["--resume", "--only", "database=leveldb"]):
        again = bench("run", "experiment.toml", *arguments)
        assert again.returncode == 0, again.stderr
        assert "nothing to do: experiment 1 has these runs already (2 of 4 runs finished)" in again.stderr
        assert bench.finished() == before
    second = bench("run", "experiment.toml", "--only", "database=sqlite")
    finished(second)
    assert "continues experiment 1 of this spec (2 of 4 runs finished)" in second.stdout
    assert bench.counts() == {"finished": 4}
    assert {index: run for index, run in bench.finished().items() if index in before} == before
    third = bench("run", "experiment.toml", "--only", "database=sqlite")
    finished(third)
    assert "begins another experiment: experiment 1 of this spec (4 of 4 runs finished) is finished" in third.stdout
    finished(bench("run", "experiment.toml", "--resume"))
    with Store.open(bench.store) as store:
        assert [dict(e.counts) for e in store.experiments()] == [{"finished": 4}, {"finished": 4}]
    one_line_error(bench("run", "experiment.toml", "--only", "database=levldb"), 2, "did you mean 'leveldb'")
    one_line_error(bench("run", "experiment.toml", "--only", "databse=leveldb"), 2, "did you mean 'database'")
    planned = bench("run", "experiment.toml", "--only", "database=leveldb", "--dry-run").stdout
    assert set(re.findall(r"^(sqlite|leveldb) +mixed +\d", planned, re.MULTILINE)) == {"leveldb"}


def test_more_replications_of_chosen_cells_join_the_finished_experiment(both_databases: Bench, bench: Bench) -> None:
    shutil.copytree(both_databases.folder, bench.folder, dirs_exist_ok=True)
    before = bench.finished()
    arguments = ("experiment.toml", "--set", "design.replications=1", "--more", "1")
    planned = bench("run", *arguments, "--only", "database=leveldb", "--dry-run", "--full")
    assert re.findall(r"^ *(\d+) +(\d+) +(\w+)", planned.stdout, re.MULTILINE) == [("3", "2", "leveldb")]
    assert "An added block has one cell alone" in planned.stdout
    done = bench("run", *arguments)
    finished(done)
    assert "1 replication of every cell was added on" in bench("show").stdout
    assert bench.counts() == {"finished": 4}
    assert {index: run for index, run in bench.finished().items() if index in before} == before
    with Store.open(bench.store) as store:
        assert [run.block for run in store.runs(1)] == [0, 0, 1, 1]
        assert len(store.experiments()) == 1
    one_line_error(bench("run", *arguments, "--resume"), 2, "--more", "leave --resume")


def test_more_replications_that_were_interrupted_are_resumed(both_databases: Bench, bench: Bench) -> None:
    shutil.copytree(both_databases.folder, bench.folder, dirs_exist_ok=True)
    one = ("experiment.toml", "--set", "design.replications=1")
    with Store.open(bench.store) as store:
        experiment = store.find()
        addition = Addition(1, tuple(cells(experiment.spec)), 1)
        store.extend(experiment.id, addition, make_plan(experiment.spec, [addition])[-2:])
    one_line_error(bench("run", *one, "--more", "1"), 2, "experiment 1 is not finished (2 of 4 runs", "--resume")
    done = bench("run", *one, "--resume")
    finished(done)
    assert "2 runs finished, 2 to do" in done.stderr
    assert bench.counts() == {"finished": 4}


def test_a_failed_run_does_not_prevent_more_replications(both_databases: Bench, bench: Bench) -> None:
    shutil.copytree(both_databases.folder, bench.folder, dirs_exist_ok=True)
    with contextlib.closing(sqlite3.connect(bench.store)) as db, db:
        db.execute("UPDATE runs SET status = 'failed', cause = 'test' WHERE run_index = 1")
    planned = bench("run", "experiment.toml", "--set", "design.replications=1", "--more", "1", "--dry-run", "--full")
    assert planned.returncode == 0, planned.stderr
    assert len(re.findall(r"^ *(\d+) +2 +(\w+)", planned.stdout, re.MULTILINE)) == 2


def test_more_replications_are_refused_where_their_number_is_fixed_or_there_is_no_experiment(bench: Bench) -> None:
    bench.store.parent.mkdir()
    Store.open(bench.store, create=True).close()
    more = ("run", "experiment.toml", "--more", "1")
    one_line_error(bench(*more), 2, "holds no experiment of this spec")
    one_line_error(bench(*more, "--set", 'design.load="block"'), 2, "--more: a sequential design")
    stein = '{kind = "stein", first = 2, precision = 1.05}'
    one_line_error(bench(*more, "--set", f"design.sequential={stein}"), 2, "--more: a sequential design")
