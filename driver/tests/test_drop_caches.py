"""--drop-caches: a run begins without the database in memory, or reports that it cannot."""

import json
import mmap
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CDLL, addressof, c_char, c_size_t, c_void_p
from pathlib import Path

import jsonschema
import pytest
from driving import NOBODY, REPOSITORY, TESTER, Caller, Event, drive, events_of

SCHEMA = jsonschema.Draft202012Validator(json.loads((REPOSITORY / "schemas" / "driver-event.schema.json").read_text()))
EMBEDDED = ["sqlite", "leveldb", "rocksdb", "lmdb", "lunar"]
RECORDS = 20_000
PAYLOAD_BYTES = RECORDS * 1000


@pytest.fixture
def data() -> Iterator[Path]:
    """Returns a folder on a disk, since a tmpfs cannot be dropped. The user of the test can work in it."""
    directory = Path(tempfile.mkdtemp(prefix="edgejoule-caches-", dir="/var/tmp"))
    if os.geteuid() == 0:
        os.chown(directory, NOBODY, NOBODY)
    yield directory
    shutil.rmtree(directory)


def ask(
    command: str, database: str, data: Path, *arguments: str, caller: Caller = TESTER
) -> subprocess.CompletedProcess[str]:
    counts = ["-p", f"recordcount={RECORDS}", "-p", f"operationcount={RECORDS}"]
    every_key = ["-P", "workloadc", "-p", "requestdistribution=sequential", *counts]
    where = ["-p", f"{database}.path={data}"] if database != "noop" else []
    return drive(command, "-db", database, *every_key, *where, "--quiet", "-json", "-", *arguments, caller=caller)


def load(database: str, data: Path, caller: Caller = TESTER) -> None:
    done = ask("load", database, data, "-p", "batchsize=1000", caller=caller)
    assert done.returncode == 0, done.stderr


def run(database: str, data: Path, *arguments: str) -> dict[str, Event]:
    """Returns the last event of each kind."""
    done = ask("run", database, data, *arguments)
    assert done.returncode == 0, done.stderr
    events = events_of(done.stdout)
    for event in events:
        SCHEMA.validate(event)
    return {event["event"]: event for event in events}


@contextmanager
def locked_in_memory(file: Path) -> Iterator[None]:
    system = CDLL(None, use_errno=True)
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as pages:
        begin = c_char.from_buffer(pages)
        try:
            assert system.mlock(c_void_p(addressof(begin)), c_size_t(len(pages))) == 0, "mlock failed"
            yield
        finally:
            del begin


@pytest.mark.root
@pytest.mark.parametrize("database", EMBEDDED)
def test_a_run_after_dropping_fetches_the_database_from_storage(database: str, data: Path) -> None:
    load(database, data)
    warm = run(database, data)
    assert warm["start"]["caches"] is None
    assert warm["active_end"]["usage"]["process_read_bytes"] < PAYLOAD_BYTES // 10

    cold = run(database, data, "--drop-caches")
    caches = cold["start"]["caches"]
    assert caches["dropped"]
    assert caches["resident_bytes_before"] > PAYLOAD_BYTES
    assert caches["resident_bytes_after"] <= cold["end"]["data_bytes"] // 100
    assert cold["active_end"]["usage"]["process_read_bytes"] > PAYLOAD_BYTES * 9 // 10
    assert cold["end"]["not_found"] == 0


@pytest.mark.root
@pytest.mark.parametrize("database", ["leveldb", "rocksdb"])
def test_updates_of_all_fields_read_at_most_half_of_what_merging_reads(database: str, data: Path) -> None:
    load(database, data)
    writes = ["-p", "readproportion=0", "-p", "updateproportion=1", "-p", "writeallfields=true", "--drop-caches"]
    read = {}
    for update in ("merge", "put"):
        copy = data.with_name(f"{data.name}-{update}")
        shutil.copytree(data, copy)
        try:
            done = run(database, copy, *writes, "-p", f"update={update}", "-p", "operationcount=2000")
        finally:
            shutil.rmtree(copy)
        assert done["end"]["read_before_write"] == (2000 if update == "merge" else 0)
        read[update] = done["active_end"]["usage"]["process_read_bytes"]
    assert read["put"] <= read["merge"] / 2


@pytest.mark.root
@pytest.mark.parametrize("database", EMBEDDED)
def test_standing_still_warms_no_cold_cache(database: str, data: Path) -> None:
    load(database, data)
    quiet = ["--quiet-before-s", "0.5", "--quiet-after-s", "0.2"]
    runs = [
        run(database, data, "--seed", "1", "--drop-caches", *arguments)["settled"]["usage"]["process_read_bytes"]
        for arguments in ([], quiet, [], quiet, [])
    ]
    plain, still = runs[::2], min(runs[1::2])  # reads of the file system itself are sometimes included
    a_few_pages = 64 * 1024  # LevelDB begins another log
    # one of the other runs may have compacted
    assert min(plain) - a_few_pages <= still <= max(plain) + a_few_pages


@pytest.mark.root
def test_files_that_stay_in_memory_fail_the_run(data: Path) -> None:
    """Mutant: a drop without effect."""
    load("sqlite", data)
    with locked_in_memory(data / "usertable.sqlite"):
        done = ask("run", "sqlite", data, "--drop-caches")
    assert done.returncode == 1
    assert f"bytes of {data} are still in memory after 5 attempts, expected at most" in done.stderr
    assert "does another process read or map these files?" in done.stderr
    assert [event["event"] for event in events_of(done.stdout)] == ["error"]


@pytest.mark.root
def test_data_in_memory_are_never_cold() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        load("sqlite", Path(folder))
        done = ask("run", "sqlite", Path(folder), "--drop-caches")
    assert done.returncode == 1
    assert "lies on a file system in memory (tmpfs), which is never cold; put the data on a disk" in done.stderr


@pytest.mark.parametrize("database", EMBEDDED)
def test_without_root_the_run_reports_what_it_needs(database: str, data: Path, unprivileged: Caller) -> None:
    load(database, data, unprivileged)
    done = ask("run", database, data, "--drop-caches", caller=unprivileged)
    assert done.returncode == 1
    assert "--drop-caches: cannot write to /proc/sys/vm/drop_caches: Permission denied; it needs root" in done.stderr
    assert ask("run", database, data, caller=unprivileged).returncode == 0  # the database is unchanged


def test_a_load_and_a_database_without_files_have_no_caches_to_drop(data: Path) -> None:
    refused = ask("load", "sqlite", data, "--drop-caches")
    assert refused.returncode == 2
    assert "--drop-caches: only for run" in refused.stderr
    refused = ask("run", "noop", data, "--drop-caches")
    assert refused.returncode == 2
    assert "noop has no files on this machine" in refused.stderr
