"""Provides the loaded database of each run: a restored copy, or a load that is made for it or for several runs.

`load = "run"`: every run gets a copy of the snapshot. `load = "fresh"`: every run gets a load of its own.
`load = "block"` or `"cell"`: the driver loads once for each block (of runs with the same content) or cell. Its runs
work on that database one after another; each starts from the state that the previous run left. Every run records the
load's name, because runs of one load are not independent.
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
from edgejoule.databases.system_under_test import Load, LoadTime, system_of
from edgejoule.experiment.plan import PlannedRun
from edgejoule.machine.file_system import MadeFileSystem
from edgejoule.machine.wiped_disk import Wiping

OWN_FOLDER = "edgejoule-data"  # folder below a run's data_path that edgejoule creates and removes


def base_of(run: PlannedRun, folder: Path) -> Path:
    """Returns the folder that contains a run's databases. folder: the study's own."""
    return folder if run.data_path is None else Path(run.data_path) / OWN_FOLDER


@dataclass(frozen=True)
class PreparedDatabase:
    """A database ready for a run: its path, the load's name, and the number of earlier runs on it.

    snapshot: the name of the restored snapshot; empty: loaded in place. took: time of the load; None: unknown.
    load: the load that was made for this run just now; None: the database was there.
    """

    path: Path
    name: str
    runs_before: int
    snapshot: str = ""
    took: LoadTime | None = None
    load: Load | None = None

    def facts(self) -> dict[str, Any]:
        """Returns the values for the run's record."""
        facts: dict[str, Any] = {"name": self.name, "runs_before": self.runs_before}
        facts |= {"snapshot": self.snapshot} if self.snapshot else {}
        return facts | (self.took._asdict() if self.took else {})


@dataclass
class _Shared:
    name: str
    path: Path
    took: LoadTime
    runs: int = 0


class Loads:
    """The databases of a study's runs below `folder`. used: names of the stored runs' loads.

    timeout_s: maximum duration of a load. on_event: receives the driver's events of a load, with the snapshot's key.
    wipes: which disks may be wiped for a run; None: none.
    """

    def __init__(
        self,
        snapshots: Snapshots,
        folder: Path,
        todo: Sequence[PlannedRun],
        used: Collection[str] = (),
        timeout_s: float = 3600,
        on_event: Callable[[str, Event], None] = lambda key, event: None,
        wipes: Wiping | None = None,
    ) -> None:
        self._snapshots, self._folder, self._timeout_s, self._on_event = snapshots, folder, timeout_s, on_event
        self._used = set(used)
        bases = dict.fromkeys([folder, *map(self._base, todo)])
        self._places = {base: MadeFileSystem(base, wipes=wipes) for base in bases}
        self._left = Counter(self._unit(run) for run in todo if run.load_unit)
        self._shared: dict[str, _Shared] = {}
        self._current: Path | None = None  # the latest run's database
        self._external: Counter[str] = Counter()

    def _unit(self, run: PlannedRun) -> str:
        place = f"-{list(self._places).index(self._base(run)) + 1}" if len(self._places) > 1 else ""
        return f"{run.load_unit}-{self._snapshots.key(run)}{place}"

    def _base(self, run: PlannedRun) -> Path:
        return base_of(run, self._folder)

    def _ready(self, run: PlannedRun, *, new: bool, copies: int = 1) -> Path:
        """Returns the folder for the run's databases. A file system made for the run has room for the copies."""
        base = self._base(run)
        if run.file_system is None:
            return base
        made = self._places[base]
        if not new:
            return made.mounted
        return made.make(dataclasses.replace(run.file_system, size_mb=copies * run.file_system.size_mb))

    def will_load(self, run: PlannedRun) -> bool:
        """Returns whether `prepare` makes the load of this run."""
        return run.load_unit is not None and self._unit(run) not in self._shared

    def prepare(self, run: PlannedRun, on_event: Callable[[Event], None] = lambda event: None) -> PreparedDatabase:
        """Prepares the database of a run. on_event: receives the events of a load that is made for it. Raises
        DatabaseError (a load failed) or StoreError.
        """
        if run.load_unit is None:
            self._current = path = self._ready(run, new=True) / "run"
            self._snapshots.restore(run, path)
            if system_of(run).users_host:
                return self._of_user(run, path)
            key, took = self._snapshots.key(run), self._snapshots.load_time(run)
            return PreparedDatabase(path, f"run-{run.index + 1}", 0, key, took)
        load = self._load(run, on_event) if self.will_load(run) else None
        shared = self._shared[self._unit(run)]
        self._current = shared.path
        return PreparedDatabase(shared.path, shared.name, shared.runs, took=shared.took, load=load)

    def _of_user(self, run: PlannedRun, path: Path) -> PreparedDatabase:
        """Returns the data that the user has loaded, which every run of this study works on."""
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
        """Returns the folder of a run's data for one of several servers."""
        return self._ready(run, new=False) / f"run-{server}"

    def copy_for(self, run: PlannedRun, server: str) -> Path:
        """Makes the data for one of several servers that a command runs on at once."""
        path = self.path_for(run, server)
        self._snapshots.restore(run, path)
        return path

    def keep_logs(self, run: PlannedRun, target: Path) -> Path | None:
        """Copies the server logs of a failed run to target and returns it; None without logs or room."""
        return copy_logs(self._current, target) if self._current else None

    def done(self, run: PlannedRun, *, failed: bool) -> None:
        """Ends a run. Removes a shared database after its last run, and after a failed one, which may have damaged
        it."""
        if run.file_system is not None:
            self._places[self._base(run)].remove()
        if run.load_unit is None:
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
        elif self._current is not None:  # the load has failed
            shutil.rmtree(self._current, ignore_errors=True)

    def _load(self, run: PlannedRun, on_event: Callable[[Event], None]) -> Load:
        """Loads the database of a run, and of those that share it, in place."""
        unit, key = self._unit(run), self._snapshots.key(run)
        name = next(n for n in (unit, *(f"{unit}-again-{i}" for i in range(1, 10_000))) if n not in self._used)
        self._current = path = self._ready(run, new=True) / "loads" / name

        def hear(event: Event) -> None:
            self._on_event(key, event)
            on_event(event)

        load = self._snapshots.load_at(run, path, self._timeout_s, hear)
        self._used.add(name)
        self._shared[unit] = _Shared(name, path, load.took)
        return load

    def close(self) -> None:
        """Removes leftovers, also those of a killed study."""
        for base, made in self._places.items():
            made.remove()
            for path in (base / "run", base / "loads", *_beginning_with(base, "run-")):
                _remove(path)


def _beginning_with(folder: Path, name: str) -> list[Path]:
    try:
        return [folder / each for each in os.listdir(folder) if each.startswith(name)]  # noqa: PTH208 - few are Paths
    except FileNotFoundError:
        return []


def _remove(path: Path) -> None:
    """Removes a folder, or the FIFO of a command's output that a killed study left: rmtree would wait for its
    writer."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
