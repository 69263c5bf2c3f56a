"""A database whose files are truncated before or during a run ends it with a message, not with a signal."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from driving import DRIVER, drive

RECORDS = 5000


@pytest.fixture
def lmdb(tmp_path: Path) -> Path:
    done = drive("load", "-db", "lmdb", "-p", f"lmdb.path={tmp_path}", "-p", f"recordcount={RECORDS}", "--quiet")
    assert done.returncode == 0, done.stderr
    return tmp_path / "data.mdb"


def reads_of(file: Path) -> list[str]:
    shape = ["-P", "workloadc", "-p", f"recordcount={RECORDS}", "-p", "operationcount=20000"]
    return ["run", "-db", "lmdb", "-p", f"lmdb.path={file.parent}", *shape, "--quiet"]


@pytest.mark.parametrize("part", [0.9, 0.5, 0.1, 0.003])
def test_an_lmdb_file_that_was_cut_after_the_load_is_refused_with_both_sizes(lmdb: Path, part: float) -> None:
    whole = lmdb.stat().st_size
    cut = int(whole * part) // 4096 * 4096
    os.truncate(lmdb, cut)
    done = drive(*reads_of(lmdb))
    print(done.returncode, done.stderr)
    assert done.returncode == 1
    assert done.stderr.startswith("edgejoule-driver: LMDB: ")
    assert f"{lmdb} has {cut} bytes, but its database {whole}: it was truncated; load again" in done.stderr


def test_an_empty_lmdb_file_is_no_database_to_run_on(lmdb: Path) -> None:
    os.truncate(lmdb, 0)
    done = drive(*reads_of(lmdb))
    assert done.returncode == 1
    assert "data.mdb is empty" in done.stderr


def test_an_lmdb_file_that_is_whole_is_taken(lmdb: Path) -> None:
    assert drive(*reads_of(lmdb)).returncode == 0


def test_an_lmdb_file_that_is_cut_during_a_run_ends_it_with_a_message(lmdb: Path) -> None:
    endless = ["-p", "operationcount=0", "-p", "maxexecutiontime=30"]
    with subprocess.Popen([DRIVER, *reads_of(lmdb), *endless], stderr=subprocess.PIPE, text=True) as running:
        time.sleep(1)
        os.truncate(lmdb, lmdb.stat().st_size // 20 // 4096 * 4096)
        _, stderr = running.communicate(timeout=30)
    assert running.returncode == 1
    assert stderr.endswith("the file was truncated, or its disk failed; load again\n")


@pytest.mark.parametrize("database", ["sqlite", "lmdb"])
def test_a_second_driver_on_the_same_database_is_refused_with_the_number_of_the_first(
    database: str, tmp_path: Path
) -> None:
    path = ["-db", database, "-p", f"{database}.path={tmp_path / 'data'}", "-p", "recordcount=100", "--quiet"]
    assert drive("load", *path).returncode == 0
    endless = ["-p", "operationcount=0", "-p", "maxexecutiontime=30", "-p", "target=100"]
    with subprocess.Popen([DRIVER, "run", *path, *endless], stdout=subprocess.DEVNULL) as first:
        time.sleep(1)
        refused = drive("run", *path, "-p", "operationcount=10")
        first.terminate()
    assert refused.returncode == 1
    assert f"is in use by another edgejoule-driver (process {first.pid})" in refused.stderr
    assert f"set {database}.allow_concurrent=true for both" in refused.stderr
    assert drive("run", *path, "-p", "operationcount=10").returncode == 0
