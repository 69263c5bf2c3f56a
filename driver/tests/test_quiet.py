"""Idle phases of the driver before the first operation and after settling, with an open database and no operations."""

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from driving import DRIVER, REPOSITORY, Event, drive, events_from, events_of

SCHEMA = jsonschema.Draft202012Validator(json.loads((REPOSITORY / "schemas" / "driver-event.schema.json").read_text()))
SMALL = ["-p", "recordcount=500", "-p", "operationcount=2000", "--seed", "1", "--durability", "none"]
QUIET = ["--quiet-before-s", "0.2", "--quiet-after-s", "0.1"]


def run_events(*arguments: str, database: str = "noop") -> list[Event]:
    return events_from("run", "-db", database, *SMALL, *arguments)


def only(events: list[Event], kind: str) -> Event:
    (result,) = (event for event in events if event["event"] == kind)
    return result


def broken_promises(events: list[Event]) -> list[str]:
    """Returns the requirements of an idle phase that these events violate."""
    first, last = (event for event in events if event["event"] == "quiet_end")
    begins = [event["monotonic_ns"] for event in events if event["event"] == "phase" and event["phase"] == "quiet"]
    work = [event["monotonic_ns"] for event in events if event["event"] == "phase" and event["phase"] in WORKING]
    active_end, settled = only(events, "active_end"), only(events, "settled")
    unchanged = {
        "the places": (first["place"], last["place"]) == ("before", "after"),
        "the begins": [first["quiet_start_ns"], last["quiet_start_ns"]] == begins,
        "the lengths": first["monotonic_ns"] - begins[0] >= 0.2e9 and last["monotonic_ns"] - begins[1] >= 0.1e9,
        "no work before": first["monotonic_ns"] <= min(work),
        "no operation before": first["monotonic_ns"] <= active_end["active_start_ns"],
        "settled first": settled["monotonic_ns"] <= last["quiet_start_ns"],
        "share and close later": all(last["monotonic_ns"] <= later for later in closing(events)),
        "settled": first["settled"] and last["settled"],
        "the cost": first["cpu_ns"] + last["cpu_ns"] < 0.03e9,
    }
    return [name for name, kept in unchanged.items() if not kept]


WORKING = ("warmup", "active")


def closing(events: list[Event]) -> list[int]:
    ends = ("driver_share", "close")
    return [event["monotonic_ns"] for event in events if event["event"] == "phase" and event["phase"] in ends]


@pytest.mark.parametrize("database", ["noop", "sqlite", "leveldb", "rocksdb", "lmdb", "lunar"])
def test_it_stands_still_before_the_first_operation_and_after_settling(tmp_path: Path, database: str) -> None:
    place = [] if database == "noop" else ["-p", f"{database}.path={tmp_path / 'database'}"]
    assert drive("load", "-db", database, *SMALL, *place).returncode == 0
    wanted = [*place, *QUIET, "-P", "workloada", "--warmup", "0.05", "--driver-share"]
    events = run_events(*wanted, database=database)
    for event in events:
        SCHEMA.validate(event)
    assert broken_promises(events) == []
    phases = [event["phase"] for event in events if event["event"] == "phase"]
    assert phases == ["open", "quiet", "warmup", "active", "settle", "quiet", "driver_share", "close"]


def sooner(event: Event) -> Event:
    """Returns an active interval that began during the idle phase."""
    return event | {"active_start_ns": event["active_start_ns"] - 150_000_000}


@pytest.mark.parametrize(
    ("kind", "spoil", "broken"),
    [
        ("active_end", sooner, "no operation before"),
        ("settled", lambda e: e | {"monotonic_ns": e["monotonic_ns"] + 50_000_000}, "settled first"),
        ("quiet_end", lambda e: e | {"cpu_ns": 100_000_000}, "the cost"),
        ("quiet_end", lambda e: e | {"place": "before"}, "the places"),
        ("quiet_end", lambda e: e | {"monotonic_ns": e["quiet_start_ns"] + 90_000_000}, "the lengths"),
    ],
)
def test_the_judge_of_standing_still_rejects(kind: str, spoil: Callable[[Event], Event], broken: str) -> None:
    events = run_events(*QUIET)
    assert broken_promises(events) == []
    spoilt = [spoil(event) if event["event"] == kind else event for event in events]
    assert broken in broken_promises(spoilt)


def test_without_being_asked_it_does_not_stand_still() -> None:
    events = run_events()
    assert not [event for event in events if event["event"] == "quiet_end" or event.get("phase") == "quiet"]


@pytest.mark.parametrize(("option", "place"), [("--quiet-before-s", "before"), ("--quiet-after-s", "after")])
def test_each_side_can_be_had_alone(option: str, place: str) -> None:
    assert only(run_events(option, "0.05"), "quiet_end")["place"] == place


def test_what_opening_leaves_to_do_is_done_before_it_stands_still(tmp_path: Path) -> None:
    """A killed driver leaves a log, which SQLite must process before the idle phase."""
    place = ["-p", f"sqlite.path={tmp_path / 'database'}", "-p", "sqlite.journal_mode=WAL", "-P", "write-intensive"]
    assert drive("load", "-db", "sqlite", *SMALL, *place).returncode == 0
    endless = ["-p", "operationcount=0", "-p", "maxexecutiontime=1000"]
    killed = subprocess.Popen([DRIVER, "run", "-db", "sqlite", *SMALL, *place, *endless, "--quiet"])
    left = tmp_path / "database-wal"
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not (left.exists() and left.stat().st_size > 100_000):
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    assert left.stat().st_size > 100_000
    events = run_events(*place, *QUIET, database="sqlite")
    quiet_ns = next(event["quiet_start_ns"] for event in events if event["event"] == "quiet_end")
    checkpoints = [event for event in events if event["event"] == "database" and event["kind"] == "checkpoint"]
    assert checkpoints
    assert checkpoints[0]["monotonic_ns"] < quiet_ns


@pytest.mark.parametrize("database", ["sqlite", "leveldb", "rocksdb", "lmdb", "lunar"])
def test_standing_still_leaves_the_run_as_it_was(tmp_path: Path, database: str) -> None:
    """Equal seeds on equal loads give equal work: the engine's counts from active to settled are equal."""
    result = []
    for name, arguments in (("still", QUIET), ("not", [])):
        place = ["-p", f"{database}.path={tmp_path / name}"]
        assert drive("load", "-db", database, *SMALL, *place).returncode == 0
        events = run_events(*place, *arguments, "-P", "workloada", database=database)
        end = events[-1]
        parts = {n: {k: v for k, v in p.items() if k != "duration_ns"} for n, p in end["components"].items()}
        counts = {each["operation"]: each["returns"] for each in end["latencies"]}
        done = {name: end[name] for name in ("payload_read_bytes", "payload_write_bytes", "read_before_write")}
        result.append((parts, counts, done))
    assert result[0] == result[1]


def test_the_operations_are_the_same_as_without() -> None:
    assert run_events(*QUIET, "-P", "workloada")[-1]["checksum"] == run_events("-P", "workloada")[-1]["checksum"]


@pytest.mark.parametrize("option", ["--quiet-before-s", "--quiet-after-s"])
def test_an_interruption_ends_it_at_once(tmp_path: Path, option: str) -> None:
    log = tmp_path / "run.jsonl"
    line = [DRIVER, "run", "-db", "noop", *SMALL, option, "1000", "-json", str(log)]
    process = subprocess.Popen(line, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not (log.exists() and '"quiet"' in log.read_text()):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=30)
    assert process.returncode == 130
    assert message.decode() == "edgejoule-driver: interrupted (SIGINT)\n"
    *before, last = events_of(log.read_text())
    SCHEMA.validate(last)
    assert (last["event"], last["kind"]) == ("error", "interrupted")
    assert not [event for event in before if event["event"] == "quiet_end"]


@pytest.mark.parametrize(
    ("command", "arguments", "expected"),
    [
        ("load", ["--quiet-before-s", "1"], "--quiet-before-s: only for run"),
        ("load", ["--quiet-after-s", "1"], "--quiet-after-s: only for run"),
        ("run", ["--quiet-before-s", "-1"], "--quiet-before-s -1: expected a number from 0"),
        ("run", ["--quiet-after-s", "nan"], "--quiet-after-s nan: expected a number from 0"),
    ],
)
def test_invalid_options_are_refused_in_one_line(command: str, arguments: list[str], expected: str) -> None:
    done = drive(command, "-db", "noop", *SMALL, *arguments)
    assert done.returncode == 2
    assert expected in done.stderr
    assert len(done.stderr.splitlines()) == 1
