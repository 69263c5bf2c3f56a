"""The driver can use databases that Java YCSB has loaded, and the reverse: no record is missing and no value is wrong.

Java YCSB accesses SQLite and RocksDB through our bindings with the tables of YCSB's own (java/.../SqliteDB.java,
RocksJniDB.java). Both sides create values by the rule of dataintegrity and verify every row that they read. One
function judges the runs of both sides; readers with other names or values are its mutants.
"""

import contextlib
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from driving import drive
from java_ycsb import Properties, java, properties, ycsb
from ycsb_laws import fnv
from ycsb_text import returned, returns_of

pytestmark = pytest.mark.java

RECORDS = 500
OPERATIONS = 500
WORKLOADS = Path(__file__).resolve().parents[1] / "workloads"
LOADED = properties(zeropadding=22, fieldcount=5, fieldlength=50, dataintegrity="true")


@dataclass(frozen=True)
class Place:
    """The location of a database, as options of both sides."""

    database: str
    path: Path

    @property
    def for_java(self) -> tuple[str, Properties]:
        if self.database == "sqlite":
            return "edgejoule.ycsb.SqliteDB", properties(db__url=f"jdbc:sqlite:{self.path}")
        return "edgejoule.ycsb.RocksJniDB", properties(rocksdb__dir=self.path)

    def keys(self) -> list[str]:
        """Returns all keys in order, because neither the driver nor YCSB prints them."""
        if self.database == "rocksdb":
            return java("edgejoule.ycsb.Keys", str(self.path), "usertable").stdout.splitlines()
        with contextlib.closing(sqlite3.connect(self.path)) as opened:
            return [key for (key,) in opened.execute("SELECT YCSB_KEY FROM usertable ORDER BY YCSB_KEY")]


@dataclass(frozen=True)
class Done:
    """The report of one side, and its failure, if any."""

    report: str
    failure: str = ""

    @property
    def faults(self) -> dict[str, int]:
        """Calls that did not return OK, by operation and status; empty: nothing was missing or wrong."""
        faults = {f"{section} {status}": count for section, status, count in returns_of(self.report) if status != "OK"}
        return faults | ({self.failure: 1} if self.failure else {})

    @property
    def inserted(self) -> int:
        return returned(self.report, "INSERT")


def by_java(command: str, place: Place, values: Properties, workload: str = "c") -> Done:
    name, where = place.for_java
    file = WORKLOADS / f"workload{workload}"
    return Done(ycsb(command, name, LOADED + where + values, options=["-P", file]))


def by_driver(command: str, place: Place, values: Properties, workload: str = "c", for_java: bool = True) -> Done:
    where = properties(**{f"{place.database}__path": place.path})
    where += properties(failure_share_max=1)  # the tests compare the counts of failed operations themselves
    if for_java and command == "load" and place.database == "rocksdb":  # the other databases have one layout
        where += properties(rocksdb__column_family="usertable")
    assignments = [word for name, value in LOADED + where + values for word in ("-p", f"{name}={value}")]
    file = WORKLOADS / f"workload{workload}"
    options = ["-threads", "3", "--seed", "1", "--quiet"]
    done = drive(command, "-db", place.database, "-P", file, *options, *assignments)
    assert done.returncode in (0, 1), done.stderr
    return Done(done.stdout, done.stderr.strip())


SIDES = {"java": by_java, "driver": by_driver}
PAIRS = [("java", "driver"), ("driver", "java")]


@pytest.fixture(params=["sqlite", "rocksdb"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(request.param, tmp_path / "database")


def load(side: str, place: Place, records: int = RECORDS, **values: object) -> None:
    done = SIDES[side]("load", place, properties(recordcount=records, **values))
    assert done.faults == {}
    assert done.inserted == records


def run(side: str, place: Place, workload: str, records: int, **values: object) -> Done:
    values = {"recordcount": records, "operationcount": OPERATIONS} | values
    return SIDES[side]("run", place, properties(**values), workload)


def read_all(side: str, place: Place, records: int, **values: object) -> Done:
    """Reads and verifies every record once."""
    return run(side, place, "c", records, operationcount=records, requestdistribution="sequential", **values)


def names(records: int) -> list[str]:
    """Returns the keys of that many records, by a third implementation of YCSB's rule."""
    return sorted(f"user{number:022}" for number in fnv(np.arange(records)))


def check_whole(place: Place, records: int) -> None:
    """Checks that exactly the records exist, and that both sides read the right values."""
    assert place.keys() == names(records)
    for side in SIDES:
        done = read_all(side, place, records)
        assert done.faults == {}, side
        assert returned(done.report, "READ") == returned(done.report, "VERIFY") == records, side


@pytest.mark.parametrize(("loader", "runner"), PAIRS, ids=["java loads", "driver loads"])
def test_no_record_is_missing_or_wrong_for_the_other_side(place: Place, loader: str, runner: str) -> None:
    load(loader, place)
    records = RECORDS
    for letter in "abcdef":
        done = run(runner, place, letter, records)
        assert done.faults == {}, letter
        reads = returned(done.report, "READ")
        assert returned(done.report, "VERIFY") == reads, letter
        # A read-modify-write counts as a read and an update.
        updates = returned(done.report, "UPDATE") if letter != "f" else 0
        assert reads + updates + done.inserted + returned(done.report, "SCAN") == OPERATIONS, letter
        assert (done.inserted > 0) == (letter in "de"), letter
        records += done.inserted
    check_whole(place, records)


def test_both_sides_insert_further_records_in_turn(place: Place) -> None:
    load("java", place)
    records = RECORDS
    for side in ("driver", "java", "driver", "java"):
        done = run(side, place, "d", records, readproportion=0.5, insertproportion=0.5)
        assert done.faults == {}, side
        assert done.inserted > OPERATIONS // 3, side
        records += done.inserted
    check_whole(place, records)


@pytest.mark.parametrize(("loader", "runner"), PAIRS, ids=["java loads", "driver loads"])
def test_values_of_any_length_are_read_by_the_other_side(place: Place, loader: str, runner: str) -> None:
    law: dict[str, Any] = {"dataintegrity": "false", "fieldlengthdistribution": "uniform", "fieldlength": 300}
    load(loader, place, **law)
    for letter in "af":
        assert run(runner, place, letter, RECORDS, **law).faults == {}, letter
    for side in SIDES:
        done = read_all(side, place, RECORDS, **law)
        assert (done.faults, returned(done.report, "READ")) == ({}, RECORDS), side


@pytest.mark.parametrize(("loader", "runner"), PAIRS, ids=["java loads", "driver loads"])
def test_the_judge_rejects_readers_of_other_names_and_values(place: Place, loader: str, runner: str) -> None:
    load(loader, place)
    assert read_all(runner, place, RECORDS).faults == {}
    for other in ({"zeropadding": 21}, {"insertorder": "ordered"}):
        assert read_all(runner, place, RECORDS, dataintegrity="false", **other).faults == {"READ NOT_FOUND": RECORDS}
        assert read_all(runner, place, RECORDS, **other).faults, other
    assert read_all(runner, place, RECORDS + 1, dataintegrity="false").faults == {"READ NOT_FOUND": 1}
    assert read_all(runner, place, RECORDS + 1).faults
    assert read_all(runner, place, RECORDS, fieldlength=51).faults


def test_the_judge_rejects_a_database_in_another_column_family(tmp_path: Path) -> None:
    place = Place("rocksdb", tmp_path / "database")
    assert by_driver("load", place, properties(recordcount=RECORDS), for_java=False).faults == {}
    assert read_all("driver", place, RECORDS).faults == {}
    assert read_all("java", place, RECORDS, dataintegrity="false").faults == {"READ NOT_FOUND": RECORDS}
