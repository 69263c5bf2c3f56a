"""What befalls a server during a run: the run has failed with the cause, the plan goes on, nothing hangs or stays."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_disk import small_disk

from edgejoule.database_servers import postgres

from .studies import Study

pytestmark = pytest.mark.server


def two_runs(folder: Path, **more: str) -> Study:
    """The first is long; the second is only checked for completion."""
    study = Study(folder, "redis", '"redis.persistence" = ["none", "rdb"]', **more)
    text = (folder / "experiment.toml").read_text()
    rule = '[[when]]\n"redis.persistence" = "none"\nset = { operationcount = 0, maxexecutiontime = 60 }\n'
    (folder / "experiment.toml").write_text(text + rule)
    return study


@pytest.mark.parametrize(
    ("number", "message"),
    [(signal.SIGKILL, "redis was killed by SIGKILL"), (signal.SIGSTOP, "redis stands still (SIGSTOP)")],
    ids=["killed", "paused"],
)
def test_the_run_fails_with_the_cause_and_the_plan_continues(
    tmp_path: Path, number: signal.Signals, message: str
) -> None:
    study = two_runs(tmp_path)
    with study.start("--keep-going") as process:
        os.kill(study.server_under_load(process).processes[0].pid, number)
        begin = time.monotonic()
        _, errors = process.communicate(timeout=120)
    assert time.monotonic() - begin < 60  # not the time that the run would have taken
    assert process.returncode == 1, errors
    assert "Traceback" not in errors
    first, second = study.runs()
    assert first.status == "failed"
    assert str(first.cause).startswith(message)
    assert "its log ends: " in str(first.cause)
    kept = Path(str(first.cause).rpartition("; whole logs: ")[2])
    assert "Ready to accept connections" in (tmp_path / kept / "redis.log").read_text()
    assert "Ready to accept connections" in str(first.cause)
    assert second.status == "finished"
    assert study.left() == []


def test_an_outage_that_ends_is_flagged_with_its_length_and_what_befell_the_server(tmp_path: Path) -> None:
    study = Study(tmp_path, "redis")
    with study.start("--set", "fixed.operationcount=0", "--set", "fixed.maxexecutiontime=8") as process:
        server = study.server_under_load(process).processes[0].pid
        os.kill(server, signal.SIGSTOP)
        time.sleep(2)
        os.kill(server, signal.SIGCONT)
        _, errors = process.communicate(timeout=120)
    assert process.returncode in (0, 3), errors
    (run,) = study.runs()
    assert run.status == "finished"
    assert 1.9 < (run.value("longest_gap_s") or 0) < 3.5
    assert any(flag.startswith("no operation succeeded for ") for flag in run.flags), run.flags
    assert "redis stands still (SIGSTOP) for a while" in run.flags


def test_a_load_from_which_redis_evicts_fails_the_runs_that_need_it(tmp_path: Path) -> None:
    policy = '"redis.conf.maxmemory-policy" = "allkeys-random"\n"redis.conf.maxmemory" = "1500kb"'
    study = Study(tmp_path, "redis", fixed=policy)
    code, said = study.run("--keep-going", "--set", "fixed.recordcount=5000")
    assert code == 1, said
    (run,) = study.runs()
    assert run.status == "failed"
    assert "5000 inserted and acknowledged" in str(run.cause)
    assert "the server evicted " in str(run.cause)


def test_a_load_that_cannot_begin_fails_the_runs_that_need_it_alone(tmp_path: Path) -> None:
    study = Study(tmp_path, "redis", '"redis.conf.hz" = ["10", "fast"]')
    code, said = study.run("--keep-going")
    assert code == 1, said
    good, bad = study.runs()
    assert (good.status, bad.status) == ("finished", "failed")
    assert "redis ended with code 1 while it started; its log ends:" in str(bad.cause)
    assert "fast" in str(bad.cause)
    assert study.left() == []
    _, _, logs = str(bad.cause).partition("; whole logs: ")
    assert "fast" in (Path(logs) / "redis.log").read_text()
    assert not list((tmp_path / "results/snapshots").glob("*.part"))


def test_a_server_that_never_answers_a_question_fails_the_runs_that_need_it_alone(tmp_path: Path) -> None:
    study = Study(tmp_path, "redis", "\"redis.conf.requirepass\" = ['secret', '\"\"']")
    code, said = study.run("--keep-going")
    assert code == 1, said
    bad, good = study.runs()
    assert (bad.status, good.status) == ("failed", "finished")
    assert "redis did not answer within 30 s: Authentication required" in str(bad.cause)
    assert "its log ends: " in str(bad.cause)
    assert study.left() == []


def test_a_server_that_is_slower_than_the_client_waits_fails_the_run_in_its_time(tmp_path: Path) -> None:
    study = Study(tmp_path, "postgres", '"postgres.synchronous_commit" = ["on", "off"]', '"postgres.timeout_ms" = 500')
    rule = '[[when]]\n"postgres.synchronous_commit" = "on"\nset = { operationcount = 0, maxexecutiontime = 600 }\n'
    with (tmp_path / "experiment.toml").open("a") as spec:
        spec.write(rule)
    with study.start("--keep-going", "--set", "timing.run_timeout_s=40") as process:
        port = study.server_under_load(process).ports["port"]
        where = f"host=127.0.0.1 port={port} user={postgres.USER} dbname={postgres.DATABASE}"
        with subprocess.Popen(
            [postgres._tool("psql"), where, "-c", "BEGIN; LOCK TABLE usertable; SELECT pg_sleep(600)"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as lock:  # fmt: skip
            _, errors = process.communicate(timeout=300)
            assert lock.wait(timeout=60) != 0  # its server was stopped under it
    assert process.returncode == 1, errors
    late, good = study.runs()
    assert (late.status, good.status) == ("failed", "finished")
    assert "the run took longer than run_timeout_s = 40 s and was stopped; its log ends: " in str(late.cause)
    assert study.left() == []


def test_a_study_that_is_killed_takes_its_server_with_it(tmp_path: Path) -> None:
    study = two_runs(tmp_path)
    with study.start() as process:
        server = study.server_under_load(process).processes[0]
        process.kill()
        process.communicate()
    assert server.wait(time.monotonic() + 60)
    code, said = study.run("--resume", "--only", "redis.persistence=rdb")
    assert code in (0, 3), said
    assert study.left() == []


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", 12) as folder:
        yield folder


@pytest.mark.root
def test_a_full_disk_is_the_cause(tmp_path: Path, disk: Path) -> None:
    study = Study(
        tmp_path, "redis",
        fixed=f'data_path = "{disk}"\n"redis.persistence" = "aof-always"\n'
        '"redis.conf.auto-aof-rewrite-percentage" = 0',
    )  # fmt: skip
    code, said = study.run("--set", "fixed.operationcount=100000", "--set", "fixed.writeallfields=true")
    assert code == 1, said
    (run,) = study.runs()
    assert run.status == "failed"
    assert str(run.cause).startswith("redis ended with code 1")
    assert f"the file system of {disk}" in str(run.cause)
    assert "AOF write error" in str(run.cause)
    assert study.left() == []


@pytest.mark.root
def test_no_room_for_a_loaded_database_fails_its_runs_and_the_plan_continues(tmp_path: Path, disk: Path) -> None:
    study = Study(tmp_path, "postgres", fixed=f'data_path = "{disk}"')
    code, said = study.run("--keep-going", "--set", "design.replications=2")
    assert code == 1, said
    runs = study.runs()
    assert [run.status for run in runs] == ["failed", "failed"]
    assert all("cannot be restored" in str(run.cause) and "no space is left" in str(run.cause) for run in runs)
    assert study.left() == []
