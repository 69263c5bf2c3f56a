"""Sweeps of eco-sim: an experiment over policies, seeds and levels of factors, here or on a Dask cluster.

A sweep file (TOML):

    schema_version = 1
    name = "links"
    question = "From which link speed on does offloading pay?"
    experiment = "../eco-paper/sim/fillrandom.toml"   # of eco-sim
    policies = ["local", "eco", "eco-plus"]           # without them, the experiment's
    seeds = [1, 2, 3]

    [factors]                                         # every combination of levels is simulated
    "tiers.*.link_gbit_s" = [0.1, 1, 10]              # a figure of a tier, or of all
    "database.max_background_jobs" = [2, 8]           # a key of the experiment
    tiers = ["tiers/a.toml", "tiers/b.toml"]          # whole files; experiment and calibration, too

    [[pictures]]                                      # see eco_pictures.py

What a worker needs comes with its task, so it may be on another machine; there it needs this package and eco-sim.
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import hashlib
import itertools
import json
import shutil
import signal
import subprocess
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from edgejoule import toml_text
from edgejoule.eco.federation.leftovers import new_folder
from edgejoule.errors import BusyError, DataError, SweepError, UsageError
from edgejoule.extras import install_command

Level = str | float | bool
Row = dict[str, Level]

#: Seconds that a Dask scheduler may take to answer the first request.
SCHEDULER_ANSWER_S = 20
_FILES = ("experiment", "tiers", "calibration")
#: Columns of a row beside its factors' -> key of eco-sim's JSON.
FIGURES = {
    "throughput_ops_s": "throughput_ops_s",
    "writes_ops_s": "writes_ops_s",
    "reads_ops_s": "reads_ops_s",
    "stopped_s": "stopped_s",
    "delayed_s": "delayed_s",
    "level0_files_mean": "level0_files_mean",
    "level0_compactions": "level0_compactions",
    "offloaded": "offloaded",
    "fell_back": "fell_back",
    "elsewhere_s_p50": "elsewhere_s_p50",
    "elsewhere_s_p95": "elsewhere_s_p95",
    "elsewhere_s_p99": "elsewhere_s_p99",
    "met_slow_s_p50": "met_slow_s_p50",
    "met_slow_s_p95": "met_slow_s_p95",
    "moved_bytes": "moved_bytes",
    "wasted_bytes": "wasted_bytes",
    "wasted_cpu_s": "wasted_cpu_s",
    "energy_j.modelled": "energy_j",
    "energy_marginal_j.modelled": "energy_marginal_j",
    "energy_per_op_uj.modelled": "energy_per_op_uj",
}


@dataclass(frozen=True)
class Point:
    """One simulation. files: the text of each of `_FILES`, as eco-sim is to read them."""

    levels: tuple[tuple[str, Level], ...]
    policy: str
    seed: int
    files: tuple[tuple[str, str], ...] = field(repr=False)

    @property
    def key(self) -> str:
        """The same for the same inputs."""
        return hashlib.sha256(repr((self.files, self.policy, self.seed)).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Sweep:
    """A sweep file, read."""

    name: str
    question: str
    factors: dict[str, list[Level]]
    points: list[Point]
    pictures: list[dict[str, Any]]


def _read(file: Path) -> dict[str, Any]:
    try:
        return toml_text.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SweepError(f"{file}: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SweepError(f"{file}: not valid TOML: {error}") from error


def _set(content: dict[str, Any], path: list[str], value: Level, name: str) -> None:
    """Set a key of nested tables; `*` is every table there. Raises SweepError: a table is not there."""
    head, *rest = path
    if not rest:
        content[head] = value
        return
    tables = list(content) if head == "*" else [head]
    if head not in content and head in ("run", "database"):
        content[head] = {}
    for each in tables:
        if not isinstance(content.get(each), dict):
            raise SweepError(f"factors.{name}: there is no table {each}; there are {', '.join(map(str, content))}")
        _set(content[each], rest, value, name)


def _files_of(base: Mapping[str, Path], levels: Mapping[str, Level], folder: Path) -> tuple[tuple[str, str], ...]:
    """Apply levels to files. base: of the sweep file; its experiment names the others."""
    paths = dict(base) | {key: folder / str(value) for key, value in levels.items() if key in _FILES}
    experiment = _read(paths["experiment"])
    for key in ("tiers", "calibration"):
        paths.setdefault(key, paths["experiment"].parent / str(experiment.get(key, "")))
    contents = {"experiment": experiment, "tiers": _read(paths["tiers"]), "calibration": _read(paths["calibration"])}
    for name, value in levels.items():
        if name in _FILES:
            continue
        path = name.split(".")
        if len(path) < 2:
            raise SweepError(f"factors.{name}: expected TABLE.KEY, or one of {', '.join(_FILES)}")
        _set(contents["tiers" if path[0] == "tiers" else "experiment"], path, value, name)
    experiment |= {"tiers": "tiers.toml", "calibration": "calibration.toml"}
    return tuple((key, tomli_w.dumps(content)) for key, content in contents.items())


def read_sweep(file: Path) -> Sweep:
    """Read a sweep file and plan its points. Raises SweepError."""
    content = _read(file)
    known = {"schema_version", "name", "question", "experiment", "policies", "seeds", "factors", "pictures"}
    for key in content:
        if key not in known:
            raise SweepError(f"{file}: {key}: there is no such key; there are {', '.join(sorted(known))}")
    for key in ("schema_version", "name", "question", "experiment", "seeds"):
        if key not in content:
            raise SweepError(f"{file}: {key} is expected")
    if content["schema_version"] != 1:
        raise SweepError(f"{file}: schema_version: expected 1")
    factors: dict[str, list[Level]] = content.get("factors", {})
    for name, each_level in factors.items():
        if not isinstance(each_level, list) or not each_level or any(isinstance(e, list | dict) for e in each_level):
            raise SweepError(f"{file}: factors.{name}: a list of levels is expected")
    base = {"experiment": file.parent / content["experiment"]}
    points = []
    for combination in itertools.product(*factors.values()):
        levels = dict(zip(factors, combination, strict=True))
        files = _files_of(base, levels, file.parent)
        policies = content.get("policies") or toml_text.loads(dict(files)["experiment"]).get("run", {}).get("policies")
        if not policies:
            raise SweepError(f"{file}: policies are expected, here or in the experiment")
        for policy, seed in itertools.product(policies, content["seeds"]):
            points.append(Point(tuple(levels.items()), policy, seed, files))
    return Sweep(content["name"], content["question"], factors, points, content.get("pictures", []))


_running: set[subprocess.Popen[str]] = set()  # simulators that this process has started
_stopped = threading.Event()  # a simulator that starts now ends at once


def simulate(point: Point, program: str) -> list[Row]:
    """Run eco-sim: a row for each server, and one for all, named total. Raises DataError with eco-sim's message."""
    with contextlib.ExitStack() as stack:
        folder = new_folder(Path(tempfile.gettempdir()))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        for key, text in point.files:
            (folder / f"{key}.toml").write_text(text)
        out = folder / "out.json"
        command = [program, "run", str(folder / "experiment.toml"), "--policy", point.policy, "--seed", str(point.seed)]
        try:
            process = subprocess.Popen(
                [*command, "--json", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
        except OSError as error:
            raise DataError(f"{program}: cannot be started: {error.strerror}") from error
        _running.add(process)
        if _stopped.is_set():
            process.terminate()
        try:
            message = process.communicate()[1]
        finally:
            _running.discard(process)
        where = f"(at {dict(point.levels)}, policy {point.policy}, seed {point.seed})"
        if process.returncode < 0:
            raise DataError(f"{program} was killed by {signal.Signals(-process.returncode).name} {where}")
        if process.returncode:
            raise DataError(f"{message.strip().replace(str(folder) + '/', '')} {where}")
        try:
            run = json.loads(out.read_text())["runs"][0]
        except (OSError, ValueError) as error:
            raise DataError(f"{program} ended without a result: {error} {where}") from error
    common: Row = {**dict(point.levels), "policy": point.policy, "seed": point.seed}
    return [
        {**common, "server": one["name"], "tier": one["tier"], **{name: one[key] for name, key in FIGURES.items()}}
        for one in [run["total"], *run["servers"]]
    ]


class Results:
    """The points that were simulated, in a file that a sweep is resumed from: a line for each."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._rows: dict[str, list[Row]] = {}
        if file.exists():
            for line in file.read_text().splitlines():
                with contextlib.suppress(json.JSONDecodeError):  # the last line of one that was interrupted
                    entry = json.loads(line)
                    self._rows[entry["key"]] = entry["rows"]

    def __contains__(self, point: Point) -> bool:
        return point.key in self._rows

    def add(self, point: Point, rows: list[Row]) -> None:
        """Keep them."""
        self._rows[point.key] = rows
        with self._file.open("a") as file:
            file.write(json.dumps({"key": point.key, "rows": rows}) + "\n")

    def rows(self, sweep: Sweep) -> list[Row]:
        """Of all points of a sweep that are there, in its order."""
        return [
            {**row, **dict(point.levels)} for point in sweep.points if point in self for row in self._rows[point.key]
        ]


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """One sweep at a time adds to a folder's results. Raises BusyError."""
    with (folder / "points.jsonl").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BusyError(f"{folder}: another sweep writes here; wait for it, or give another folder, -o") from error
        yield


@contextlib.contextmanager
def dask_executor(scheduler: str) -> Iterator[Executor]:
    """The workers of a Dask cluster. Raises UsageError."""
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError(f"--scheduler needs Dask: {install_command('distributed')}") from error
    try:
        client = Client(scheduler, timeout=SCHEDULER_ANSWER_S)
    except OSError as error:
        raise UsageError(f"{scheduler}: no Dask scheduler answers: {error}") from error
    with client:
        yield client.get_executor(pure=False)


def run(sweep: Sweep, results: Results, executor: Executor, program: str, on_point: Callable[[], None]) -> None:
    """Simulate the missing points and call on_point after each. Raises DataError when one fails; the others stay."""
    missing = [point for point in sweep.points if point not in results]
    futures: dict[Future[list[Row]], Point] = {}
    _stopped.clear()
    try:
        for point in missing:
            futures[executor.submit(simulate, point, program)] = point
        for future in as_completed(futures):
            results.add(futures[future], future.result())
            on_point()
    except BaseException:
        for future in futures:
            future.cancel()
        if isinstance(executor, ThreadPoolExecutor):
            _end_simulators(executor)
        raise


def _end_simulators(executor: ThreadPoolExecutor) -> None:
    """End this process's simulators.

    An interrupt may come while a thread starts one, and before the executor knows the thread: so each that starts later
    ends itself.
    """
    _stopped.set()
    for process in list(_running):
        process.terminate()
    executor.shutdown(cancel_futures=True)


def find_program(given: Path | None) -> str:
    """eco-sim: the one that is given, of this build, or on the path. Raises UsageError."""
    if given is not None:
        if not given.is_file():
            raise UsageError(f"--eco-sim {given}: {'is a directory' if given.is_dir() else 'no such file'}")
        return str(given.absolute())
    built = Path("build/bin/eco-sim")
    result = str(built.absolute()) if built.exists() else shutil.which("eco-sim")
    if result is None:
        raise UsageError("eco-sim is not there; `make eco` builds it, or name it with --eco-sim")
    return result


def write_csv(file: Path, rows: list[Row]) -> None:
    """Write rows as CSV."""
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]) if rows else [])
        writer.writeheader()
        writer.writerows(rows)


def write_parquet(file: Path, rows: list[Row]) -> None:
    """Write rows as Parquet. Raises UsageError: pyarrow is not there."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise UsageError(f"Parquet needs pyarrow: {install_command('parquet')}") from error
    parquet.write_table(pyarrow.Table.from_pylist(rows), file)
