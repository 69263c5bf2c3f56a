"""The driver for ARM boards, built by `make board`, works under qemu-user and agrees with this machine's."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import jsonschema
import pytest
from driving import DRIVER, REPOSITORY, Event

SCHEMA = jsonschema.Draft202012Validator(json.loads((REPOSITORY / "schemas" / "driver-event.schema.json").read_text()))
EMULATORS = {"arm64": "qemu-aarch64", "armhf": "qemu-arm"}
CLOCKS = {"arm64": "cntvct", "armhf": "steady_clock"}
STORES = ["leveldb", "lmdb", "lunar", "rocksdb", "sqlite"]
BEYOND_32_BITS = 5_000_000_000

pytestmark = pytest.mark.board
on_every_board = pytest.mark.parametrize("arch", list(EMULATORS))


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Returns a folder in memory. On ext4, qemu-user, a 64-bit process, gets directory offsets that 32-bit programs
    refuse.

    A 32-bit board's own kernel gives shorter ones.
    """
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="edgejoule-board-") as folder:
        yield Path(folder)


@cache
def own_architecture() -> str:
    return subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()


@cache
def command_of(arch: str) -> tuple[str, ...]:
    """Returns the command that starts the driver of an architecture here; "native" is the one of `make build`."""
    if arch == "native":
        assert DRIVER.exists(), f"{DRIVER} is not built: run `make build`, or name another with EDGEJOULE_DRIVER"
        return (str(DRIVER),)
    driver = REPOSITORY / "build" / arch / "edgejoule" / "bin" / "edgejoule-driver"
    assert driver.exists(), f"{driver} is not built: run `make board ARCH={arch}`"
    if arch == own_architecture():
        return (str(driver),)
    emulator = shutil.which(EMULATORS[arch])
    assert emulator, f"{EMULATORS[arch]} is missing: install qemu-user (`tools/packages board`)"
    return (emulator, "-L", str(REPOSITORY / "build" / "sysroot" / arch), str(driver))


def drive(arch: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command_of(arch), *arguments], capture_output=True, text=True, timeout=300, check=False)


def events(arch: str, command: str, database: str, *arguments: str) -> list[Event]:
    done = drive(arch, command, "-db", database, "-json", "-", "--quiet", *arguments)
    assert done.returncode == 0, done.stderr
    result = [json.loads(line) for line in done.stdout.splitlines()]
    for event in result:
        SCHEMA.validate(event)
    return result


def work(arch: str, command: str, store: str, path: Path, workload: str = "workloada") -> Event:
    """Loads or runs 1000 records whose values derive from their keys. Returns the end event."""
    arguments = ["-P", workload, "-p", "recordcount=1000", "-p", "operationcount=2000", "-p", "dataintegrity=true"]
    arguments += ["--seed", "5", "-p", f"{store}.path={path}"]
    if store == "lmdb":  # qemu-user has a table of the guest's address space, for which the default map is too large
        arguments += ["-p", f"lmdb.map_bytes={64 << 20}"]
    return events(arch, command, store, *arguments)[-1]


def assert_all_rows_are_present_and_right(end: Event, operations: int = 2000) -> None:
    assert end["operations"] == operations
    assert (end["failures"], end["not_found"], end["verify_failures"]) == (0, 0, 0)
    assert any(
        latency["operation"] == "VERIFY" and latency["returns"] == {"OK": latency["count"]}
        for latency in end["latencies"]
    )


def checksum(arch: str, workload: str, seed: int, records: int) -> str:
    end = events(
        arch,
        "run",
        "noop",
        *["-P", workload, "-p", f"recordcount={records}", "-p", "operationcount=20000", "--seed", str(seed)],
    )[-1]
    assert end["operations"] == 20000
    return str(end["checksum"])


@on_every_board
def test_every_embedded_database_is_built_in(arch: str) -> None:
    databases = json.loads(drive(arch, "databases", "--json").stdout)
    built_in = {database["name"] for database in databases if database["built_in"]}
    assert built_in >= {"noop", *STORES}


@on_every_board
def test_the_folder_to_copy_holds_the_workloads_and_needs_only_the_c_library(arch: str) -> None:
    folder = REPOSITORY / "build" / arch / "edgejoule"
    assert (folder / "share" / "edgejoule" / "workloads" / "workloada").exists()
    dynamic = subprocess.run(
        ["readelf", "-d", folder / "bin" / "edgejoule-driver"], capture_output=True, text=True, check=True
    ).stdout
    needed = {line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "(NEEDED)" in line}
    assert {name.split(".")[0] for name in needed} <= {"libc", "libm", "ld-linux-aarch64", "ld-linux-armhf"}


@on_every_board
@pytest.mark.parametrize("store", STORES)
def test_workload_a_finds_every_row_as_it_was_written(arch: str, store: str, tmp_path: Path) -> None:
    assert work(arch, "load", store, tmp_path / "data")["operations"] == 1000
    assert_all_rows_are_present_and_right(work(arch, "run", store, tmp_path / "data"))


@on_every_board
@pytest.mark.parametrize("store", STORES)
def test_databases_move_between_a_board_and_this_machine(arch: str, store: str, tmp_path: Path) -> None:
    if (arch, store) == ("armhf", "lmdb"):
        pytest.skip("LMDB's files have the word size of the machine that wrote them")
    for writer, reader in [(arch, "native"), ("native", arch)]:
        path = tmp_path / f"written-by-{writer}"
        work(writer, "load", store, path)
        assert_all_rows_are_present_and_right(work(reader, "run", store, path, "workloadc"))


def test_a_file_of_lmdb_from_a_machine_of_another_word_size_is_refused(tmp_path: Path) -> None:
    work("native", "load", "lmdb", tmp_path / "data")
    refused = drive("armhf", "run", "-db", "lmdb", "-P", "workloadc", "-p", f"lmdb.path={tmp_path / 'data'}")
    assert refused.returncode == 1
    assert "LMDB" in refused.stderr


@on_every_board
@pytest.mark.parametrize("workload", ["workloada", "workloadc", "workloade", "workloadf"])
@pytest.mark.parametrize("records", [1000, BEYOND_32_BITS])
def test_a_seed_gives_the_same_operations_on_every_processor(arch: str, workload: str, records: int) -> None:
    assert checksum(arch, workload, 7, records) == checksum("native", workload, 7, records)


@on_every_board
def test_the_checksum_distinguishes_other_operations(arch: str) -> None:
    reference = checksum("native", "workloada", 7, BEYOND_32_BITS)
    assert checksum(arch, "workloada", 8, BEYOND_32_BITS) != reference
    assert checksum(arch, "workloada", 7, BEYOND_32_BITS % (1 << 32)) != reference


@on_every_board
def test_keys_beyond_32_bits_are_loaded_where_they_belong(arch: str, tmp_path: Path) -> None:
    arguments = ["-P", "workloadc", "-p", f"recordcount={BEYOND_32_BITS}", "-p", f"insertstart={BEYOND_32_BITS - 1000}"]
    arguments += ["-p", "insertcount=1000", "-p", "operationcount=2000", "-p", "requestdistribution=uniform"]
    arguments += ["-p", f"sqlite.path={tmp_path / 'data'}", "-p", "dataintegrity=true", "--seed", "5"]
    assert events(arch, "load", "sqlite", *arguments)[-1]["operations"] == 1000
    assert_all_rows_are_present_and_right(events("native", "run", "sqlite", *arguments)[-1])


@on_every_board
def test_the_clock_of_the_board_runs_at_the_rate_of_the_monotonic_clock(arch: str) -> None:
    # 600 operations at 400 a second are due within 1.5 s: due times follow the clock named, the interval's ends
    # CLOCK_MONOTONIC. A clock that is wrong by its rate is wrong by a factor.
    result = events(arch, "run", "noop", "-P", "workloadc", "-p", "operationcount=600", "-target", "400", "--seed", "1")
    assert result[0]["clock"] == CLOCKS[arch]
    end = next(event for event in result if event["event"] == "active_end")
    active_s = (end["monotonic_ns"] - end["active_start_ns"]) / 1e9
    assert 1.2 < active_s < 15
    service = [latency for latency in result[-1]["latencies"] if latency["measure"] == "service"]
    service_s = sum(latency["count"] * latency["mean_ns"] for latency in service) / 1e9
    assert 0 < service_s < active_s
