"""The driver's values compress as Java YCSB's do: no better, whatever the window.

Fast tests compare with the distribution of Java's values, reimplemented in numpy. Labelled ones compare with values
written by the real Java YCSB, and use zstd.
"""

import lzma
import subprocess
from pathlib import Path

import numpy as np
import pytest
from java_ycsb import RECORDER, SEED, Properties, properties, ycsb
from numpy.typing import NDArray

MEBIBYTE = 1 << 20
WITHIN = 0.01  # of Java's ratio


@pytest.fixture(autouse=True, scope="module")
def _the_recorder_is_built() -> None:
    assert RECORDER.exists(), f"{RECORDER} is not built: run `make test`"


def shape(value_bytes: int, total_bytes: int) -> Properties:
    """Returns the shape of that many bytes as records of ten values."""
    records = max(1, total_bytes // (10 * value_bytes))
    return properties(recordcount=records, operationcount=records, fieldlength=value_bytes)


def driver_values(values: Properties, command: str = "load", threads: int = 1) -> bytes:
    arguments = ["values", str(SEED), str(threads), command, *(f"{name}={value}" for name, value in values)]
    return subprocess.run([RECORDER, *arguments], capture_output=True, timeout=300, check=True).stdout


def java_law(value_bytes: int, total_bytes: int) -> bytes:
    """Draws values as RandomByteIterator does, in numpy: six bytes from each word of 32 random bits, from the start of
    each value.
    """
    values, groups = total_bytes // value_bytes, (value_bytes + 5) // 6
    words = np.random.default_rng(SEED).integers(0, 1 << 32, (values, groups, 1), dtype=np.uint32)
    masks = np.array([31, 63, 95, 31, 63, 95], dtype=np.uint32)
    made = ((words >> np.arange(0, 30, 5, dtype=np.uint32)) & masks) + ord(" ")
    return made.reshape(values, -1)[:, :value_bytes].astype(np.uint8).tobytes()


def cut_from_a_pool(value_bytes: int, total_bytes: int) -> bytes:
    """Mutant, the driver's former method: values cut from a pool of 1 MiB, at multiples of six bytes."""
    pool: NDArray[np.uint8] = np.frombuffer(java_law(6, MEBIBYTE + value_bytes), dtype=np.uint8)
    places = np.random.default_rng(SEED).integers(0, MEBIBYTE // 6, total_bytes // value_bytes) * 6
    return pool[places[:, None] + np.arange(value_bytes)].tobytes()


def lzma_ratio(text: bytes) -> float:
    """Returns the compression ratio of LZMA with a window of the text's size."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": len(text)}]
    return len(lzma.compress(text, lzma.FORMAT_RAW, filters=filters)) / len(text)


def differs(name: str, ratio: float, expected: float) -> bool:
    print(f"{name:<40} ratio {ratio:.4f}, Java's {expected:.4f}")
    return abs(ratio / expected - 1) > WITHIN


@pytest.mark.parametrize(
    "value_bytes", [pytest.param(11, marks=pytest.mark.slow), 100, pytest.param(1000, marks=pytest.mark.slow)]
)
def test_values_compress_as_values_of_java_ycsbs_distribution(value_bytes: int) -> None:
    total = 2 * MEBIBYTE
    expected = lzma_ratio(java_law(value_bytes, total))
    assert not differs(f"{value_bytes} bytes", lzma_ratio(driver_values(shape(value_bytes, total))), expected)
    assert differs("  mutant: cut from a pool", lzma_ratio(cut_from_a_pool(value_bytes, total)), expected)


def distinct(text: bytes, value_bytes: int) -> int:
    return len({text[i : i + value_bytes] for i in range(0, len(text), value_bytes)})


def test_values_of_eleven_bytes_are_distinct() -> None:
    values = 24_050
    assert distinct(driver_values(shape(11, 11 * values)), 11) == values
    assert distinct(cut_from_a_pool(11, 11 * values), 11) < 0.97 * values


def test_a_run_does_not_write_what_the_load_or_another_thread_wrote() -> None:
    values = shape(100, MEBIBYTE // 2) + properties(
        readproportion=0, updateproportion=0, insertproportion=1, requestdistribution="latest"
    )
    load = driver_values(values, threads=2)
    run = driver_values(values, command="run")
    assert distinct(load + run, 100) == (len(load) + len(run)) // 100


def java_values(folder: Path, values: Properties) -> bytes:
    file = folder / "values"
    ycsb("load", "edgejoule.ycsb.ValuesDB", values + properties(values__file=file))
    return file.read_bytes()


def zstd_ratio(text: bytes, *options: str) -> float:
    """Returns the compression ratio of the program zstd with a window of at least 64 MiB."""
    command = ["zstd", "--stdout", "--quiet", "--single-thread", "--long=27", *options]
    compressed = subprocess.run(command, input=text, capture_output=True, timeout=3000, check=True).stdout
    return len(compressed) / len(text)


@pytest.mark.java
@pytest.mark.parametrize("value_bytes", [1, 6, 11, 100, 999, 10_000])
def test_values_compress_as_those_of_the_real_java_ycsb(value_bytes: int, tmp_path: Path) -> None:
    total = 8 * MEBIBYTE if value_bytes > 1 else MEBIBYTE // 2
    values = shape(value_bytes, total)
    java, ours = java_values(tmp_path, values), driver_values(values)
    assert len(java) == len(ours)
    pool = cut_from_a_pool(value_bytes, total)
    for level in ("-3", "-19"):
        expected = zstd_ratio(java, level)
        assert not differs(f"{value_bytes} bytes, zstd {level} --long=27", zstd_ratio(ours, level), expected)
        if value_bytes >= 100:  # zstd gains only from long matches
            assert differs("  mutant: cut from a pool", zstd_ratio(pool, level), expected)


@pytest.mark.java
@pytest.mark.timeout(3600)  # level 19 takes two minutes of CPU for each side
@pytest.mark.parametrize("level", ["-3", "-19"])
def test_64_megabytes_compress_as_those_of_the_real_java_ycsb(level: str, tmp_path: Path) -> None:
    values = shape(100, 64 * MEBIBYTE)
    expected = zstd_ratio(java_values(tmp_path, values), level)
    assert not differs(f"64 MB, zstd {level} --long=27", zstd_ratio(driver_values(values), level), expected)


@pytest.mark.java
def test_the_distribution_of_the_fast_tests_is_that_of_the_real_java_ycsb(tmp_path: Path) -> None:
    values = shape(100, 4 * MEBIBYTE)
    assert not differs("numpy", lzma_ratio(java_law(100, 4 * MEBIBYTE)), lzma_ratio(java_values(tmp_path, values)))
