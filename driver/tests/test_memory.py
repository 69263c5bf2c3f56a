"""The memory of a load does not grow with the number of records: neither the driver's alone, nor with a database if the
system limits memory below the size of the data.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from driving import Event, drive, events_of

EMBEDDED = ["sqlite", "leveldb", "rocksdb", "lmdb", "lunar"]
MEBIBYTE = 1 << 20

# Rounding of the kernel and the C library, and pages of histograms in a longer run. A byte stored for each
# of ten million records is five times as much.
SLACK_BYTES = 2 * MEBIBYTE

FIXED = ["--seed", "1", "--quiet", "-json", "-"]


def end_of(done: subprocess.CompletedProcess[str]) -> Event:
    assert done.returncode == 0, done.stderr or f"ended by signal {-done.returncode}"
    return events_of(done.stdout)[-1]


# The driver alone


def rss_peak_bytes(command: str, records: int, *arguments: str) -> int:
    counts = ["-p", f"recordcount={records}", "-p", f"operationcount={records}"]
    small = ["-p", "fieldcount=1", "-p", "fieldlength=10"]
    end = end_of(drive(command, "-db", "noop", "-P", "workloadd", *counts, *small, *arguments, *FIXED))
    assert end["operations"] == records
    return int(end["rss_peak_bytes"])


def grows(few: int, many: int) -> bool:
    print(f"peak RSS: {few} bytes with few records, {many} with many")
    return many > few + SLACK_BYTES


@pytest.mark.parametrize(("command", "arguments"), [("load", ["-p", "batchsize=100"]), ("run", [])])
def test_the_driver_takes_the_same_memory_for_ten_million_records_as_for_a_hundred_thousand(
    command: str, arguments: list[str]
) -> None:
    assert not grows(rss_peak_bytes(command, 10**5, *arguments), rss_peak_bytes(command, 10**7, *arguments))


def test_a_load_that_keeps_its_records_is_seen_to_grow() -> None:
    """Mutant: all records in one batch."""
    few, many = (rss_peak_bytes("load", records, "-p", f"batchsize={records}") for records in (10**3, 10**5))
    assert grows(few, many)


# With a database in it, under a limit


@dataclass(frozen=True)
class Interface:
    """The files of one version of the kernel's memory controller."""

    root: Path
    limit: str
    peak: str
    kills: str  # the file that has the line "oom_kill N"


VERSION_1 = Interface(
    Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control"
)
VERSION_2 = Interface(Path("/sys/fs/cgroup"), "memory.max", "memory.peak", "memory.events")


class MemoryLimit:
    """A control group that limits the memory of its processes, including the page cache of their files."""

    def __init__(self, interface: Interface, limit_bytes: int) -> None:
        self._interface = interface
        self._group = Path(tempfile.mkdtemp(prefix="edgejoule-test-", dir=interface.root))
        (self._group / interface.limit).write_text(str(limit_bytes))
        swap = self._group / "memory.swap.max"
        if swap.exists():
            swap.write_text("0")

    def run(self, *arguments: str, timeout_s: float) -> subprocess.CompletedProcess[str]:
        enter = ("sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self._group / "cgroup.procs"))
        return drive(*arguments, *FIXED, starter=enter, timeout_s=timeout_s)

    @property
    def peak_bytes(self) -> int:
        return int((self._group / self._interface.peak).read_text())

    @property
    def kills(self) -> int:
        lines = (self._group / self._interface.kills).read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))

    def close(self) -> None:
        self._group.rmdir()


def memory_controller() -> Interface:
    if (VERSION_1.root / VERSION_1.limit).exists():
        return VERSION_1
    controllers = VERSION_2.root / "cgroup.subtree_control"
    if controllers.exists() and "memory" in controllers.read_text().split():
        return VERSION_2
    pytest.skip("the kernel's memory controller is not mounted or not enabled (a Raspberry Pi: cgroup_enable=memory)")


LIMIT_BYTES = 96 * MEBIBYTE
# Library pages count in the RSS, but in the limit only if no other process has read them before.
LIBRARIES_BYTES = 16 * MEBIBYTE
# RocksDB's default of two memtables of 64 MB exceeds the limit. LMDB reads up to 32 pages for each that it needs;
# each of them evicts another (both: "Memory" in the adapters' README).
LESS_MEMORY = {
    "rocksdb": ["-p", f"rocksdb.options=write_buffer_size={16 * MEBIBYTE}"],
    "lmdb": ["-p", "lmdb.nordahead=true"],
}
RECORDS = 650_000
RECORD_BYTES = 1000
LOAD_TIMEOUT_S = 900


@pytest.fixture
def limit() -> Iterator[MemoryLimit]:
    made = MemoryLimit(memory_controller(), LIMIT_BYTES)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def data() -> Iterator[Path]:
    """Returns a folder on a disk, because files of a tmpfs count as memory."""
    directory = Path(tempfile.mkdtemp(prefix="edgejoule-memory-", dir="/var/tmp"))
    yield directory
    shutil.rmtree(directory)


def workload(database: str, data: Path) -> list[str]:
    shape = ["-p", f"recordcount={RECORDS}", "-p", "fieldcount=1", "-p", f"fieldlength={RECORD_BYTES}"]
    return ["-db", database, "-P", "workloadc", *shape, "-p", "dataintegrity=true", "-p", f"{database}.path={data}"]


def rows_read_back(database: str, data: Path) -> int:
    """Reads each key once and compares every value."""
    every_key = ["-p", "requestdistribution=sequential", "-p", f"operationcount={RECORDS}"]
    end = end_of(drive("run", *workload(database, data), *every_key, *FIXED, timeout_s=LOAD_TIMEOUT_S))
    assert end["verify_failures"] == 0
    assert end["payload_read_bytes"] == (end["operations"] - end["not_found"]) * RECORD_BYTES
    return int(end["operations"] - end["not_found"])


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.parametrize("database", EMBEDDED)
def test_a_load_of_six_times_the_memory_finishes(database: str, data: Path, limit: MemoryLimit) -> None:
    options = ["-p", "batchsize=1000", *LESS_MEMORY.get(database, [])]
    end = end_of(limit.run("load", *workload(database, data), *options, timeout_s=LOAD_TIMEOUT_S))
    print(f"{database}: {end['data_bytes']} bytes stored, RSS {end['rss_peak_bytes']}, group {limit.peak_bytes}")
    assert end["data_bytes"] > 6 * LIMIT_BYTES
    assert limit.kills == 0
    assert limit.peak_bytes > LIMIT_BYTES * 9 // 10  # the limit was reached: the page cache fills all memory
    assert end["rss_peak_bytes"] < LIMIT_BYTES + LIBRARIES_BYTES
    assert rows_read_back(database, data) == RECORDS


@pytest.mark.root
@pytest.mark.slow
def test_a_database_that_keeps_in_memory_what_it_is_given_is_killed_at_the_limit(
    data: Path, limit: MemoryLimit
) -> None:
    """Mutant: a memtable that is never full."""
    unbounded = ["-p", f"rocksdb.options=write_buffer_size={1 << 30}"]
    done = limit.run("load", *workload("rocksdb", data), *unbounded, "-p", "batchsize=1000", timeout_s=LOAD_TIMEOUT_S)
    assert done.returncode != 0
    assert limit.kills == 1
