"""The real Java YCSB and the driver's recorder as samplers, and the test that compares two samples.

A sample is the requests to a database: counts by dimension (operation, key, scan_length ...) and cell.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from driving import DRIVER, REPOSITORY
from scipy.stats import chi2

RECORDER = DRIVER.with_name("driver-recorder")
CLASSES = REPOSITORY / "build" / "java" / "classes"
JARS = REPOSITORY / "build" / "java" / "jars"
SEED = 1

Counts = dict[str, int]
Sample = dict[str, Counts]
Properties = tuple[tuple[str, str], ...]


def properties(**values: object) -> Properties:
    """Returns properties by name; __ stands for a dot."""
    return tuple((name.replace("__", "."), str(value)) for name, value in values.items())


@cache
def build_java() -> None:
    """Compiles the recorder for Java YCSB. Maven downloads YCSB and the databases' Java libraries."""
    pom = Path(__file__).with_name("java") / "pom.xml"
    subprocess.run(["mvn", "-q", "-B", "-f", str(pom), "process-classes"], check=True, timeout=600)


def java(main: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a class to its end."""
    build_java()
    # RecordingDB seeds the threads' generators, which are private to java.lang.
    opened = ["--add-opens", "java.base/java.lang=ALL-UNNAMED"]
    command = ["java", *opened, "-cp", f"{CLASSES}:{JARS}/*", main, *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=300, check=False)


def ycsb_client(
    command: str, database: str, values: Properties, threads: int = 1, options: Sequence[str | Path] = ()
) -> subprocess.CompletedProcess[str]:
    """Runs Java YCSB's client, `-load` or `-t`, until its report."""
    assignments = [word for name, value in values for word in ("-p", f"{name}={value}")]
    workload = ["-p", "workload=site.ycsb.workloads.CoreWorkload"]
    mode = "-load" if command == "load" else "-t"
    arguments = [mode, "-db", database, "-threads", str(threads), *map(str, options), *workload, *assignments]
    done = java("site.ycsb.Client", *arguments)
    assert done.returncode == 0, done.stderr
    return done


def ycsb(command: str, database: str, values: Properties, threads: int = 1, options: Sequence[str | Path] = ()) -> str:
    """Runs Java YCSB's client and returns its report."""
    done = ycsb_client(command, database, values, threads, options)
    assert "[OVERALL], Throughput" in done.stdout, done.stdout + done.stderr
    return done.stdout


def sample_of(text: str) -> Sample:
    """Parses lines of dimension,cell,count."""
    sample: Sample = {}
    for line in text.splitlines():
        dimension, cell, count = line.split(",")
        sample.setdefault(dimension, {})[cell] = int(count)
    return sample


@cache
def java_sample(folder: Path, dimensions: str, values: Properties, command: str = "run", threads: int = 1) -> Sample:
    """Returns Java YCSB's requests; the same at each call, since the generators are seeded."""
    file = folder / "java.csv"
    file.unlink(missing_ok=True)
    recorder = properties(recorder__file=file, recorder__dimensions=dimensions, recorder__seed=SEED)
    ycsb(command, "edgejoule.ycsb.RecordingDB", values + recorder, threads)
    return sample_of(file.read_text())


def driver_sample(dimensions: str, values: Properties, command: str = "run", threads: int = 1, runs: int = 1) -> Sample:
    """Returns the driver's requests, in total over that many runs with different seeds."""
    assignments = [f"{name}={value}" for name, value in values]
    arguments = [dimensions, str(SEED), str(runs), str(threads), command, *assignments]
    done = subprocess.run([RECORDER, "tally", *arguments], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return sample_of(done.stdout)


@dataclass(frozen=True)
class Comparison:
    """Pearson's chi-square of two samples."""

    statistic: float
    degrees: int
    p: float

    def __str__(self) -> str:
        return f"chi2 {self.statistic:.1f} on {self.degrees}, p {self.p:.3g}"


def compare(one: Counts, other: Counts, pooled_below: float = 10) -> Comparison:
    """Tests whether both samples can have one distribution: homogeneity of a 2 x k table (Pearson 1911).

    Cells that expect fewer than `pooled_below` draws of the smaller sample are merged.
    """
    cells = sorted(one.keys() | other.keys())
    table = np.array([[sample.get(cell, 0) for cell in cells] for sample in (one, other)], dtype=float)
    smaller_share = table.sum(axis=1).min() / table.sum()
    rare = table.sum(axis=0) * smaller_share < pooled_below
    pooled = table[:, rare].sum(axis=1, keepdims=True)
    table = np.hstack([table[:, ~rare], pooled]) if pooled.sum() > 0 else table
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / table.sum()
    statistic = float(((table - expected) ** 2 / expected).sum())
    degrees = table.shape[1] - 1
    return Comparison(statistic, degrees, float(chi2.sf(statistic, degrees)) if degrees > 0 else 1.0)
