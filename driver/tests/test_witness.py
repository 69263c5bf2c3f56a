"""The driver's operation counts equal the database's own: RocksDB's tickers, SQLite's changes, LMDB's commits and
entries, LevelDB's log, lunar's flushes.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from driving import Event, done_of, events_from

RECORDS = 1000
OPERATIONS = 3000

Counts = dict[str, int]


def end_of(command: str, database: str, data: Path, *arguments: str, records: int = RECORDS) -> Event:
    # Class none: the counts do not depend on syncs, but the time does.
    line = [command, "-db", database, "-p", f"{database}.path={data}", "--durability", "none"]
    sizes = ["-p", f"recordcount={records}", "-p", f"operationcount={OPERATIONS}", "--seed", "7"]
    return events_from(*line, *sizes, *arguments)[-1]


def ticker(end: Event, name: str) -> int:
    return int(end["database_stats"][f"rocksdb.{name}"])


def counted_by_rocksdb(end: Event) -> Counts:
    return {
        "gets": ticker(end, "number.keys.read"),
        "puts": ticker(end, "number.keys.written"),
        "seeks": ticker(end, "number.db.seek"),
    }


def counted_by_driver(end: Event) -> Counts:
    """Returns the driver's counts under RocksDB's names: an update reads the row before it writes it."""
    return {
        "gets": done_of(end, "READ") + end["read_before_write"],
        "puts": done_of(end, "UPDATE") + done_of(end, "INSERT"),
        "seeks": done_of(end, "SCAN"),
    }


def adds_up(end: Event, counted: Callable[[Event], Counts]) -> bool:
    return counted(end) == counted_by_driver(end)


def loaded(database: str, data: Path, *arguments: str) -> Event:
    end = end_of("load", database, data, "-P", "workloada", *arguments)
    assert end["operations"] == RECORDS
    return end


def runs_of_all_workloads(database: str, data: Path, *arguments: str) -> Iterator[tuple[str, Event, int]]:
    """Yields a workload, the end event of its run, and the number of records then; each run continues with the data of
    those before.
    """
    records = RECORDS
    for letter in "abcdef":
        end = end_of("run", database, data, "-P", f"workload{letter}", *arguments, records=records)
        records += done_of(end, "INSERT")
        assert end["failures"] == end["not_found"] == 0, letter
        yield letter, end, records


STATISTICS = ["-p", "rocksdb.statistics=true"]
FULL = ["-p", "lunar.mode=full"]


@pytest.mark.parametrize("threads", ["1", "3"])
def test_rocksdb_counts_the_operations_the_driver_counts(tmp_path: Path, threads: str) -> None:
    data = tmp_path / "data"
    end = loaded("rocksdb", data, *STATISTICS, "-threads", threads)
    assert counted_by_rocksdb(end) == {"gets": 0, "puts": RECORDS, "seeks": 0}
    for letter, end, _ in runs_of_all_workloads("rocksdb", data, *STATISTICS, "-threads", threads):
        assert counted_by_rocksdb(end) == counted_by_driver(end), letter
        assert end["read_before_write"] == done_of(end, "UPDATE"), letter
        # A read-modify-write is a read and an update.
        operations = sum(done_of(end, name) for name in ("READ", "UPDATE", "INSERT", "SCAN"))
        assert operations - done_of(end, "READ-MODIFY-WRITE") == end["operations"] == OPERATIONS, letter


def test_the_comparison_rejects_one_operation_more_or_less(tmp_path: Path) -> None:
    data = tmp_path / "data"
    loaded("rocksdb", data)
    end = end_of("run", "rocksdb", data, "-P", "workloada", *STATISTICS)
    assert adds_up(end, counted_by_rocksdb)
    for name in ("rocksdb.number.keys.read", "rocksdb.number.keys.written", "rocksdb.number.db.seek"):
        for wrong in (-1, 1):
            stats = end["database_stats"] | {name: str(int(end["database_stats"][name]) + wrong)}
            assert not adds_up(end | {"database_stats": stats}, counted_by_rocksdb)
    assert not adds_up(end | {"read_before_write": 0}, counted_by_rocksdb)


@pytest.mark.parametrize("batch", ["1", "100"])
def test_a_batch_is_as_many_records_and_one_write(tmp_path: Path, batch: str) -> None:
    end = loaded("rocksdb", tmp_path / "data", *STATISTICS, "-p", f"batchsize={batch}")
    assert ticker(end, "number.keys.written") == RECORDS
    assert ticker(end, "write.self") == RECORDS // int(batch)
    assert done_of(end, "INSERT") == RECORDS


@pytest.mark.parametrize("threads", ["1", "3"])
def test_sqlite_changes_the_rows_the_driver_writes(tmp_path: Path, threads: str) -> None:
    data = tmp_path / "data"
    assert int(loaded("sqlite", data, "-threads", threads)["database_stats"]["total_changes"]) == RECORDS
    for letter, end, _ in runs_of_all_workloads("sqlite", data, "-threads", threads):
        written = done_of(end, "UPDATE") + done_of(end, "INSERT")
        assert int(end["database_stats"]["total_changes"]) == written, letter


@pytest.mark.parametrize("threads", ["1", "3"])
def test_lmdb_commits_and_keeps_what_the_driver_writes(tmp_path: Path, threads: str) -> None:
    data = tmp_path / "data"
    end = loaded("lmdb", data, "-threads", threads)
    commits = RECORDS
    assert int(end["database_stats"]["last_txnid"]) == commits
    for letter, end, entries in runs_of_all_workloads("lmdb", data, "-threads", threads):
        commits += done_of(end, "UPDATE") + done_of(end, "INSERT")
        assert int(end["database_stats"]["last_txnid"]) == commits, letter
        assert int(end["database_stats"]["entries"]) == entries, letter


def test_leveldb_logs_each_record_the_driver_writes(tmp_path: Path) -> None:
    """LevelDB has no counter, but with rows of one size its log grows by the same bytes for each."""
    sizes = ["-p", "fieldcount=1", "-p", "fieldlength=100", "-p", "writeallfields=true"]
    load = end_of("load", "leveldb", tmp_path / "data", "-P", "workloada", *sizes)
    record_bytes = load["components"]["wal"]["write_bytes"] / RECORDS
    for workload in ("workloada", "workloadf"):
        run = end_of("run", "leveldb", tmp_path / "data", "-P", workload, *sizes)
        records = run["components"]["wal"]["write_bytes"] / record_bytes
        assert records == pytest.approx(done_of(run, "UPDATE"), rel=0.002)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_lunar_flushes_once_for_each_write_of_the_driver_and_for_nothing_else_but_checkpoints(
    tmp_path: Path, threads: str
) -> None:
    """Each write is a transaction. A checkpoint has its own flush, and at most one before it."""
    data = tmp_path / "data"
    loaded("lunar", data, "-threads", threads, *FULL)
    for letter, end, _ in runs_of_all_workloads("lunar", data, "-threads", threads, *FULL):
        written = done_of(end, "UPDATE") + done_of(end, "INSERT")
        flushes = int(end["database_stats"]["device_flushes"])
        checkpoints = end["components"]["checkpoint"]["count"]
        of_opening_and_settling = 10
        assert written <= flushes <= written + 2 * checkpoints + of_opening_and_settling, letter
