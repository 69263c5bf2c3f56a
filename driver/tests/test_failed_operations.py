"""Operations that the database refuses: SQLite while another connection holds its write lock."""

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from driving import REPOSITORY, Event, drive, events_of, returns_of

SCHEMA = jsonschema.Draft202012Validator(json.loads((REPOSITORY / "schemas" / "driver-event.schema.json").read_text()))
OPERATIONS = 1000


@pytest.fixture
def place(tmp_path: Path) -> list[str]:
    """Returns a loaded SQLite database in WAL mode, where readers do not wait for a writer."""
    place = [
        "-db",
        "sqlite",
        "-p",
        f"sqlite.path={tmp_path / 'data.db'}",
        "-p",
        "recordcount=100",
        "--seed",
        "1",
    ]
    assert drive("load", *place).returncode == 0
    impatient = [
        "-p",
        "sqlite.busy_timeout_ms=0",
        "--settle-timeout-s",
        "0",
        "-p",
        f"operationcount={OPERATIONS}",
    ]
    return [*place, *impatient, f"--interval-ms={10}"]


@pytest.fixture
def locked(place: list[str], tmp_path: Path) -> Iterator[list[str]]:
    """Returns the same database while another connection writes."""
    with contextlib.closing(sqlite3.connect(tmp_path / "data.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield place


def mix(**proportions: float) -> list[str]:
    properties = {"readproportion": 0.0, "updateproportion": 0.0, **proportions}
    return [word for name, value in properties.items() for word in ("-p", f"{name}={value}")]


def test_a_run_whose_every_operation_fails_has_failed(locked: list[str], tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    done = drive("run", *locked, *mix(updateproportion=1), "-json", log)
    assert done.returncode == 1
    assert done.stdout == "", "a report of figures of nothing"
    assert re.search(
        r"1000 of 1000 operations failed \(100 %\).*failure_share_max = 1 %",
        done.stderr,
    )
    assert "UPDATE BUSY 1000" in done.stderr
    assert "database is locked" in done.stderr
    last = events_of(log.read_text())[-1]
    SCHEMA.validate(last)
    assert (last["event"], last["kind"]) == ("error", "failures")
    assert last["message"] in done.stderr


def test_a_share_of_failures_above_the_bound_fails_the_run(locked: list[str]) -> None:
    done = drive("run", *locked, *mix(readproportion=0.84, updateproportion=0.16))
    assert done.returncode == 1
    assert re.search(r"1[4-8]\d of 1000 operations failed \(1[4-8](\.\d)? %\)", done.stderr)


def finished(*arguments: str) -> tuple[list[Event], str]:
    done = drive("run", *arguments, "-json", "-")
    assert done.returncode == 0, done.stderr
    for event in events_of(done.stdout):
        SCHEMA.validate(event)
    return events_of(done.stdout), done.stderr


def test_only_operations_that_succeed_are_in_the_figures(locked: list[str]) -> None:
    half = mix(readproportion=0.5, updateproportion=0.5)
    events, notes = finished(*locked, *half, "--failure-share-max", "1")
    end = events[-1]
    reads, busy = returns_of(end)["READ"]["OK"], returns_of(end)["UPDATE"]["BUSY"]
    assert 400 < busy < 600
    assert (end["operations"], end["failures"]) == (reads, busy)
    assert reads + busy == OPERATIONS
    active = next(event for event in events if event["event"] == "active_end")
    assert active["operations"] == reads
    active_s = (active["monotonic_ns"] - active["active_start_ns"]) / 1e9
    assert end["throughput_ops_s"] == pytest.approx(reads / active_s)
    intervals = [event for event in events if event["event"] == "interval"]
    assert sum(event["operations"] for event in intervals) == intervals[-1]["operations_total"] == reads
    assert sum(event["failures"] for event in intervals) == busy
    assert end["failure_causes"][0]["count"] == busy
    assert (
        end["failure_causes"][0]["operation"],
        end["failure_causes"][0]["status"],
    ) == ("UPDATE", "BUSY")
    assert "database is locked" in end["failure_causes"][0]["words"]
    assert f"{busy} of {OPERATIONS} operations failed and are in no figure: UPDATE BUSY {busy}" in notes


def test_the_report_s_throughput_is_of_operations_that_succeeded(
    locked: list[str],
) -> None:
    half = mix(readproportion=0.5, updateproportion=0.5)
    done = drive("run", *locked, *half, "-p", "failure_share_max=1", "--quiet")
    assert done.returncode == 0, done.stderr
    figures = dict(re.findall(r"^\[(\w+, .*|\w+\], [^,]*), ([\d.]+)$", done.stdout, re.MULTILINE))
    reads = float(figures["READ], Operations"])
    seconds = float(figures["OVERALL], RunTime(ms)"]) / 1000
    # RunTime is in whole milliseconds.
    assert reads / (seconds + 0.001) <= float(figures["OVERALL], Throughput(ops/sec)"]) <= reads / seconds


def test_a_read_modify_write_whose_update_fails_is_one_operation_that_failed(
    locked: list[str],
) -> None:
    mixed = mix(readproportion=0.5, readmodifywriteproportion=0.5)
    end = finished(*locked, *mixed, "--failure-share-max", "1", "--quiet")[0][-1]
    busy = returns_of(end)["UPDATE"]["BUSY"]
    assert (end["operations"], end["failures"]) == (OPERATIONS - busy, busy)
    composed = next(latency for latency in end["latencies"] if latency["operation"] == "READ-MODIFY-WRITE")
    assert composed["count"] == 0


def test_failures_within_the_bound_are_reported_and_left_out(locked: list[str]) -> None:
    few = mix(readproportion=0.997, updateproportion=0.003)
    events, notes = finished(*locked, *few)
    assert 0 < events[-1]["failures"] <= 10
    assert events[-1]["operations"] + events[-1]["failures"] == OPERATIONS
    assert "operations failed and are in no figure" in notes
    done = drive("run", *locked, *few, "--failure-share-max", "0")
    assert done.returncode == 1
    assert "failure_share_max = 0 %" in done.stderr


def test_records_that_are_gone_are_failures(place: list[str], tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "data.db")) as other:
        other.execute("DELETE FROM usertable WHERE rowid % 2 = 0")
        other.commit()
    done = drive("run", *place, *mix(readproportion=1))
    assert done.returncode == 1
    assert re.search(r"READ NOT_FOUND \d{3}", done.stderr)


def test_the_writer_beside_db_bench_s_readers_must_write(tmp_path: Path) -> None:
    place = [
        "-db",
        "sqlite",
        "-p",
        f"sqlite.path={tmp_path / 'data.db'}",
        "-p",
        "num=100",
        "--seed",
        "1",
    ]
    place += ["-P", "readwhilewriting", "-p", "sqlite.busy_timeout_ms=0"]
    assert drive("load", *place).returncode == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "data.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        done = drive(
            "run",
            *place,
            "-p",
            "reads=20000",
            "-threads",
            "2",
            "--settle-timeout-s",
            "0",
        )
    assert done.returncode == 1
    assert "INSERT BUSY" in done.stderr


@pytest.mark.parametrize("share", ["-0.1", "1.1", "nan", "half"])
def test_an_invalid_share_is_refused(share: str) -> None:
    done = drive(
        "run",
        "-db",
        "noop",
        "-P",
        "workloadc",
        "-p",
        "operationcount=10",
        "--failure-share-max",
        share,
    )
    assert done.returncode == 2
    assert "failure_share_max" in done.stderr
