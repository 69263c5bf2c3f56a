"""Which loaded database a run works on: its own restored copy, or a load it shares with others.

`load = "run"`: a copy of the snapshot for every run. `load = "block"` or `"cell"`: the driver loads anew for a block
(of runs that want the same content) or for a cell, and the runs work on it one after another, each on what those before
it left. A load has a name, kept with every run, for runs of one load are not independent.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgejoule.database_servers.serving import copy_logs
from edgejoule.databases.driver import Event
from edgejoule.databases.snapshots import Snapshots
from edgejoule.databases.system_under_test import LoadTime, system_of
from edgejoule.experiment.plan import PlannedRun
from edgejoule.machine.file_system import MadeFileSystem

OWN_FOLDER = "edgejoule-data"  # below a run's data_path: what the lab makes and removes


def base_of(run: PlannedRun, folder: Path) -> Path:
    """Below which folder a run's databases lie. folder: the study's own."""
    return folder if run.data_path is None else Path(run.data_path) / OWN_FOLDER


@dataclass(frozen=True)
class PreparedDatabase:
    """A database ready for a run: where it lies, the load's name, and how many runs worked on it before.

    snapshot: the name of what was restored; empty: loaded in its place. took: what loading took; None: not known.
    """

    path: Path
    name: str
    runs_before: int
    snapshot: str = ""
    took: LoadTime | None = None

    def facts(self) -> dict[str, Any]:
        """For the run's record."""
        found: dict[str, Any] = {"name": self.name, "runs_before": self.runs_before}
        found |= {"snapshot": self.snapshot} if self.snapshot else {}
        return found | (self.took._asdict() if self.took else {})


@dataclass
class _Shared:
    name: str
    path: Path
    took: LoadTime
    runs: int = 0


class Loads:
    """The databases of a study's runs below `folder`. used: names of loads that stored runs are from.

    timeout_s: the longest a load may take. on_event: hears the driver while it loads, with the snapshot's key.
    """

    def __init__(
        self,
        snapshots: Snapshots,
        folder: Path,
        todo: Sequence[PlannedRun],
        used: Collection[str] = (),
        timeout_s: float = 3600,
        on_event: Callable[[str, Event], None] = lambda key, event: None,
    ) -> None:
        self._snapshots, self._folder, self._timeout_s, self._on_event = snapshots, folder, timeout_s, on_event
        self._used = set(used)
        self._places = {base: MadeFileSystem(base) for base in dict.fromkeys([folder, *map(self._base, todo)])}
        self._left = Counter(self._unit(run) for run in todo if run.load_unit)
        self._shared: dict[str, _Shared] = {}
        self._external: Counter[str] = Counter()

    def _unit(self, run: PlannedRun) -> str:
        place = f"-{list(self._places).index(self._base(run)) + 1}" if len(self._places) > 1 else ""
        return f"{run.load_unit}-{self._snapshots.key(run)}{place}"

    def _base(self, run: PlannedRun) -> Path:
        return base_of(run, self._folder)

    def _ready(self, run: PlannedRun, *, new: bool, copies: int = 1) -> Path:
        """The folder in which the run's databases lie. A file system made for the run has room for the copies."""
        base = self._base(run)
        if run.file_system is None:
            return base
        made = self._places[base]
        if not new:
            return made.mounted
        return made.make(dataclasses.replace(run.file_system, size_mb=copies * run.file_system.size_mb))

    def prepare(self, run: PlannedRun) -> PreparedDatabase:
        """The database of a run. Raises DatabaseError (a load failed) or StoreError."""
        if run.load_unit is None:
            path = self._ready(run, new=True) / "run"
            self._snapshots.restore(run, path)
            if system_of(run).users_host:
                return self._of_user(run, path)
            key, took = self._snapshots.key(run), self._snapshots.load_time(run)
            return PreparedDatabase(path, f"run-{run.index + 1}", 0, key, took)
        unit = self._unit(run)
        shared = self._shared.get(unit) or self._load(run, unit)
        return PreparedDatabase(shared.path, shared.name, shared.runs, took=shared.took)

    def _of_user(self, run: PlannedRun, path: Path) -> PreparedDatabase:
        """What the user has loaded: every run of this study works on it."""
        key = self._snapshots.key(run)
        self._external[key] += 1
        return PreparedDatabase(path, f"user-{key}", self._external[key] - 1)

    def copies(self, run: PlannedRun, count: int) -> list[Path]:
        """Makes a database for each execution of a run that is executed several times."""
        folder = self._ready(run, new=run.file_system is not None, copies=count)
        paths = [folder / f"run-{i + 1}" for i in range(count)]
        for path in paths:
            self._snapshots.restore(run, path)
        return paths

    def path_for(self, run: PlannedRun, server: str) -> Path:
        """Where the data of a run lie that are of one of several servers."""
        return self._ready(run, new=False) / f"run-{server}"

    def copy_for(self, run: PlannedRun, server: str) -> Path:
        """Makes the data for one of several servers that a command runs on at once."""
        path = self.path_for(run, server)
        self._snapshots.restore(run, path)
        return path

    def keep_logs(self, run: PlannedRun, target: Path) -> Path | None:
        """Copies the server logs of a failed run to target and returns it; None without logs or room."""
        return copy_logs(self._ready(run, new=False) / "run", target)

    def done(self, run: PlannedRun, *, failed: bool) -> None:
        """A run has ended. A shared database goes with its last run, and with one that failed: it may be harmed."""
        if run.load_unit is None:
            if run.file_system is not None:
                self._places[self._base(run)].remove()
            for path in _beginning_with(self._base(run), "run"):
                _remove(path)
            return
        unit = self._unit(run)
        self._left[unit] -= 1
        if shared := self._shared.get(unit):
            shared.runs += 1
            if failed or self._left[unit] <= 0:
                shutil.rmtree(shared.path, ignore_errors=True)
                del self._shared[unit]

    def _load(self, run: PlannedRun, unit: str) -> _Shared:
        name = next(n for n in (unit, *(f"{unit}-again-{i}" for i in range(1, 10_000))) if n not in self._used)
        path = self._base(run) / "loads" / name
        key = self._snapshots.key(run)
        took = self._snapshots.load_at(run, path, self._timeout_s, lambda event: self._on_event(key, event))
        self._used.add(name)
        self._shared[unit] = _Shared(name, path, took)
        return self._shared[unit]

    def close(self) -> None:
        """Removes leftovers, also those of a killed study."""
        for base, made in self._places.items():
            made.remove()
            for path in (base / "run", base / "loads", *_beginning_with(base, "run-")):
                _remove(path)


def forget_pages(folder: Path) -> None:
    """Ask the kernel to drop the page cache of clean files below a folder, so that who reads them next pays for it."""
    for path in folder.rglob("*"):
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(handle)


def _beginning_with(folder: Path, name: str) -> list[Path]:
    try:
        return [folder / each for each in os.listdir(folder) if each.startswith(name)]  # noqa: PTH208 - few are Paths
    except FileNotFoundError:
        return []


def _remove(path: Path) -> None:
    """A folder, or the FIFO of a command's output that a killed study left: rmtree would wait for its writer."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
