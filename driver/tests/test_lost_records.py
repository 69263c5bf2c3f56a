"""A load fails if some of its records are lost, or if its server loses them."""

import contextlib
import re
import shutil
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import DRIVER, Event, drive, events_from, events_of

RECORDS = 1000
COUNTING = ["lmdb", "lunar", "sqlite"]


def load(database: str, path: Path, *more: str) -> list[str]:
    place = ["-db", database, "-p", f"{database}.path={path}", "-p", f"recordcount={RECORDS}", "--seed", "1"]
    return ["load", *place, *more]


@pytest.mark.parametrize("database", COUNTING)
def test_a_load_is_counted_at_the_database(database: str, tmp_path: Path) -> None:
    end = events_from(*load(database, tmp_path / "data", "-p", "batchsize=100", "--durability", "power"))[-1]
    assert (end["records_before"], end["operations"], end["records"]) == (0, RECORDS, RECORDS)


def test_a_second_load_is_counted_beside_the_first(tmp_path: Path) -> None:
    events_from(*load("sqlite", tmp_path / "data", "-p", "insertcount=600"))
    rest = ("-p", "insertstart=600", "-p", "insertcount=400")
    end = events_from(*load("sqlite", tmp_path / "data", *rest))[-1]
    assert (end["records_before"], end["operations"], end["records"]) == (600, 400, 1000)


def test_a_load_of_the_same_keys_replaces_records_and_loses_none(tmp_path: Path) -> None:
    events_from(*load("lmdb", tmp_path / "data"))
    end = events_from(*load("lmdb", tmp_path / "data"))[-1]
    assert (end["records_before"], end["records"]) == (RECORDS, RECORDS)


def test_a_load_whose_records_do_not_stay_has_failed_with_the_counts(tmp_path: Path) -> None:
    # A trigger removes every row whose key ends with a 7 after its acknowledged insert.
    events_from(*load("sqlite", tmp_path / "data", "-p", "insertcount=1"))
    with contextlib.closing(sqlite3.connect(tmp_path / "data")) as other:
        other.execute("DELETE FROM usertable")
        other.execute(
            "CREATE TRIGGER lose AFTER INSERT ON usertable WHEN NEW.YCSB_KEY LIKE '%7' "
            "BEGIN DELETE FROM usertable WHERE YCSB_KEY = NEW.YCSB_KEY; END"
        )
        other.commit()
    done = drive(*load("sqlite", tmp_path / "data"), "-json", tmp_path / "log")
    assert done.returncode == 1
    assert "[OVERALL]" not in done.stdout
    assert re.search(
        r"the load is not complete: 0 records before, 1000 inserted and acknowledged, [89]\d\d",
        done.stderr,
    )
    last = events_of((tmp_path / "log").read_text())[-1]
    assert (last["event"], last["kind"]) == ("error", "wrong_data")


class Redis:
    """A server in a temporary folder."""

    def __init__(self, folder: Path, *more: str) -> None:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        self.command = ["redis-server", "--port", str(self.port), "--dir", str(folder), "--save", "", *more]
        self.process = self.started()

    def started(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return process
            time.sleep(0.02)
        raise TimeoutError("redis-server does not answer")

    def restart(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process = self.started()

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def asked(self, *arguments: str) -> str:
        tool = ["redis-cli", "-p", str(self.port), *arguments]
        return subprocess.run(tool, capture_output=True, text=True, check=True).stdout.strip()

    def place(self, *more: str) -> list[str]:
        return ["-db", "redis", "-p", f"redis.port={self.port}", "-p", "redis.reconnect_ms=10000", "--seed", "1", *more]


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    server = Redis(tmp_path)
    yield server
    server.stop()


def records(count: int) -> list[str]:
    return ["-p", f"recordcount={count}", "-p", "fieldcount=2", "-p", "fieldlength=100"]


def driven(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([DRIVER, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def await_keys(redis: Redis, count: int) -> None:
    end = time.monotonic() + 60
    while int(redis.asked("DBSIZE").split()[-1]) < count:
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.server
def test_a_load_in_which_redis_is_restarted_empty_has_failed(redis: Redis) -> None:
    with driven("load", *redis.place(*records(60_000), "-target", "20000")) as loading:
        await_keys(redis, 5000)
        redis.restart()
        out, said = loading.communicate(timeout=120)
    assert loading.returncode == 1
    assert "[OVERALL]" not in out
    # The connection may break in an insert, which fails the load by itself.
    assert "the server was restarted" in said or "INSERT of user" in said, said


@pytest.mark.server
def test_a_load_is_counted_at_redis_between_two_of_its_batches(redis: Redis) -> None:
    """The restart happens between two inserts of the only connection, so no operation fails."""
    arguments = records(3000)
    with driven(
        "load", *redis.place(*arguments, "-target", "500", "-p", "core_workload_insertion_retry_limit=9")
    ) as loading:
        await_keys(redis, 1000)
        redis.restart()
        out, said = loading.communicate(timeout=120)
    assert loading.returncode == 1
    assert "[OVERALL]" not in out
    assert re.search(r"0 records before, 3000 inserted and acknowledged, [12]\d\d\d now", said)
    assert "the server was restarted" in said


@pytest.mark.server
def test_a_load_that_redis_evicts_from_has_failed_with_the_counts(redis: Redis) -> None:
    redis.asked("CONFIG", "SET", "maxmemory", "6mb")
    redis.asked("CONFIG", "SET", "maxmemory-policy", "allkeys-random")
    done = drive("load", *redis.place(*records(30_000)))
    assert done.returncode == 1
    assert re.search(r"30000 inserted and acknowledged, \d+ now", done.stderr)
    assert re.search(r"the server evicted \d+ keys \(maxmemory 6291456, maxmemory-policy allkeys-random\)", done.stderr)


def finished(*arguments: str) -> tuple[Event, str]:
    done = drive("run", *arguments, "-json", "-", timeout_s=120)
    assert done.returncode == 0, done.stderr
    return events_of(done.stdout)[-1], done.stderr


@pytest.mark.server
def test_a_run_reports_that_the_server_was_restarted_and_for_how_long_nothing_succeeded(redis: Redis) -> None:
    redis.asked("CONFIG", "SET", "appendonly", "yes")
    assert drive("load", *redis.place(*records(100))).returncode == 0
    redis.command += ["--appendonly", "yes"]
    arguments = redis.place(*records(100), "-P", "workloada", "-p", "operationcount=0", "-p", "maxexecutiontime=6")
    with driven("run", *arguments, "-p", "failure_share_max=1", "-json", "-") as running:
        time.sleep(1.5)
        redis.stop()
        time.sleep(2)
        redis.process = redis.started()
        out, said = running.communicate(timeout=120)
    assert running.returncode == 0, said
    end = events_of(out)[-1]
    assert end["incidents"] == ["the server was restarted"]
    assert 1.9e9 < end["longest_gap_ns"] < 4e9
    assert re.search(r"no operation succeeded for [23]\.\d+ s, from [01]\.\d+ s on", said)
    assert "the server was restarted" in said


@pytest.mark.server
def test_a_run_reports_that_redis_evicted_records(redis: Redis) -> None:
    assert drive("load", *redis.place(*records(3000))).returncode == 0
    redis.asked("CONFIG", "SET", "maxmemory-policy", "allkeys-random")
    mix = ("-p", "readproportion=1", "-p", "updateproportion=0", "-p", "operationcount=20000", "-target", "10000")
    with driven("run", *redis.place(*records(3000), *mix, "-p", "failure_share_max=1", "-json", "-")) as running:
        time.sleep(0.7)
        redis.asked("CONFIG", "SET", "maxmemory", "1500000")
        out, said = running.communicate(timeout=60)
    assert running.returncode == 0, said
    (incident,) = events_of(out)[-1]["incidents"]
    assert re.match(r"the server evicted \d+ keys", incident)
    assert incident.partition(" (")[0] in said


@pytest.mark.server
def test_scans_of_redis_without_an_index_are_refused_when_it_is_opened(redis: Redis) -> None:
    assert drive("load", *redis.place(*records(100), "-p", "redis.index=none")).returncode == 0
    done = drive("run", *redis.place(*records(100), "-P", "workloade", "-p", "operationcount=100"))
    assert done.returncode == 1
    assert "it was loaded with redis.index=none, or the index was evicted" in done.stderr
    finished(*redis.place(*records(100), "-P", "workloadc", "-p", "operationcount=100", "-p", "redis.index=none"))


@pytest.mark.server
def test_scans_whose_index_is_evicted_meanwhile_fail_the_run(redis: Redis) -> None:
    assert drive("load", *redis.place(*records(500))).returncode == 0
    arguments = redis.place(
        *records(500), "-p", "scanproportion=1", "-p", "readproportion=0", "-p", "updateproportion=0"
    )
    with driven("run", *arguments, "-p", "operationcount=4000", "-target", "2000") as running:
        time.sleep(0.7)
        redis.asked("DEL", "_indices")
        _, said = running.communicate(timeout=60)
    assert running.returncode == 1
    assert re.search(r"SCAN NOT_FOUND \d+", said)
