"""The driver compared with RocksDB's db_bench: equal seeds give equal operations and equal databases.

db_bench's operations come from its trace (--trace_file); ldb reads its databases. The same comparisons must reject
mutants of the driver. Two-sample tests with different seeds show that the distributions agree, not only one stream.
"""

import re
import shutil
import struct
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from driving import DRIVER
from java_ycsb import Counts, compare

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("db_bench")]  # they share db_bench's results

TRACER = DRIVER.with_name("driver-trace")

SEED = 42
KEYS = 20_000
OPERATIONS = 50_000
ACCEPTED = 0.01
REJECTED = 1e-6

Flags = dict[str, object]
Lines = list[str]

SIZES: Flags = {"key_size": 16, "value_size": 1000}
MIX: Flags = {
    "key_size": 48,
    "value_size": 43,
    "mix_get_ratio": 0.83,
    "mix_put_ratio": 0.14,
    "mix_seek_ratio": 0.03,
    "value_k": 0.2615,
    "value_sigma": 25.45,
    "iter_k": 2.517,
    "iter_sigma": 14.236,
}
KEY_DIST: Flags = {"key_dist_a": 0.002312, "key_dist_b": 0.3467}
KEY_RANGES: Flags = {
    "keyrange_num": 30,
    "keyrange_dist_a": 14.18,
    "keyrange_dist_b": -2.917,
    "keyrange_dist_c": 0.0164,
    "keyrange_dist_d": -0.08082,
}
PREFIX_DIST = MIX | KEY_DIST | KEY_RANGES
MIXES = {
    "mixgraph": PREFIX_DIST,
    "mixgraph-all-dist": MIX | KEY_DIST,
    "mixgraph-all-random": MIX,
}


@pytest.fixture(scope="module", autouse=True)
def _programs() -> None:
    for program in (DRIVER, TRACER):
        assert program.exists(), f"{program} is not built: run `make test-slow`"
    for tool in ("db_bench", "ldb"):
        assert shutil.which(tool), f"{tool} is not installed: run `tools/packages slow`"


def run(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def db_bench(benchmark: str, path: Path, flags: Flags, seed: int = SEED, **more: object) -> str:
    arguments = [f"--{name}={value}" for name, value in (flags | more).items()]
    return run("db_bench", f"--benchmarks={benchmark}", f"--db={path}", f"--seed={seed}", *arguments)


def assignments(flags: Flags) -> list[str]:
    return [word for name, value in flags.items() for word in ("-p", f"{name}={value}")]


def driver(command: str, workload: str, path: Path, flags: Flags, seed: int = SEED, **more: object) -> str:
    place = ["-p", f"rocksdb.path={path}", "--seed", seed, "--quiet"]
    return run(DRIVER, command, "-db", "rocksdb", "-P", workload, *assignments(flags | more), *place)


def asked_by_driver(
    workload: str, flags: Flags, operations: int = OPERATIONS, seed: int = SEED, client: int = 0, command: str = "run"
) -> Lines:
    """Returns the operations of one client of the driver; see operation_trace.cc."""
    arguments = [f"workload={workload}", *(f"{name}={value}" for name, value in flags.items())]
    return run(TRACER, seed, 1, client, operations, command, *arguments).splitlines()


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def prefixed(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = varint(data, at)
    return data[at : at + length], at + length


def puts_of(batch: bytes) -> Iterator[str]:
    """Returns the puts of a RocksDB write batch that contains only puts into the default column family."""
    (count,) = struct.unpack_from("<I", batch, 8)
    at = 12
    for _ in range(count):
        assert batch[at] == 1
        key, at = prefixed(batch, at + 1)
        value, at = prefixed(batch, at)
        yield f"put {key.hex()} {len(value)}"


def traced(file: Path) -> Lines:
    """Converts a RocksDB trace of version 0.2 to driver-trace's format, without scan lengths."""
    begin, end, write, get, seek = 1, 2, 3, 4, 5
    data = file.read_bytes()
    lines: Lines = []
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<BI", data, at + 8)
        payload = data[at + 13 : at + 13 + length]
        at += 13 + length
        if kind == write:
            lines.extend(puts_of(prefixed(payload, 8)[0]))
        elif kind in (get, seek):
            lines.append(f"{'get' if kind == get else 'seek'} {prefixed(payload, 12)[0].hex()}")
        else:
            assert kind in (begin, end)
    return lines


def without_scan_lengths(lines: Lines) -> Lines:
    return [" ".join(line.split()[:2]) if line.startswith("seek") else line for line in lines]


def records(path: Path) -> str:
    return run("ldb", f"--db={path}", "scan", "--hex")


@cache
def loaded_by_db_bench(folder: Path, flags: tuple[tuple[str, object], ...]) -> Path:
    path = folder / f"fillseq-{len(list(folder.iterdir()))}"
    db_bench("fillseq", path, dict(flags), num=KEYS)
    return path


@cache
def asked_by_db_bench(folder: Path, benchmark: str, flags: tuple[tuple[str, object], ...], seed: int = SEED) -> Lines:
    """Returns db_bench's operations with all keys."""
    path = folder / f"{benchmark}-{len(list(folder.iterdir()))}"
    shutil.copytree(loaded_by_db_bench(folder, flags), path)
    trace = path.with_suffix(".trace")
    db_bench(benchmark, path, dict(flags), seed, num=KEYS, reads=OPERATIONS, use_existing_db=True, trace_file=trace)
    return traced(trace)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("db_bench")


def frozen(flags: Flags) -> tuple[tuple[str, object], ...]:
    return tuple(flags.items())


def asks_the_same(folder: Path, flags: Flags, changes: Flags) -> bool:
    ours = asked_by_driver("mixgraph", flags | {"num": KEYS} | changes)
    return without_scan_lengths(ours) == asked_by_db_bench(folder, "mixgraph", frozen(flags))


@pytest.mark.parametrize("batch_size", [1, 10])
def test_fillrandom_leaves_the_database_that_db_bench_leaves(tmp_path: Path, batch_size: int) -> None:
    flags = SIZES | {"num": KEYS, "batch_size": batch_size}
    said = db_bench("fillrandom", tmp_path / "theirs", flags)
    assert f"{KEYS} operations" in said
    reported = driver("run", "fillrandom", tmp_path / "ours", flags)
    assert f"[INSERT], Return=OK, {KEYS}\n" in reported
    theirs = records(tmp_path / "theirs")
    assert records(tmp_path / "ours") == theirs
    distinct = len(theirs.splitlines())
    # Keys not drawn in N draws from N: N/e on average, with a variance of N (1/e - 2/e^2).
    expected = KEYS * (1 - 1 / 2.718281828)
    assert abs(distinct - expected) < 5 * (KEYS * 0.0972) ** 0.5


def test_fillrandom_of_another_seed_leaves_another_database(tmp_path: Path) -> None:
    flags = SIZES | {"num": KEYS}
    db_bench("fillrandom", tmp_path / "theirs", flags)
    driver("run", "fillrandom", tmp_path / "ours", flags, seed=SEED + 1)
    assert records(tmp_path / "ours") != records(tmp_path / "theirs")


def test_values_are_compressed_to_the_bytes_that_db_bench_s_are(tmp_path: Path) -> None:
    """Compares sizes after Snappy, both programs' default, which stores about half of each value."""
    flags = SIZES | {"num": KEYS}
    db_bench("fillseq,compact", tmp_path / "theirs", flags)
    driver("load", "fillrandom", tmp_path / "ours", flags)
    run("ldb", f"--db={tmp_path / 'ours'}", "compact")
    theirs, ours = (sum(f.stat().st_size for f in (tmp_path / n).glob("*.sst")) for n in ("theirs", "ours"))
    assert abs(ours / theirs - 1) < 0.02
    assert 0.5 < ours / (KEYS * 1016) < 0.65


@pytest.mark.parametrize("workload", MIXES)
def test_mixgraph_asks_for_the_operations_that_db_bench_asks_for(folder: Path, workload: str) -> None:
    assert len(asked_by_db_bench(folder, "mixgraph", frozen(MIXES[workload]))) == OPERATIONS
    assert asks_the_same(folder, MIXES[workload], {})


@pytest.mark.parametrize(
    "changes",
    [
        {"key_dist_a": 0.0024},
        {"key_dist_b": 0.35},
        {"keyrange_num": 29},
        {"keyrange_dist_b": -2.8},
        {"keyrange_dist_d": -0.09},
        {"value_k": 0.3},
        {"value_sigma": 26},
        {"mix_max_value_size": 100},
        {"mix_get_ratio": 0.85},
        {"key_size": 16},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_a_mutant_of_mixgraph_asks_for_others(folder: Path, changes: Flags) -> None:
    assert not asks_the_same(folder, PREFIX_DIST, changes)


@pytest.mark.parametrize("workload", MIXES)
def test_mixgraph_counts_finds_and_leaves_what_db_bench_does(tmp_path: Path, workload: str) -> None:
    flags = MIXES[workload]
    db_bench("fillseq", tmp_path / "theirs", flags, num=KEYS)
    driver("load", workload, tmp_path / "ours", {"num": KEYS})
    assert records(tmp_path / "ours") == records(tmp_path / "theirs")
    said = db_bench("mixgraph", tmp_path / "theirs", flags, num=KEYS, reads=OPERATIONS, use_existing_db=True)
    counts = re.search(r"Gets:(\d+) Puts:(\d+) Seek:(\d+), reads (\d+) in (\d+) found, avg size: ([\d.]+)", said)
    assert counts, said
    ours = driver("run", workload, tmp_path / "ours", {"num": KEYS, "reads": OPERATIONS})
    asked = Counter({name: int(n) for name, n in re.findall(r"\[(READ|INSERT|SCAN)\], Return=OK, (\d+)", ours)})
    missing = re.search(r"\[READ\], Return=NOT_FOUND, (\d+)", ours)
    assert asked["READ"] + (int(missing[1]) if missing else 0) == int(counts[1])
    assert asked["INSERT"] == int(counts[2])
    assert asked["SCAN"] == int(counts[3])
    # db_bench counts seeks that hit their key together with gets that return a value.
    assert asked["READ"] <= int(counts[4]) <= asked["READ"] + asked["SCAN"]
    assert records(tmp_path / "ours") == records(tmp_path / "theirs")


def test_scans_are_as_long_as_db_bench_s(tmp_path: Path) -> None:
    flags = MIX | {"mix_get_ratio": 0, "mix_put_ratio": 0, "mix_seek_ratio": 1, "mix_max_scan_len": 1000}
    db_bench("fillseq", tmp_path / "theirs", flags, num=KEYS)
    said = db_bench("mixgraph", tmp_path / "theirs", flags, num=KEYS, reads=5000, use_existing_db=True)
    average = re.search(r"([\d.]+) scan\)", said)
    assert average, said

    def ours(**changes: object) -> float:
        lines = [line.split() for line in asked_by_driver("mixgraph", flags | {"num": KEYS} | changes, 5000)]
        read = [min(int(length), KEYS - int(key[:16], 16)) for _, key, length in lines]
        return round(sum(read) / len(read), 1)

    assert ours() == float(average[1])
    for mutant in ({"iter_k": 2.4}, {"iter_sigma": 14}, {"mix_max_scan_len": 900}):
        assert ours(**mutant) != float(average[1])


def test_readwhilewriting_reads_and_writes_what_db_bench_does(folder: Path) -> None:
    flags = SIZES | {"benchmark_write_rate_limit": 1_000_000}
    theirs = asked_by_db_bench(folder, "readwhilewriting", frozen(flags))
    puts = [line for line in theirs if line.startswith("put")]
    gets = [line for line in theirs if line.startswith("get")]
    assert len(gets) == OPERATIONS
    assert puts
    values = flags | {"num": KEYS}
    assert asked_by_driver("readwhilewriting", values, OPERATIONS, client=1) == gets
    assert asked_by_driver("readwhilewriting", values, len(puts), client=0) == puts
    assert asked_by_driver("readwhilewriting", values, OPERATIONS, SEED + 1, client=1) != gets


def key_ranges(lines: Lines) -> Counts:
    size = KEYS // 30
    return dict(Counter(f"{line.split()[0]} {int(line.split()[1][:16], 16) // size}" for line in lines))


def value_sizes(lines: Lines) -> Counts:
    return dict(Counter(line.split()[2] for line in lines if line.startswith("put")))


@pytest.mark.parametrize(
    ("counts", "changes"),
    [
        (key_ranges, {"keyrange_dist_d": -0.0}),
        (key_ranges, {"keyrange_dist_b": -2.5}),
        (key_ranges, {"mix_put_ratio": 0.2}),
        (value_sizes, {"value_k": 0.5}),
        (value_sizes, {"value_sigma": 30}),
    ],
)
def test_with_another_seed_the_laws_agree_and_those_of_mutants_do_not(
    folder: Path, counts: object, changes: Flags
) -> None:
    assert callable(counts)
    theirs = counts(asked_by_db_bench(folder, "mixgraph", frozen(PREFIX_DIST)))
    values = PREFIX_DIST | {"num": KEYS}
    agreed = compare(counts(asked_by_driver("mixgraph", values, seed=7)), theirs)
    assert agreed.p > ACCEPTED, agreed
    refused = compare(counts(asked_by_driver("mixgraph", values | changes, seed=7)), theirs)
    assert refused.p < REJECTED, refused
