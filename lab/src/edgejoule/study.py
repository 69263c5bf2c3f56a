"""A study: the plan of an experiment, run by run, into the store. Interruptible at any point, resumable."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from edgejoule import environment
from edgejoule.databases import Event, Snapshots
from edgejoule.errors import DatabaseError, StoreError, UsageError
from edgejoule.meters.base import Meter
from edgejoule.meters.sampler import LivePower
from edgejoule.plan import PlannedRun, make_plan
from edgejoule.run import Bench, measure
from edgejoule.spec import Spec
from edgejoule.store import Experiment, Run, RunData, Store


class Watcher(Protocol):
    """Who is told how a study goes: a progress bar, a live page."""

    def started(self, experiment: Experiment, todo: Sequence[PlannedRun], done: Sequence[Run]) -> None:
        """Once, before anything is loaded or measured."""
        ...

    def loading(self, key: str, share: float) -> None:
        """A database is being loaded; share of its records so far, 0..1."""
        ...

    def running(self, planned: PlannedRun) -> None:
        """A run begins."""
        ...

    def event(self, event: Event) -> None:
        """The driver said something."""
        ...

    def power(self, power: LivePower) -> None:
        """The meter said something; called from another thread."""
        ...

    def ran(self, run: Run) -> None:
        """A run is in the store."""
        ...


@dataclass(frozen=True)
class Places:
    """Where a study keeps things: the store, loaded snapshots, and the data directory the databases run in."""

    store: Path
    snapshots: Path
    data: Path

    @classmethod
    def beside(cls, store: Path, data: Path | None = None) -> Places:
        """The default places, beside the store."""
        folder = store.absolute().parent
        return cls(store, folder / "snapshots", data.absolute() if data else folder / "data")


def prepare(
    store: Store,
    spec: Spec,
    spec_toml: str,
    places: Places,
    *,
    resume: bool,
    energy_words: str,
    min_ratio: float | None,
) -> Experiment:
    """The experiment to run: a new one, or with resume the latest unfinished one of the same spec.

    Raises UsageError when there is nothing to resume.
    """
    if resume:
        found = store.unfinished(spec)
        if found is None:
            raise UsageError(
                f"nothing to resume: {store.path} holds no unfinished experiment of this spec (name {spec.name!r}, "
                "same factors, settings and seed); run without --resume"
            )
        return found
    experiment_id = store.create_experiment(
        spec,
        spec_toml,
        make_plan(spec),
        energy_words=energy_words,
        energy_min_ratio=min_ratio,
        environment=environment.capture(places.data),
    )
    return store.find(str(experiment_id))


def conduct(
    store: Store, experiment: Experiment, meter: Meter, places: Places, watcher: Watcher, *, keep_going: bool = False
) -> list[Run]:
    """Do every run of the experiment that is not finished; the meter is open. Returns all runs.

    A run that fails is stored as failed with its cause; then the study stops with DatabaseError, or with keep_going
    goes on. KeyboardInterrupt passes through: what is finished is stored, the run under way is not.
    """
    spec = experiment.spec
    done = {r.run_index: r for r in store.runs(experiment.id) if r.status == "finished"}
    todo = [p for p in make_plan(spec) if p.index not in done]
    snapshots = Snapshots(places.snapshots)
    with _alone(places.data):
        watcher.started(experiment, todo, list(done.values()))
        _load_missing(snapshots, todo, spec, watcher)
        bench = Bench(meter, snapshots, places.data / "run", spec.timing, watcher.event, watcher.power)
        for planned in todo:
            watcher.running(planned)
            run, data = _measure(planned, bench)
            store.record(experiment.id, run, data)
            watcher.ran(run)
            if run.status == "failed" and not keep_going:
                raise DatabaseError(f"run {planned.index + 1} ({planned.label()}) failed: {run.cause}")
        shutil.rmtree(places.data / "run", ignore_errors=True)
    return store.runs(experiment.id)


def _measure(planned: PlannedRun, bench: Bench) -> tuple[Run, RunData]:
    try:
        return measure(planned, bench)
    except DatabaseError as error:
        return Run(planned.index, planned.block, planned.levels, "failed", cause=str(error)), RunData()


def _load_missing(snapshots: Snapshots, todo: Sequence[PlannedRun], spec: Spec, watcher: Watcher) -> None:
    for planned in todo:
        if snapshots.has(planned):
            continue
        key = snapshots.key(planned)
        watcher.loading(key, 0.0)
        try:
            snapshots.load(planned, spec.timing.run_timeout_s, _load_listener(watcher, key))
        except DatabaseError as error:
            raise DatabaseError(f"loading {planned.database} failed: {error}") from error
        watcher.loading(key, 1.0)


def _load_listener(watcher: Watcher, key: str) -> Callable[[Event], None]:
    def on_event(event: Event) -> None:
        if event["event"] == "interval" and event.get("operations_planned"):
            watcher.loading(key, min(0.99, event["operations_total"] / event["operations_planned"]))

    return on_event


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Only one study at a time measures in a data folder: two would disturb each other."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StoreError(f"{folder}: databases cannot run here: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise UsageError(f"{folder}: another study is measuring here; wait for it, or name another --data") from error
    finally:
        os.close(handle)
