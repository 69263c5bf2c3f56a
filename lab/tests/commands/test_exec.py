"""`edgejoule exec` with real programs: an ordinary experiment in the store, and errors that say what to do."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from command_line import edgejoule
from emulated_meter import SteadyMeter

from edgejoule.exec import spec as exec_spec
from edgejoule.machine import environment
from edgejoule.meters.base import Domain
from edgejoule.meters.discovery import Choice
from edgejoule.store import Store
from edgejoule.study import sequential, study

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _short_machine_check() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "SPEED_S", 0.005)
        patch.setattr(environment, "BUSY_WINDOW_S", 0.02)
        patch.setattr(exec_spec, "IDLE_S", 0.1)
        yield


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return edgejoule(folder, "exec", "--meter", "board-profile", *arguments)


def measured(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """3: a busy machine's runs are flagged."""
    done = run(folder, *arguments)
    assert done.returncode in (0, 3), done.stdout[-2000:] + done.stderr[-3000:]
    return done


def refused(folder: Path, *arguments: str) -> tuple[int, str]:
    done = run(folder, *arguments)
    return done.returncode, done.stderr.strip().splitlines()[-1]


def test_two_commands_give_an_ordinary_experiment(tmp_path: Path) -> None:
    done = measured(tmp_path, "-r", "2", "--export-csv", "c.csv", "sleep 0.05", "sleep 0.06; echo a | wc -c")
    assert "CPU time: mean with 95 % interval" in done.stdout
    assert "The start of /bin/sh" in done.stdout, "what is subtracted is shown"
    assert sum(map(done.stdout.count, "█▒")) > 2, "bars, hatched where an interval holds 0"
    assert "modelled" in done.stdout
    with Store.open(tmp_path / "results/store.db") as store:
        assert store.find().counts == {"finished": 4}
    assert (tmp_path / "c.csv").read_text().count("\n") == 3
    for arguments in (("show",), ("report",), ("export", "--csv")):
        assert edgejoule(tmp_path, *arguments).returncode == 0, arguments


def test_with_a_meter_energy_decides_and_its_joules_are_power_times_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meter = SteadyMeter("steady", Domain.BOARD, 5.0)
    monkeypatch.setattr("edgejoule.cli.run_study.meter_choice", lambda *_: Choice(meter, meter.probe(), ()))
    done = edgejoule(tmp_path, "exec", "--runs", "3", "--json", "--", "sleep", "0.2")
    assert done.returncode in (0, 3), done.stderr
    document = json.loads(done.stdout)
    (one,) = document["results"]
    energy, power = one["responses"]["energy_j"], one["responses"]["power_mean_w"]
    assert (document["decides"], energy["method"]) == ("energy_j", "measured")
    assert power["mean"] == pytest.approx(5.0, rel=0.01)
    assert energy["mean"] == pytest.approx(5.0 * one["responses"]["active_s"]["mean"], rel=0.02)
    assert "energy (measured)" in document["verdict"]


@pytest.mark.slow
def test_a_budget_for_a_few_blocks_makes_three_and_reports_it(tmp_path: Path) -> None:
    done = measured(tmp_path, "--budget", "1", "--", "sleep", "0.05")
    assert "3 replications are made, the fewest that give an interval" in done.stdout
    assert re.search(r"3 replications give each mean of CPU time within (±|a factor of) \d", done.stdout)
    with Store.open(tmp_path / "results/store.db") as store:
        assert sequential.looks_of(store.find())[-1]["precision"] > 1
    schema = json.loads((REPOSITORY / "schemas/run-record.schema.json").read_text())
    records = edgejoule(tmp_path, "export", "--jsonl").stdout.splitlines()
    assert len(records) == 3
    for record in records:
        jsonschema.Draft202012Validator(schema).validate(json.loads(record))


def test_the_document_of_json_holds_every_run(tmp_path: Path) -> None:
    done = measured(tmp_path, "-r", "2", "--json", "--export-json", "copy.json", "--", "sleep", "0.05")
    document = json.loads(done.stdout)
    assert document == json.loads((tmp_path / "copy.json").read_text())
    (one,) = document["results"]
    assert one["command"] == "sleep 0.05"
    assert len(one["times"]) == 2
    assert min(one["times"]) >= 0.05
    assert one["responses"]["energy_j"]["method"] == "modelled"


def test_the_experiment_of_a_dry_run_is_the_one_that_exec_measures(tmp_path: Path) -> None:
    arguments = ("-r", "1", "sleep 0.05")
    (tmp_path / "e.toml").write_text(run(tmp_path, "--dry-run", *arguments).stdout)
    measured(tmp_path, *arguments)
    done = edgejoule(tmp_path, "run", "e.toml", "--resume")
    assert "nothing to resume" in done.stderr or "nothing to do" in done.stderr
    assert edgejoule(tmp_path, "run", "e.toml").returncode in (0, 3)
    with Store.open(tmp_path / "results/store.db") as store:
        first, second = store.experiments()
        assert first.spec.digest() == second.spec.digest()


@pytest.mark.slow
def test_brackets_and_lines_of_a_command_are_shown_as_they_are(tmp_path: Path) -> None:
    done = measured(tmp_path, "-r", "1", "echo '[/bold]'\nsleep 0.05")
    assert "echo '[/bold]' sleep 0.05" in done.stdout
    for arguments in (("list",), ("show",), ("report",)):
        assert edgejoule(tmp_path, *arguments).returncode == 0, arguments
    command = [
        sys.executable,
        "-c",
        "from edgejoule.cli.main import main; main()",
        "exec",
        "-r",
        "1",
        "sleep 0.05 # '[/x]'",
    ]
    terminal = subprocess.run(
        ["script", "-qec", shlex.join(command), "/dev/null"], cwd=tmp_path, capture_output=True, check=False
    )
    assert terminal.returncode in (0, 3), "bars with brackets"


def test_commands_run_where_the_user_is_with_what_is_around_them(tmp_path: Path) -> None:
    around = [
        word for name in ("setup", "prepare", "conclude", "cleanup") for word in (f"--{name}", f"echo {name} >> log")
    ]
    (tmp_path / "in.txt").write_text("from the file\n")
    measured(tmp_path, "-r", "2", *around, "--input", "in.txt", "--output", "./out.txt", "cat; pwd; sleep 0.6")
    log = (tmp_path / "log").read_text().split()
    assert log == ["setup", "prepare", "conclude", "prepare", "conclude", "cleanup"]
    assert (tmp_path / "out.txt").read_text() == f"from the file\n{tmp_path}\n"


@pytest.mark.slow
def test_setups_that_differ_are_reported_in_the_verdict(tmp_path: Path) -> None:
    setups = ("--setup", "echo a >> log", "--setup", "echo b >> log")
    work = ("seq 5000000 > numbers", "seq 6000000 > numbers")  # enough CPU time for a ratio on a busy machine, too
    done = measured(tmp_path, "-r", "3", *setups, *work)
    assert "one after another" in done.stdout.strip().splitlines()[-1]
    assert (tmp_path / "log").read_text().split() == ["a", "b"]


def test_a_command_that_fails_is_no_value_and_the_message_reports_how_to_see_more(tmp_path: Path) -> None:
    code, message = refused(tmp_path, "-r", "1", "echo some words; exit 3")
    assert code == 1
    assert "ended with exit code 3; its output is discarded; --output pipe shows its last lines" in message
    code, message = refused(tmp_path, "-r", "1", "--output", "pipe", "echo some words; exit 3")
    assert code == 1
    assert "its output ends with: some words; --ignore-failure keeps such runs" in message
    kept = measured(tmp_path, "-r", "1", "--ignore-failure", "sleep 0.05; exit 3")
    assert kept.returncode == 3
    assert re.search(r"^! 1 of 1 run: .* ended with exit code 3$", kept.stdout, re.MULTILINE)


def test_advice_is_given_only_where_it_helps(tmp_path: Path) -> None:
    for arguments, phrase in (
        (("kill -9 $$ # exit code 3",), "killed by SIGKILL"),
        (("--ignore-failure", "kill -9 $$"), "killed by SIGKILL"),
        (("--setup", "exit 3", "sleep 0.05"), "setup"),
        (("--prepare", "exit 3", "sleep 0.7"), "prepare failed"),
        (("--conclude", "exit 3", "sleep 0.7"), "conclude failed"),
        (("--cleanup", "exit 3", "sleep 0.05"), "cleanup"),
    ):
        code, message = refused(tmp_path, "-r", "1", *arguments)
        assert (code, phrase in message) == (1, True), message
        assert "keeps such runs" not in message, message


def test_a_folder_that_was_deleted_is_one_clear_line(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = "import os; os.rmdir(os.getcwd()); from edgejoule.cli.main import main; main()"
    for arguments in (("exec", "-r", "1", "sleep 0.05"), ("exec", "--", "sleep", "1")):
        gone.mkdir(exist_ok=True)
        command = [sys.executable, "-c", script, *arguments]
        done = subprocess.run(command, cwd=gone, capture_output=True, text=True, check=False)
        assert done.stderr == "edgejoule: the current folder was deleted; change to another one\n", arguments
        assert done.returncode == 1


@pytest.mark.slow
def test_parameters_may_have_any_name(tmp_path: Path) -> None:
    taken = ("cache", "durability", "threads", "data", "folder", "host", "workload", "database", "recordcount")
    lists = [word for name in taken for word in ("-L", name, "cold,x" if name == "cache" else f"{name}-value")]
    text = " ".join(f"{{{name}}}" for name in taken)
    done = measured(tmp_path, "-r", "1", *lists, "--export-csv", "c.csv", f"sleep 0.05; echo {text} >> seen")
    values = [f"{name}-value" for name in taken[1:]]
    seen = {tuple(line.split()) for line in (tmp_path / "seen").read_text().splitlines()}
    assert seen == {(first, *values) for first in ("cold", "x")}
    assert "echo cold durability-value" in done.stdout, "the label has the values"
    assert ",parameter_cache,parameter_durability," in (tmp_path / "c.csv").read_text()
    assert edgejoule(tmp_path, "report").returncode == 0


def test_a_second_study_in_the_folder_is_refused_before_a_meter_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(*_: object) -> None:
        raise AssertionError("a meter was chosen")

    monkeypatch.setattr("edgejoule.cli.run_study.meter_choice", opened)
    (tmp_path / "results/data").mkdir(parents=True)
    with (tmp_path / "results/data/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        code, message = refused(tmp_path, "sleep 0.05")
    assert (code, "another study is measuring here" in message) == (1, True)


def test_a_command_killed_by_a_signal_is_never_a_value(tmp_path: Path) -> None:
    code, message = refused(tmp_path, "-r", "1", "--ignore-failure", "kill -9 $$")
    assert (code, "killed by SIGKILL" in message) == (1, True)


def test_a_program_that_is_not_here_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    code, message = refused(tmp_path, "--", "no-such-program-4711")
    assert (code, "no such program here" in message) == (2, True)
    (tmp_path / "plain").write_text("echo\n")
    for name, phrase in (
        ("./none", "./none: does not exist"),
        ("./plain", "./plain: is not executable"),
        ("/usr", "/usr: is a folder, not a program"),
    ):
        code, message = refused(tmp_path, "--", name)
        assert (code, message.endswith(phrase)) == (2, True), message
    assert not (tmp_path / "results").exists()


def test_a_command_too_short_to_be_prepared_each_time_is_refused_with_the_length_it_needs(tmp_path: Path) -> None:
    code, message = refused(tmp_path, "-r", "1", "--prepare", "true", "--", "true")
    assert code == 1
    assert "this meter needs 0.5 s" in message


def test_an_export_into_a_folder_that_is_not_there_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    code, message = refused(tmp_path, "--export-json", "no/such.json", "true")
    assert (code, "no folder" in message) == (2, True)
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_an_interrupted_study_continues_with_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exec_spec, "IDLE_S", 0.5)  # as in the other process
    arguments = ["exec", "--meter", "board-profile", "-r", "4", "--", "sleep", "0.5"]
    command = [sys.executable, "-c", "from edgejoule.cli.main import main; main()", *arguments]
    environment = dict(os.environ)  # without the COLUMNS that readline, which pytest imports, gives to child processes
    done = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=environment)
    store = tmp_path / "results/store.db"
    end = time.monotonic() + 60
    while not (store.exists() and _finished(store)):
        assert time.monotonic() < end
        time.sleep(0.1)
    done.send_signal(signal.SIGINT)
    _, message = done.communicate(timeout=30)
    assert (done.returncode, "--resume continues" in message) == (130, True), message
    before = _finished(store)
    arguments[1:1] = ["--resume"]
    assert edgejoule(tmp_path, *arguments).returncode in (0, 3)
    assert 1 <= before < _finished(store) == 4


def test_resume_reports_what_differs_from_the_unfinished_experiment(tmp_path: Path) -> None:
    assert run(tmp_path, "-r", "2", "--", "false").returncode == 1, "a run failed, and the study ended"
    code, message = refused(tmp_path, "-r", "3", "--resume", "--", "false")
    assert code == 2
    assert "the unfinished experiment 1 (0 of 2 runs finished, 1 failed) differs in design.replications" in message
    assert "(2 there, 3 here)" in message
    _, message = refused(tmp_path, "-r", "2", "--resume", "--", "true")
    assert (
        "the latest unfinished experiment (1, 0 of 2 runs finished, 1 failed) is of another command: 'false'" in message
    )
    measured(tmp_path, "-r", "1", "--", "sleep", "0.05")
    _, message = refused(tmp_path, "-r", "1", "--resume", "--", "sleep", "0.05")
    assert "nothing to resume: experiment 2 of this spec is finished" in message


def test_the_help_has_the_exit_code_of_flagged_runs(tmp_path: Path) -> None:
    assert "3 measured, with flagged runs" in run(tmp_path, "--help").stdout


def test_which_energy_it_is_takes_one_short_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    done = edgejoule(tmp_path, "exec", "-r", "1", "--profile", "generic-x86", "--", "sleep", "0.05")
    if "modelled" in done.stdout:  # else this machine has a power counter
        line = "Energy: MODELLED from CPU use (generic-x86, ±50 %); a real meter: edgejoule meters"
        assert line in done.stderr.splitlines()


def _finished(path: Path) -> int:
    with Store.open(path) as store:
        known = store.experiments()
        return known[-1].counts.get("finished", 0) if known else 0


@pytest.mark.slow
def test_commands_as_short_as_their_shells_start_are_measured_and_flagged(tmp_path: Path) -> None:
    """`:` is a builtin: what remains without the shell's start is noise around 0."""
    done = measured(tmp_path, "--runs", "3", "--json", ":", "true")
    document = json.loads(done.stdout)
    assert [len(one["times"]) for one in document["results"]] == [3, 3]
    assert all(one["resolved"] or one["ratio_to_best"] is None for one in document["results"])
