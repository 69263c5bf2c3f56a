"""A study of commands from the spec to the store: real programs, the real supervisor, modelled joules."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_line import edgejoule

from edgejoule.machine import environment
from edgejoule.store import Run, RunData, Store
from edgejoule.study import study

REPOSITORY = Path(__file__).resolve().parents[3]
HEAD = """\
name = "programs"
question = "What does it cost?"
[factors]
workload = ["x"]
[fixed]
database = "none"
[design]
replications = 1
[timing]
idle_s = 0.25
[meter]
run_s_min = 0
"""


@pytest.fixture(autouse=True)
def _short_machine_check() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "SPEED_S", 0.005)
        patch.setattr(environment, "BUSY_WINDOW_S", 0.02)
        yield


class Bench:
    """A folder with an experiment and its store."""

    def __init__(self, folder: Path, workload: str, head: str = HEAD) -> None:
        self.folder = folder
        (folder / "experiment.toml").write_text(f"{head}[workloads.x]\n{workload}\n")

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return edgejoule(self.folder, *arguments, "--store", "store.db")

    def run(self, *arguments: str, code: Sequence[int] = (0, 3)) -> subprocess.CompletedProcess[str]:
        """Measure; 3: a busy machine's runs are flagged."""
        done = self("run", "experiment.toml", "--meter", "board-profile", *arguments)
        assert done.returncode in code, done.stdout[-2000:] + done.stderr[-3000:]
        return done

    def runs(self) -> list[Run]:
        with Store.open(self.folder / "store.db") as store:
            return store.runs(store.find().id)

    def data(self, run: Run) -> RunData:
        with Store.open(self.folder / "store.db") as store:
            return store.data(run)


def responses(run: Run) -> dict[str, float | None]:
    return {r.name: r.value for r in run.responses}


def test_a_command_gives_energy_time_and_usage_and_no_operations(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 'command = ["sh", "-c", "echo some text; sleep 0.1"]')
    bench.run()
    (run,) = bench.runs()
    values = responses(run)
    known = {"energy_j", "energy_net_j", "power_mean_w", "power_net_w", "active_s", "settled_s", "cpu_s"}
    assert known < set(values)
    assert (values["active_s"] or 0) >= 0.1
    assert values["settled_s"] == values["active_s"]
    of_operations = {"throughput_ops_s", "energy_per_op_uj", "failure_share", "driver_share", "energy_active_j",
                     "device_write_bytes_per_op"}  # fmt: skip
    assert not of_operations & set(values)
    assert not any("latency" in name for name in values)
    assert run.database is None
    assert run.facts["output"]["last_lines"] == ["some text"]
    schema = json.loads((REPOSITORY / "schemas/run-record.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(json.loads(json.dumps(run.record("programs"))))


@pytest.mark.slow
def test_a_short_command_is_repeated_and_its_figures_are_those_of_one_repetition(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    workload = f'command = ["sh", "-c", "echo x >> {lines}; echo size = 3"]'
    bench = Bench(tmp_path, workload, HEAD.replace("run_s_min = 0", "run_s_min = 0.3"))
    (tmp_path / "experiment.toml").open("a").write("[responses.size]\nregex = 'size = ([0-9]+)'\n")
    bench.run()
    (run,) = bench.runs()
    count = run.facts["repetitions"]
    assert count > 5
    assert len(lines.read_text().split()) > count, "the trials that determined the count ran, too"
    values = responses(run)
    assert run.intervals is not None
    whole_s = (run.intervals.active_end_ns - run.intervals.active_start_ns) / 1e9
    assert 0 < (values["active_s"] or 0) <= whole_s / count
    assert values["size"] == 3
    whole_j = run.facts["metering"]["meters"][0]["energy"]["settled_j"]
    assert values["energy_j"] == pytest.approx(whole_j / count)


@pytest.mark.parametrize("key", ["prepare", "conclude"])
def test_a_short_command_with_prepare_or_conclude_is_refused_with_the_length_it_needs(tmp_path: Path, key: str) -> None:
    bench = Bench(tmp_path, f'command = ["true"]\n{key} = "true"', HEAD.replace("run_s_min = 0", "run_s_min = 2"))
    done = bench.run(code=[1])
    assert f"this meter needs 2 s; a command with {key} is not repeated within a run" in done.stderr
    assert "give the command work for at least 2 s" in done.stderr


def test_the_start_of_a_shell_is_measured_once_subtracted_and_shown(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 'command = "sleep 0.05; true"')
    bench.run()
    (run,) = bench.runs()
    shell = run.facts["shell"]
    assert shell["shell"] == "/bin/sh"
    assert 0 < shell["start_s"] < 0.05
    assert run.intervals is not None
    whole_s = (run.intervals.active_end_ns - run.intervals.active_start_ns) / 1e9
    assert responses(run)["active_s"] == pytest.approx(whole_s - shell["start_s"])
    whole_j = run.facts["metering"]["meters"][0]["energy"]["settled_j"]
    assert responses(run)["energy_j"] == pytest.approx(whole_j * (1 - shell["start_s"] / whole_s))
    assert "/bin/sh takes" in bench("show", "--run", "1").stdout


@pytest.mark.parametrize(
    ("workload", "phrases"),
    [
        ('command = ["sh", "-c", "echo first; echo last >&2; exit 3"]', ["exit code 3", "first | last"]),
        ('command = ["sh", "-c", "kill -9 $$"]\nignore_failure = true', ["SIGKILL", "without any output"]),
        ('command = ["true"]\nprepare = "echo no room; false"', ["prepare failed", "no room"]),
        ('command = ["true"]\nsetup = ["false"]', ["setup failed"]),
        ('command = ["true"]\nload = ["false"]', ["load failed"]),
        ('command = ["echo", "tps = none"]\n[responses.tps]\nregex = "tps = ([0-9.]+)"', ["no match", "tps = none"]),
        ('command = ["echo", "{}"]\n[responses.tps]\njson = "$.tps"', ["no match of '$.tps'"]),
        ('command = ["sleep", "60"]\n[timing.x]', ["longer than 0.5 s"]),
    ],
)
def test_a_command_that_fails_is_never_a_value_and_the_cause_is_kept(
    tmp_path: Path, workload: str, phrases: list[str]
) -> None:
    head = HEAD
    if "[timing.x]" in workload:
        workload, head = workload.replace("[timing.x]", ""), HEAD.replace("[timing]", "[timing]\nrun_timeout_s = 0.5")
    bench = Bench(tmp_path, workload, head)
    done = bench.run("--keep-going", code=[1])
    (run,) = bench.runs()
    assert (run.status, run.responses) == ("failed", ())
    for phrase in phrases:
        assert phrase in str(run.cause), (run.cause, done.stderr)


def test_a_failure_that_is_ignored_is_kept_and_flagged(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 'command = ["sh", "-c", "sleep 0.05; exit 3"]\nignore_failure = true')
    bench.run(code=[3])
    (run,) = bench.runs()
    assert run.status == "finished"
    assert "the command ended with exit code 3" in run.flags


def test_a_process_that_the_command_leaves_behind_is_ended_and_counted(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 'command = ["sh", "-c", "sleep 60 & sleep 0.6"]')
    bench.run(code=[3])
    (run,) = bench.runs()
    assert "1 process of the command still ran at its end and was ended" in run.flags


def test_setup_and_cleanup_run_once_and_prepare_and_conclude_around_every_run(tmp_path: Path) -> None:
    log = tmp_path / "log"
    keys = "\n".join(f'{key} = "echo {key} >> {log}"' for key in ("setup", "prepare", "conclude", "cleanup"))
    workload = f'command = ["sh", "-c", "echo command >> {log}"]\nwarmup = 1\n{keys}'
    Bench(tmp_path, workload, HEAD.replace("replications = 1", "replications = 2")).run()
    each = ["prepare", "command", "conclude"]
    assert log.read_text().split() == ["setup", *each * 3, "cleanup"]


def test_cleanup_runs_after_a_failed_run(tmp_path: Path) -> None:
    log = tmp_path / "log"
    Bench(tmp_path, f'command = ["false"]\ncleanup = "echo cleaned >> {log}"').run(code=[1])
    assert log.read_text() == "cleaned\n"


def test_processes_of_a_setup_run_until_its_turn_ends(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    setup = f'setup = "sleep 60 & echo $! > {pid}"'
    Bench(tmp_path, f'command = ["sh", "-c", "kill -0 $(cat {pid})"]\n{setup}').run()
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()


def test_every_run_starts_from_a_copy_of_what_load_made(tmp_path: Path) -> None:
    load = f"""load = ["sh", "-c", "echo loaded > {{data}}/file; echo x >> {tmp_path}/loads"]"""
    command = """command = ["sh", "-c", "cat file; echo changed > file"]"""
    bench = Bench(tmp_path, f"{command}\n{load}", HEAD.replace("replications = 1", "replications = 2"))
    bench.run()
    assert [run.facts["output"]["last_lines"] for run in bench.runs()] == [["loaded"]] * 2
    assert (tmp_path / "loads").read_text() == "x\n"
    assert bench.runs()[0].facts["load"]["records"] is None


def test_placeholders_environment_and_input_reach_the_command(tmp_path: Path) -> None:
    (tmp_path / "input.txt").write_text("given\n")
    workload = """\
command = ["sh", "-c", 'cat; echo $LEVEL {threads} {{data}} "$PWD"']
env = { LEVEL = "level {threads}" }
stdin = "input.txt"
"""
    bench = Bench(tmp_path, workload, HEAD.replace('database = "none"', 'database = "none"\nthreads = 3'))
    bench.run()
    (run,) = bench.runs()
    given, line = run.facts["output"]["last_lines"]
    assert given == "given"
    assert line.startswith("level 3 3 {data} ")
    assert line.endswith("/run"), "the default folder is the run's own"


def test_a_command_without_the_driver_needs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgejoule.databases.driver.driver_path", lambda: pytest.fail("the driver is not needed"))
    Bench(tmp_path, 'command = ["true"]').run()


def test_a_program_that_is_not_here_is_refused_before_anything_runs(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 'command = ["no-such-program"]')
    done = bench.run(code=[2])
    assert "command: no-such-program: no such program here" in done.stderr
    assert not (tmp_path / "store.db").exists()


def test_a_declared_operations_gives_figures_per_operation(tmp_path: Path) -> None:
    workload = """command = ["sh", "-c", "sleep 0.05; echo 200 operations"]
[responses.operations]
regex = '([0-9]+) operations'
"""
    bench = Bench(tmp_path, workload)
    bench.run()
    (run,) = bench.runs()
    values: dict[str, Any] = responses(run)
    assert values["throughput_ops_s"] == pytest.approx(200 / values["active_s"])
    assert values["energy_per_op_uj"] == pytest.approx(values["energy_j"] * 1e6 / 200)
    for name in ("process_write_bytes", "device_write_bytes"):
        each = None if values[name] is None else values[name] / 200
        assert values[f"{name}_per_op"] == each


def test_no_value_of_the_environment_is_stored_exported_or_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN_OF_SOMEBODY", "secret-4711")
    monkeypatch.setenv("LC_TIME", "secret-4712")
    bench = Bench(tmp_path, 'command = "test -z \\"$TOKEN_OF_SOMEBODY\\" && test -n \\"$LC_TIME\\""\nenv = { A = "b" }')
    bench.run("--output", str(tmp_path / "report.html"))
    assert bench("export", "--bundle", str(tmp_path / "bundle.zip")).returncode == 0
    shutil.unpack_archive(tmp_path / "bundle.zip", tmp_path / "bundle", "zip")
    for file in [f for f in tmp_path.rglob("*") if f.is_file() and f.suffix != ".zip"]:
        content = file.read_bytes()
        assert b"secret-471" not in content, file


def test_phases_by_marks_and_by_lines_of_the_output_are_kept_with_the_run(tmp_path: Path) -> None:
    by_marks = (
        "command = ['sh', '-c', 'echo one > $EDGEJOULE_MARKS; sleep 0.1; echo two > $EDGEJOULE_MARKS; sleep 0.1']"
    )
    (tmp_path / "marks").mkdir()
    (tmp_path / "lines").mkdir()
    by_lines = "command = ['sh', '-c', 'echo phase one; sleep 0.1; echo phase two; sleep 0.1']\nphase = 'phase (.*)'"
    for bench in (Bench(tmp_path / "marks", by_marks), Bench(tmp_path / "lines", by_lines)):
        bench.run()
        (run,) = bench.runs()
        assert [phase["name"] for phase in run.facts["phases"]] == ["one", "two"]
        kinds = [event["event"] for event in bench.data(run).events]
        assert kinds.count("command_phase") == 2


def test_a_study_of_commands_resumes_and_its_bundle_is_analysed_elsewhere_without_running_anything(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    command = f'command = ["sh", "-c", "echo x >> {log}; test -e {tmp_path}/ready && echo size = 7"]'
    head = HEAD.replace("replications = 1", "replications = 2").replace('["x"]', '["x", "y"]')
    bench = Bench(tmp_path, f"{command}\n[workloads.y]\n{command}", head)
    with (tmp_path / "experiment.toml").open("a") as spec:
        spec.write("[responses.size]\nregex = 'size = ([0-9]+)'\nbetter = 'lower'\n[analysis]\nresponses = ['size']\n")
    bench.run(code=[1])
    (tmp_path / "ready").touch()
    bench.run("--resume")
    assert [run.value("size") for run in bench.runs()] == [7] * 4
    ran = len(log.read_text().split())
    assert bench("export", "--bundle", "bundle.zip").returncode == 0
    other = edgejoule(tmp_path, "import", "bundle.zip", "--store", "other.db")
    assert other.returncode == 0, other.stderr
    for arguments in (["show"], ["report", "-o", "again.html"], ["export", "--csv"]):
        done = edgejoule(tmp_path, *arguments, "--store", "other.db")
        assert done.returncode == 0, done.stderr
    assert "size" in edgejoule(tmp_path, "export", "--csv", "--store", "other.db").stdout.splitlines()[0]
    assert len(log.read_text().split()) == ran


def test_an_output_file_and_the_folder_of_a_command_are_those_of_the_experiment(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    workload = 'command = ["sh", "-c", "pwd; echo size = 4"]\ncwd = "there"\noutput = "printed.txt"'
    bench = Bench(tmp_path, f"{workload}\n[responses.size]\nregex = 'size = ([0-9]+)'")
    bench.run()
    (run,) = bench.runs()
    assert run.value("size") == 4
    assert (tmp_path / "printed.txt").read_text().splitlines() == [str(tmp_path / "there"), "size = 4"]


def test_json_in_an_output_is_read_by_its_path(tmp_path: Path) -> None:
    workload = (
        """command = ["echo", 'begins', '{"results": [{"tps": 3.5}]}']\n[responses.tps]\njson = "$.results[0].tps\""""
    )
    bench = Bench(tmp_path, workload)
    bench.run()
    assert bench.runs()[0].value("tps") == 3.5


EXAMPLES = REPOSITORY / "experiments/commands"


def example(folder: Path, name: str, *arguments: str) -> list[Run]:
    short = ("--set", "design.replications=1", "--set", "timing.idle_s=0.25", "--set", "meter.run_s_min=0")
    spec, store = str(EXAMPLES / name), str(folder / "store.db")
    done = edgejoule(folder, "run", spec, "--store", store, "--meter", "board-profile", *short, *arguments)
    assert done.returncode in (0, 3), done.stdout[-2000:] + done.stderr[-3000:]
    with Store.open(Path(store)) as opened:
        return opened.runs(opened.find().id)


@pytest.mark.slow
def test_the_example_of_sqlite3_runs(tmp_path: Path) -> None:
    runs = example(tmp_path, "experiment.toml")
    assert [run.value("rows") for run in runs] == [200, 200]
    assert all(run.facts["load"]["snapshot"].startswith("command-none-") for run in runs)


@pytest.mark.slow
def test_the_example_of_db_bench_runs_with_its_preloaded_allocator(tmp_path: Path) -> None:
    runs = example(tmp_path, "db-bench.toml")
    assert all((run.value("ops_per_s") or 0) > 0 for run in runs)


@pytest.mark.server
def test_the_example_of_pgbench_runs_on_the_studys_own_postgresql(tmp_path: Path) -> None:
    text = (EXAMPLES / "pgbench.toml").read_text()
    (tmp_path / "pgbench.toml").write_text(text.replace('"-T", "10"', '"-T", "1"').replace('"-s", "2"', '"-s", "1"'))
    for run in example(tmp_path, str(tmp_path / "pgbench.toml")):
        values = responses(run)
        assert (values["tps"] or 0) > 0
        assert (values["settled_s"] or 0) > (values["active_s"] or 0)
        assert "process_write_bytes" not in values, "a client's bytes are not those of its server"
        assert run.database is not None
        assert run.database["name"] == "postgres"
        assert (run.durability or {})["how"]


@pytest.mark.server
def test_the_example_of_redis_benchmark_runs_on_the_studys_own_redis(tmp_path: Path) -> None:
    runs = example(tmp_path, "redis.toml", "--set", "fixed.requests=2000")
    assert all((run.value("requests_per_s") or 0) > 0 for run in runs)
    assert {run.facts["server"]["server"] for run in runs} == {"redis"}


@pytest.mark.server
def test_a_short_command_on_a_server_of_the_study_is_refused_with_the_length_it_needs(tmp_path: Path) -> None:
    head = HEAD.replace('"none"', '"redis"').replace("run_s_min = 0", "run_s_min = 30")
    done = Bench(tmp_path, 'command = ["redis-cli", "-p", "{port}", "ping"]', head).run(code=[1])
    assert "this meter needs 30 s; a command on a server that the study starts is not repeated" in done.stderr


def test_report_and_show_of_a_command_name_no_databases_and_operations(tmp_path: Path) -> None:
    bench = Bench(
        tmp_path, 'command = "sleep 0.05; echo printed"', HEAD.replace("replications = 1", "replications = 2")
    )
    done = bench.run("--output", str(tmp_path / "report.html"))
    assert "A run of x takes " in done.stdout
    assert " of CPU time and lasts " in done.stdout
    page = (tmp_path / "report.html").read_text().partition("<details><summary>experiment.toml")[0]
    for phrase in ("sleep 0.05; echo printed", "What a run used", "context switches", "whose start takes"):
        assert phrase in page
    for phrase in ("no database", "ops/s", "operation", "acknowledge", "Databases", "latency", "driver"):
        text = page.partition("<body>")[2]
        assert phrase not in text, text[max(0, text.find(phrase) - 200) : text.find(phrase) + 200]
    shown = bench("show", "--run", "1").stdout
    assert "command: sleep 0.05; echo printed" in shown
    assert "the output ends with:\n  printed" in shown
    assert "database" not in shown
    parts = bench("show").stdout.split("\n\n")
    assert any(all(title in part for title in ("CPU time", "active time", "energy,")) for part in parts), parts


@pytest.mark.slow
def test_a_declared_response_can_be_analysed_and_compared(tmp_path: Path) -> None:
    command = """command = ["sh", "-c", "echo size = {0}$(($$ % 10))"]"""
    head = HEAD.replace('["x"]', '["x", "y"]').replace("replications = 1", "replications = 4")
    bench = Bench(tmp_path, f"{command.format(1)}\n[workloads.y]\n{command.format(9)}", head)
    with (tmp_path / "experiment.toml").open("a") as spec:
        spec.write("[responses.size]\nregex = 'size = ([0-9]+)'\nunit = 'kB'\nbetter = 'higher'\n")
        spec.write("[analysis]\nresponses = ['size']\n")
    done = bench.run()
    assert "Highest size with y" in done.stdout
    (tmp_path / "runs.csv").write_text(bench("export", "--csv").stdout)
    analysed = edgejoule(tmp_path, "analyse", "runs.csv", "--response", "size", "--factors", "workload", "--json")
    assert analysed.returncode == 0, analysed.stderr
    assert json.loads(analysed.stdout)["anova"][0]["source"] == "workload"


def test_a_command_may_work_on_the_file_of_an_embedded_database(tmp_path: Path) -> None:
    workload = 'command = ["sqlite3", "{data}/x.db", "SELECT count(*) FROM t"]\n'
    workload += 'load = ["sqlite3", "{data}/x.db", "CREATE TABLE t (i); INSERT INTO t VALUES (1)"]'
    bench = Bench(tmp_path, workload, HEAD.replace('"none"', '"sqlite"'))
    bench.run()
    (run,) = bench.runs()
    assert run.facts["output"]["last_lines"] == ["1"]
    assert run.database is not None
    assert run.database["name"] == "sqlite"
    assert "no database" not in bench("report", "-o", "report.html").stderr


@pytest.mark.parametrize(
    ("fixed", "phrase"),
    [
        ('database = "sqlit"', "unknown database 'sqlit'; did you mean 'sqlite'"),
        ('database = "sqlite"\n"sqlite.cache_bytes" = 5', "give it in the command"),
        ('database = "redis"\n"redis.host" = "example.org"', "a server that you run by its own arguments"),
        ('database = "redis"\ncache = "cold"', "redis is never cold: all of its data are in memory"),
    ],
)
def test_what_a_command_cannot_have_is_refused_before_anything_runs(tmp_path: Path, fixed: str, phrase: str) -> None:
    done = Bench(tmp_path, 'command = ["true"]', HEAD.replace('database = "none"', fixed)).run(code=[2])
    assert phrase in done.stderr, done.stderr


def test_a_file_named_as_the_word_for_discarded_output_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "discard").write_text("not the output\n")
    bench = Bench(tmp_path, f'command = ["echo", "words"]\noutput = "discard"\ncwd = "{tmp_path}"\n')
    bench.run()
    (run,) = bench.runs()
    assert run.facts["output"]["last_lines"] == []


@pytest.mark.root
def test_a_cold_cache_is_dropped_before_the_command_and_checked(tmp_path: Path) -> None:
    workload = 'command = ["cat", "file"]\noutput = "discard"\n'
    workload += 'load = ["sh", "-c", "head -c 8000000 /dev/urandom > {data}/file"]'
    bench = Bench(tmp_path, workload, HEAD.replace('"none"', '"none"\ncache = "cold"'))
    bench.run()
    (run,) = bench.runs()
    assert run.facts["cache"]["state"] == "cold"
    assert run.facts["cache"]["resident_bytes_before"] > 4_000_000
    assert run.facts["cache"]["resident_bytes_after"] < 80_000


@pytest.mark.root
def test_a_command_lives_within_its_memory_limit(tmp_path: Path) -> None:
    grows = "x = bytearray(60_000_000); print('grown')"
    command = f'command = ["{sys.executable}", "-c", "{grows}"]'
    head = HEAD.replace('"none"', '"none"\nmemory_limit_mb = 32')
    bench = Bench(tmp_path, command, head)
    bench.run(code=[1])
    (run,) = bench.runs()
    assert "SIGKILL" in str(run.cause)


@pytest.mark.slow
def test_ctrl_c_ends_the_command_and_leaves_a_store_that_resumes(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    bench = Bench(tmp_path, f'command = "echo $$ > {pid}; test -e {tmp_path}/ready || sleep 60"')
    command = [sys.executable, "-c", "from edgejoule.cli.main import main; main()", "run", "experiment.toml"]
    command += ["--meter", "board-profile", "--store", "store.db"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as study_:
        end = time.monotonic() + 60
        while not (pid.is_file() and pid.read_text().strip()) and time.monotonic() < end:
            time.sleep(0.05)
        study_.send_signal(signal.SIGINT)
        _, errors = study_.communicate(timeout=60)
    assert study_.returncode == 130, errors
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()
    (tmp_path / "ready").touch()
    bench.run("--resume")
    assert [run.status for run in bench.runs()] == ["finished"]


def test_modelled_joules_do_not_decide_how_often_a_command_runs(tmp_path: Path) -> None:
    stages = '[design.sequential]\nkind = "stein"\nfirst = 2\nprecision = 20.0\n'
    head = HEAD.replace("replications = 1", "replications = 3").replace("[timing]", f"{stages}[timing]")
    bench = Bench(tmp_path, 'command = ["sleep", "0.05"]', head)
    bench.run()
    assert len(bench.runs()) == 2
    with Store.open(tmp_path / "store.db") as store:
        (look,) = store.find().environment["looks"]
    assert "CPU time" in look["words"]


@pytest.mark.slow
def test_differing_setups_take_turns_and_each_cell_has_its_own(tmp_path: Path) -> None:
    log = tmp_path / "log"

    def workload(name: str) -> str:
        keys = {key: f"echo {key}-{name} >> {log}" for key in ("command", "setup", "cleanup")}
        return "\n".join(f'{key} = "{text}"' for key, text in keys.items())

    head = HEAD.replace('["x"]', '["x", "y"]').replace("replications = 1", "replications = 2")
    head = head.replace("[timing]", 'order = "one-after-another"\n[timing]')
    Bench(tmp_path, f"{workload('x')}\n[workloads.y]\n{workload('y')}", head).run()
    turns = [[f"setup-{name}", *[f"command-{name}"] * 2, f"cleanup-{name}"] for name in ("x", "y")]
    assert log.read_text().split() == [word for turn in turns for word in turn]
