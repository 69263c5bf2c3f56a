"""Compactions of the rocksdb adapter on another server: with a real worker on loopback, and without one."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from driving import DRIVER, Event, drive, events_from

ECOD = DRIVER.with_name("ecod")
SMALL = "write_buffer_size=262144;level0_file_num_compaction_trigger=2;max_background_jobs=2"
RECORDS = 20_000

needs_eco = pytest.mark.skipif(not ECOD.exists(), reason="eco is not built")


@contextmanager
def worker(scratch: Path) -> Iterator[str]:
    """Returns its address."""
    process = subprocess.Popen(
        [ECOD, "worker", "--scratch", scratch], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert "port" in said, said
        yield f"127.0.0.1:{said.split('port')[1].split()[0]}"
    finally:
        process.terminate()
        process.wait(timeout=20)


def nobody() -> str:
    """Returns an address where no process listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def arguments(data: Path, *options: str) -> list[str]:
    values = (f"rocksdb.path={data}", f"rocksdb.options={SMALL}", f"recordcount={RECORDS}", "dataintegrity=true")
    return ["-db", "rocksdb", *[word for value in (*values, *options) for word in ("-p", value)]]


def last_of(events: list[Event], kind: str) -> Event:
    return [event for event in events if event["event"] == kind][-1]


def every_key_is_there(data: Path, *options: str) -> None:
    reads = ("requestdistribution=sequential", f"operationcount={RECORDS}")
    end = last_of(events_from("run", "-P", "workloadc", *arguments(data, *options, *reads)), "end")
    assert (end["operations"], end["not_found"], end["verify_failures"]) == (RECORDS, 0, 0)


@needs_eco
def test_a_worker_compacts_and_no_row_is_lost(tmp_path: Path) -> None:
    with worker(tmp_path / "scratch") as address:
        eco = f"rocksdb.eco_worker={address}"
        events = events_from("load", "-P", "workloada", *arguments(tmp_path / "data", eco))
        start, end = last_of(events, "start"), last_of(events, "end")
        assert start["database"]["options"]["eco"] == f"eco_worker={address}"
        stats = end["database_stats"]
        assert int(stats["eco.installed"]) > 0, stats["eco.last_reason"]
        assert int(stats["eco.asked"]) == sum(int(stats[f"eco.{what}"]) for what in ("kept", "installed", "fell_back"))
        assert end["components"]["remote_compaction"]["count"] == int(stats["eco.installed"])
        assert end["components"]["remote_compaction"]["count"] <= end["components"]["compaction"]["count"]
        assert last_of(events, "settled")["complete"]
        every_key_is_there(tmp_path / "data", eco)
    every_key_is_there(tmp_path / "data")


@needs_eco
@pytest.mark.parametrize("property_name", ["eco_worker", "eco_node"])
def test_without_anybody_there_rocksdb_compacts_itself(property_name: str, tmp_path: Path) -> None:
    address = nobody() if property_name == "eco_worker" else f"unix:{tmp_path}/none.sock"
    load = events_from("load", "-P", "workloada", *arguments(tmp_path / "data", f"rocksdb.{property_name}={address}"))
    end = last_of(load, "end")
    assert int(end["database_stats"]["eco.asked"]) > 0
    assert end["components"]["remote_compaction"]["count"] == int(end["database_stats"]["eco.installed"]) == 0
    assert end["components"]["compaction"]["count"] > 0
    every_key_is_there(tmp_path / "data")


def test_a_run_without_eco_reports_nothing_of_it(tmp_path: Path) -> None:
    events = events_from("load", "-P", "workloada", *arguments(tmp_path / "data"))
    end = last_of(events, "end")
    assert "remote_compaction" not in end["components"]
    assert "eco" not in last_of(events, "start")["database"]["options"]
    assert not [name for name in end["database_stats"] if name.startswith("eco.")]
    assert end["components"]["stall"]["duration_ns"] >= 0


@needs_eco
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["rocksdb.eco_worker=a:1", "rocksdb.eco_node=unix:b"], "are both set"),
        (["rocksdb.eco_workers=a:1"], "eco_worker"),
        (["rocksdb.eco_settings=/no/such.toml"], "/no/such.toml"),
        (["rocksdb.eco_settings=broken.toml"], "broken.toml:1: workers: unknown key"),
    ],
)
def test_impossible_settings_are_refused(options: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text('workers = "a:1"\n')
    done = drive("load", "-P", "workloada", *arguments(tmp_path / "data", *options), "--quiet", cwd=tmp_path)
    assert done.returncode != 0
    assert said in done.stderr
