"""Conducts a study: executes the plan of an experiment run by run and stores the results. It can be interrupted at any
time and resumed.

Nothing is stored before every database is loaded, so a study that cannot start leaves the store unchanged.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from edgejoule.commands import shells
from edgejoule.commands.setups import Setups
from edgejoule.commands.supervisor import remove_left_marks
from edgejoule.database_servers.record import remove_leftovers
from edgejoule.databases.checks import left_out, no_run_here
from edgejoule.databases.driver import Event
from edgejoule.databases.loads import Loads, base_of
from edgejoule.databases.snapshots import Snapshots
from edgejoule.databases.system_under_test import system_of
from edgejoule.dictionary.properties import POLICY
from edgejoule.errors import BusyError, DatabaseError, StoreError, StudyInterruptedError, UsageError
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import Addition, PlannedRun, cell_label, make_plan
from edgejoule.findings.text import count
from edgejoule.machine import environment
from edgejoule.machine.file_system import wiping
from edgejoule.machine.storage_speed import measure_speed
from edgejoule.machine.wiped_disk import Wiping
from edgejoule.meters.base import Meter
from edgejoule.meters.sampler import LivePower
from edgejoule.store import Experiment, Run, RunData, Store
from edgejoule.study import sequential
from edgejoule.study.context import RunContext
from edgejoule.study.cool_down import cool_down
from edgejoule.study.metering import Metering
from edgejoule.study.run import at_full, full_rate, learn, measure
from edgejoule.study.run_clocks import clock_plan
from edgejoule.study.run_length import shortest_s
from edgejoule.study.servers import Servers
from edgejoule.unusable_files import reason

_REACHED = "reached_ops_s"  # the experiment's note of the rates behind its load curve
SHELL_STARTS = "shell_starts"
IDLE = "idle_power_at_begin"  # the experiment's note of the state that its runs wait for
SPEED_S = 0.2  # time for each kind of request when an experiment begins


class Watcher(Protocol):
    """Receives the progress of a study: a progress bar, a live page."""

    def started(self, study: Study, todo: Sequence[PlannedRun], done: int, busy_share: float | None) -> None:
        """Called once, before anything is loaded or measured. done: finished runs of a resumed study. busy_share: share
        of all CPUs that others use now.
        """
        ...

    def nothing_to_do(self, experiment: Experiment) -> None:
        """Called instead of `started` if the experiment has every requested run."""
        ...

    def loading(self, key: str, share: float) -> None:
        """Reports the progress of loading a database; share of its records so far, 0..1."""
        ...

    def calibrating(self, cell: str) -> None:
        """Reports that the full-load rate of a cell is being measured for a load curve."""
        ...

    def learning(self, cell: str) -> None:
        """Reports that the servers of a federation learn the cost of a cell's compactions."""
        ...

    def running(self, planned: PlannedRun) -> None:
        """Reports that a run begins."""
        ...

    def event(self, event: Event) -> None:
        """Passes on an event of the driver."""
        ...

    def power(self, power: LivePower) -> None:
        """Passes on a reading of the meter; called from another thread."""
        ...

    def interim_result(self, message: str, replications: int) -> None:
        """Reports the result of a declared interim analysis. replications: of every cell, as decided by it."""
        ...

    def ran(self, run: Run) -> None:
        """Reports that a run is in the store."""
        ...


@dataclass(frozen=True)
class Places:
    """The folders of a study: the store, loaded snapshots, and the data folder of the databases.

    A study holds a lock in each of them.
    """

    store: Path
    snapshots: Path
    data: Path

    @classmethod
    def beside(cls, store: Path, data: Path | None = None) -> Places:
        """Returns the default folders, beside the store. data: the user's folder for all files of databases."""
        folder = store.absolute().parent
        if data is None:
            return cls(store, folder / "snapshots", folder / "data")
        return cls(store, data.absolute() / "snapshots", data.absolute())

    def wiping(self, serials: Collection[str]) -> Wiping:
        """Returns the permission to wipe disks with these serial numbers, but none of the study's own folders."""
        return wiping(serials, self.data, [self.store.parent, self.snapshots, self.data])

    @property
    def locked(self) -> list[Path]:
        """The folders with a lock, each once."""
        return _distinct([self.store.parent, self.data, self.snapshots])


@dataclass(frozen=True)
class Study:
    """The specification of a study and its tools. The meters are open; the first one gives the runs' joules.

    spec_toml: the text of the spec. options: command-line changes, as arguments that repeat them. energy_words,
    min_ratio: see store.Experiment. clock_token: the secret of the servers in meter.clocks. servers: the running
    federation of the study. wipe: serial numbers of the disks that runs may wipe.
    """

    spec: Spec
    spec_toml: str
    options: Sequence[str]
    meters: Sequence[Meter]
    energy_words: str
    min_ratio: float | None
    places: Places
    clock_token: bytes = b""
    servers: Servers | None = None
    wipe: Collection[str] = ()

    def identity(self) -> dict[str, Any]:
        """Returns what must not change within an experiment: the meter with its whole description, and the driver."""
        meter, *others = self.meters
        facts = {heading: list(lines) for heading, lines in meter.facts().items()}
        beside = {"meters beside": [f"{other.name}: {other.describe()}" for other in others]} if others else {}
        plan = make_plan(self.spec)
        absent = left_out(self.spec, plan)
        here = [system_of(run) for run in plan if run.index not in absent]
        digests = {n: d for system in here for n, d in system.client_digests().items()}
        return {"meter": meter.name, "reads": meter.describe(), **facts, **beside, **digests}


def conduct(
    store: Store,
    study: Study,
    watcher: Watcher,
    *,
    resume: bool = False,
    rerun_flagged: bool = False,
    more: int = 0,
    keep_going: bool = False,
    only: Callable[[PlannedRun], bool] = lambda run: True,
) -> tuple[Experiment, list[Run]]:
    """Conducts every run of the study that is not finished; returns the experiment and all its runs.

    resume: continue the latest unfinished experiment of the same spec, meter and driver (UsageError if there is none).
    rerun_flagged: repeat every run of the latest finished experiment whose conditions were flagged; all attempts are
    stored, and store.RULE selects the one that counts. more: add so many replications of the cells of `only` to the
    latest finished experiment. only: which runs to conduct now; the others stay planned. A failed run is stored as
    failed with its cause; then the study stops with DatabaseError, or continues if keep_going is set. Runs of an
    optional database that is not here are stored as not_here with the cause, which `resume` makes where it is.

    Raises StudyInterruptedError on Ctrl-C: finished runs are stored, the current run is not.
    """
    places = study.places
    sequential.check(study.spec, study.meters[0].method)
    with contextlib.ExitStack() as alone:
        paths = (base_of(p, places.data) for p in make_plan(study.spec))
        folders = list(dict.fromkeys([places.data, places.snapshots, *paths]))
        for folder in _distinct([*places.locked, *folders]):
            alone.enter_context(_alone(folder))
        addition = _addition(study.spec, more, only) if more else None
        experiment = _to_continue(store, study, resume=resume, rerun_flagged=rerun_flagged, extend=addition is not None)
        added = [*(experiment.added if experiment else ()), *([addition] if addition else [])]
        plan = make_plan(study.spec, added)
        finished = [r for r in store.runs(experiment.id) if r.status == "finished"] if experiment else []
        left = _left(plan, finished, rerun_flagged=rerun_flagged)
        wanted = plan[-addition.runs :] if addition else [p for p in left if only(p)]
        absent = left_out(study.spec, wanted)
        todo = [p for p in wanted if p.index not in absent]
        if not todo and absent and (experiment is None or addition is not None):
            raise no_run_here(absent.values())
        if experiment is not None and not todo:
            watcher.nothing_to_do(experiment)
            return experiment, store.runs(experiment.id)
        surroundings = environment.capture(places.data)
        surroundings["storage"] |= _speed(places.data)
        done = sum(not (rerun_flagged and run.conditions) for run in finished)
        watcher.started(study, todo, done, surroundings["system"]["cpu_busy_share_before"])
        snapshots = Snapshots(places.snapshots)
        context = _context(study, snapshots, todo, finished, watcher, experiment)
        if context.cool_down and context.cool_down.idle:
            surroundings[IDLE] = dataclasses.asdict(context.cool_down.idle)
        try:
            for folder in folders:
                remove_leftovers(folder)  # left by a study that was killed
            remove_left_marks()
            context.loads.close()
            _load_missing(snapshots, todo, study.spec, watcher, keep_going)
            reached = dict(experiment.environment.get(_REACHED, {})) if experiment else {}
            learnt = _reached(context, [p for p in todo if at_full(p) not in reached], watcher)
            reached |= learnt
            starts = _shell_starts(experiment, todo, places.data)
            noted = {_REACHED: reached, SHELL_STARTS: shells.to_note(starts)}
            if experiment is not None:  # a database that was not here before brings its client
                noted["identity"] = {**experiment.environment.get("identity", {}), **study.identity()}
            if experiment is None:
                experiment = _create(store, study, {**surroundings, **{k: v for k, v in noted.items() if v}})
            elif addition is not None:
                store.extend(experiment.id, addition, wanted)
            _leave_out(store, experiment, wanted, absent)
            for heading, value in noted.items():
                if value and experiment.environment.get(heading) != value:
                    store.note(experiment.id, heading, value)
            context = dataclasses.replace(context, reached_ops_s=reached, shells=starts)
            with Setups(places.data, study.spec.timing.run_timeout_s) as setups:
                context = dataclasses.replace(context, setups=setups)
                _learn(context, todo, watcher)
                _run_all(store, experiment, context, todo, watcher, keep_going, again=rerun_flagged)
        except KeyboardInterrupt as error:
            raise StudyInterruptedError(_how_far(store, experiment)) from error
        except StoreError as error:
            if experiment is None:
                raise
            raise StoreError(f"{error}; afterwards the same command with --resume continues") from error
        finally:
            context.loads.close()
    return experiment, store.runs(experiment.id)


def _context(
    study: Study,
    snapshots: Snapshots,
    todo: Sequence[PlannedRun],
    finished: Sequence[Run],
    watcher: Watcher,
    experiment: Experiment | None,
) -> RunContext:
    """Returns the shared state of the runs; for a resumed study, as the finished runs had it."""

    def loading(key: str, event: Event) -> None:
        _load_listener(watcher, key)(event)

    timing = study.spec.timing
    used = [r.facts["load"]["name"] for r in finished if "load" in r.facts]
    wipes = study.places.wiping(study.wipe)
    loads = Loads(snapshots, study.places.data, todo, used, timing.run_timeout_s, loading, wipes)
    executions = {
        cell_label(r.levels): r.facts[several]
        for r in finished
        for several in ("executions", "repetitions")
        if several in r.facts
    }
    asked_s = study.spec.meter.run_s_min
    least_s = max(map(shortest_s, study.meters)) if asked_s is None else asked_s
    cooling = cool_down(timing, study.meters, experiment.environment.get(IDLE) if experiment else None)
    return RunContext(
        study.meters, loads, timing, watcher.event, watcher.power, least_s, executions, cool_down=cooling,
        servers=study.servers, declared=study.spec.responses,
        clocks=clock_plan(timing, study.spec.meter.clocks, study.meters, study.clock_token),
    )  # fmt: skip


def _speed(folder: Path) -> dict[str, float | None]:
    """Measures the speed of the data path with 4 KB requests; `edgejoule doctor` measures it for longer."""
    speed = measure_speed(folder, SPEED_S)
    return {
        "sync_writes_4kb_per_s": speed.sync_writes.per_s and round(speed.sync_writes.per_s),
        "random_reads_4kb_per_s": speed.random_reads.per_s and round(speed.random_reads.per_s),
    }


def _shell_starts(
    experiment: Experiment | None, todo: Sequence[PlannedRun], folder: Path
) -> dict[str, shells.ShellStart]:
    """Measures the start of the commands' shells; for a continued experiment returns the stored values."""
    known = shells.from_note(experiment.environment.get(SHELL_STARTS, {})) if experiment else {}
    return known | {s: shells.measure_start(s, folder) for s in shells.shells_of(todo) if s not in known}


def _reached(context: RunContext, todo: Sequence[PlannedRun], watcher: Watcher) -> dict[str, float]:
    """Returns the full-load rate of every cell of a load curve, in ops/s."""
    result: dict[str, float] = {}
    for planned in todo:
        if planned.load_percent is not None and at_full(planned) not in result:
            watcher.calibrating(at_full(planned))
            result[at_full(planned)] = full_rate(planned, context)
            context.loads.done(planned, failed=False)
    return result


def _learn(context: RunContext, todo: Sequence[PlannedRun], watcher: Watcher) -> None:
    """Lets a new federation see compactions of every kind of run, because it has no history to predict from."""
    if not context.servers or not context.servers.learning:
        return
    shown: set[str] = set()
    for planned in todo:
        cell = cell_label({name: level for name, level in planned.levels.items() if name != POLICY}) or "all"
        if cell in shown or planned.load_percent == 0:
            continue
        shown.add(cell)
        watcher.learning(cell)
        learn(planned, context)
        context.loads.done(planned, failed=False)


def _run_all(
    store: Store,
    experiment: Experiment,
    context: RunContext,
    todo: Sequence[PlannedRun],
    watcher: Watcher,
    keep_going: bool,
    *,
    again: bool,
) -> None:
    metering = Metering(store, experiment.id, context.meters, context.on_power, context.clocks)
    last_block = min((look["total"] for look in sequential.looks_of(experiment)), default=None)
    if todo and (begun := min(p.block for p in todo)) > 0:  # a study stopped between a block and its interim analysis
        last_block = _look(store, experiment, begun, watcher) or last_block
    left = Counter(planned.block for planned in todo)
    for planned in todo:
        left[planned.block] -= 1
        if last_block is not None and planned.block >= last_block:
            continue
        watcher.running(planned)
        if again:
            store.again(experiment.id, planned.index)
        began_s = time.monotonic()
        run, kept = _measure(planned, context, metering)
        if experiment.spec.design.sequential and experiment.spec.design.sequential.budget_s:
            run = dataclasses.replace(run, facts={**run.facts, sequential.TOOK: round(time.monotonic() - began_s, 3)})
        if run.status == "failed" and system_of(planned).has_server:
            logs = store.path.parent / "logs" / f"{experiment.spec.name}-{experiment.id}" / f"run-{planned.index + 1}"
            if context.loads.keep_logs(planned, logs):
                run = dataclasses.replace(run, cause=f"{run.cause}; whole logs: {logs}")
        context.loads.done(planned, failed=run.status == "failed")
        store.record(experiment.id, run, kept)
        watcher.ran(run)
        if run.status == "failed" and not keep_going:
            raise DatabaseError(f"run {planned.index + 1} ({planned.label()}) failed: {run.cause}")
        if not any(left[block] for block in range(planned.block + 1)):
            last_block = _look(store, experiment, planned.block + 1, watcher) or last_block
    if closed := sequential.close(store, store.find(str(experiment.id))):
        watcher.interim_result(closed.words, closed.total)


def _leave_out(store: Store, experiment: Experiment, wanted: Sequence[PlannedRun], absent: Mapping[int, str]) -> None:
    """Stores why the runs of optional databases are not made. A run that failed keeps its cause."""
    failed = {run.run_index for run in store.runs(experiment.id) if run.status == "failed"}
    for p in wanted:
        if p.index in absent and p.index not in failed:
            store.record(experiment.id, Run(p.index, p.block, p.levels, "not_here", absent[p.index]), RunData())


def _look(store: Store, begun: Experiment, replications: int, watcher: Watcher) -> int | None:
    """Conducts an interim analysis if one is due; returns the resulting number of replications. Marks the runs beyond
    it as forgone.
    """
    if not begun.spec.design.sequential:
        return None
    experiment = store.find(str(begun.id))  # with the interim analyses so far
    due = sequential.look_due(experiment.spec, replications, len(sequential.looks_of(experiment)))
    if due is None:
        return None
    taken = sequential.take(store, experiment, due)
    watcher.interim_result(taken.words, taken.total)
    if taken.total < experiment.spec.design.replications:
        store.forgo(begun.id, taken.total)
    return taken.total


def _create(store: Store, study: Study, surroundings: Mapping[str, Any]) -> Experiment:
    experiment_id = store.create_experiment(
        study.spec,
        study.spec_toml,
        make_plan(study.spec),
        energy_words=study.energy_words,
        energy_min_ratio=study.min_ratio,
        environment={**surroundings, "identity": study.identity(), "options": list(study.options)},
    )
    return store.find(str(experiment_id))


def _to_continue(store: Store, study: Study, *, resume: bool, rerun_flagged: bool, extend: bool) -> Experiment | None:
    """Returns the experiment to go on with; None for a new one. Raises UsageError."""
    if resume:
        return _to_resume(store, study)
    if rerun_flagged:
        return _to_repeat(store, study)
    return _same(_to_extend(store, study.spec), study) if extend else None


def left_to_do(store: Path, spec: Spec, *, rerun_flagged: bool) -> list[PlannedRun]:
    """Returns the runs that `conduct` with `resume` or `rerun_flagged` would make. Raises UsageError, StoreError."""
    with Store.open(store) as opened:
        experiment = _flagged(opened, spec) if rerun_flagged else _unfinished(opened, spec)
        runs = opened.runs(experiment.id)
    finished = [run for run in runs if run.status == "finished"]
    return _left(make_plan(spec, experiment.added), finished, rerun_flagged=rerun_flagged)


def _left(plan: Sequence[PlannedRun], finished: Sequence[Run], *, rerun_flagged: bool) -> list[PlannedRun]:
    """Returns the runs that are not finished; for `rerun_flagged` those that are and whose conditions were flagged."""
    if rerun_flagged:
        flagged = {run.run_index for run in finished if run.conditions}
        return [planned for planned in plan if planned.index in flagged]
    done = {run.run_index for run in finished}
    return [planned for planned in plan if planned.index not in done]


def _to_resume(store: Store, study: Study) -> Experiment:
    return _same(_unfinished(store, study.spec), study)


def _unfinished(store: Store, spec: Spec) -> Experiment:
    """Returns the latest unfinished experiment of the spec. Raises UsageError."""
    result = store.unfinished(spec)
    if result is None:
        raise UsageError(f"nothing to resume: {_why_none(store, spec)}; run without --resume")
    return result


_DIFFERENCES_MAX, _VALUE_LENGTH = 3, 60


def _why_none(store: Store, spec: Spec) -> str:
    """Returns how the latest unfinished experiment differs from the spec, or that there is none."""
    if (own := store.latest_of(spec)) is not None:
        return f"experiment {own.id} of this spec is finished"
    latest = next((e for e in reversed(store.experiments()) if not e.finished), None)
    if latest is None:
        return f"{store.path} holds no unfinished experiment"
    others = latest.spec.commands
    if others and spec.commands and others.keys() != spec.commands.keys():
        listed = ", ".join(map(repr, others))
        return f"the latest unfinished experiment ({latest.id}, {latest.progress}) is of another command: {listed}"
    there, here = _leaves(latest.spec.measured()), _leaves(spec.measured())
    differing = [key for key in {**there, **here} if there.get(key) != here.get(key)]
    each = [f"{key} ({_value(there, key)} there, {_value(here, key)} here)" for key in differing[:_DIFFERENCES_MAX]]
    more = f" and {len(differing) - len(each)} more" if len(differing) > len(each) else ""
    return f"the unfinished experiment {latest.id} ({latest.progress}) differs in {', '.join(each)}{more}"


def _leaves(values: Any, path: str = "") -> dict[str, Any]:
    """Returns every value within nested tables, by its path."""
    if not isinstance(values, Mapping) or not values:
        return {path: values}
    result: dict[str, Any] = {}
    for key, value in values.items():
        result |= _leaves(value, f"{path}.{key}" if path else str(key))
    return result


def _value(leaves: Mapping[str, Any], key: str) -> str:
    if key not in leaves:
        return "nothing"
    text = str(leaves[key])
    return text if len(text) <= _VALUE_LENGTH else f"{text[: _VALUE_LENGTH - 1]}…"


def _to_repeat(store: Store, study: Study) -> Experiment:
    return _same(_flagged(store, study.spec), study)


def _flagged(store: Store, spec: Spec) -> Experiment:
    """Returns the latest experiment of the spec that has runs to repeat. Raises UsageError."""
    if spec.design.sequential or spec.design.shares_loads:
        raise UsageError(
            "--rerun-flagged: a sequential design has analysed the runs, and runs that share a load cannot be "
            "repeated alone; only a design of independent runs can"
        )
    result = store.latest_of(spec)
    if result is None or not result.finished:
        raise UsageError(f"--rerun-flagged: {store.path} holds no finished experiment of this spec; --resume continues")
    if not any(run.conditions for run in store.runs(result.id)):
        raise UsageError(f"--rerun-flagged: no run of experiment {result.id} is flagged for its conditions")
    return result


def _addition(spec: Spec, more: int, only: Callable[[PlannedRun], bool]) -> Addition:
    chosen = tuple(dict(p.levels) for p in make_plan(spec) if p.block == 0 and only(p))
    return Addition(more, chosen, time.time_ns())


def _to_extend(store: Store, spec: Spec) -> Experiment:
    """Returns the finished experiment of the spec. Raises UsageError."""
    if spec.design.sequential or spec.design.shares_loads:
        raise UsageError(
            "--more: a sequential design has fixed its number of runs, and runs that share a load cannot be added "
            "alone; only a design of independent runs takes more"
        )
    result = store.latest_of(spec)
    if result is None:
        raise UsageError(f"--more: {store.path} holds no experiment of this spec; run without --more")
    if not result.finished:  # a run that failed is no obstacle: it may fail every time
        raise UsageError(f"--more: experiment {result.id} is not finished ({result.progress}); --resume finishes it")
    return result


def plan_of_more(store: Path, spec: Spec, more: int, only: Callable[[PlannedRun], bool]) -> list[PlannedRun]:
    """Returns the runs that `conduct` with `more` would add. Raises UsageError, StoreError."""
    addition = _addition(spec, more, only)
    with Store.open(store) as opened:
        return make_plan(spec, [*_to_extend(opened, spec).added, addition])[-addition.runs :]


def continuation(store: Store, study: Study, *, partial: bool) -> tuple[bool, str | None]:
    """Returns whether a study without --resume continues the existing experiment of its spec, and a message about it.

    partial: only some runs (--only). They go to the spec's unfinished experiment; a whole study begins a new one.
    """
    latest = store.latest_of(study.spec)
    if latest is None:
        return False, None
    name = f"experiment {latest.id} of this spec ({latest.progress})"
    if latest.finished and not latest.counts.get("failed"):
        return False, f"begins another experiment: {name} is finished and stays as it is" if partial else None
    if not partial:
        return False, f"begins another experiment: {name} is not finished; --resume continues it"
    if changed := _changed(latest, study):
        return False, f"begins another experiment: {name} had another {', '.join(changed)}"
    return True, f"continues {name}"


def _changed(stored: Experiment, study: Study) -> list[str]:
    """Returns the properties of meter and driver that differ from those of the experiment's runs."""
    before, now = stored.environment.get("identity", {}), study.identity()
    return [key for key in {**before, **now} if before.get(key) != now.get(key) and not _of_absent(key, before, now)]


def _of_absent(key: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Returns whether the key is of a program that works on an optional database, which is not here now or before."""
    return key.endswith("_sha256") and (key not in before or key not in now)


def _same(stored: Experiment, study: Study) -> Experiment:
    """Returns the experiment if its runs had this meter and driver. Raises UsageError otherwise."""
    before, now = stored.environment.get("identity", {}), study.identity()
    if changed := _changed(stored, study):
        raise UsageError(
            f"experiment {stored.id} cannot go on: its finished runs had another {', '.join(changed)} "
            f"({before.get(changed[0])!r} then, {now.get(changed[0])!r} now); run without --resume"
        )
    return stored


def _how_far(store: Store, experiment: Experiment | None) -> str:
    if experiment is None:
        return "interrupted: nothing is stored yet; databases that are loaded stay so"
    counts = store.find(str(experiment.id)).counts
    return (
        f"interrupted: {count(counts.get('finished', 0), 'run')} stored, {counts.get('planned', 0)} left; "
        "the same command with --resume continues"
    )


def _measure(planned: PlannedRun, context: RunContext, metering: Metering) -> tuple[Run, RunData]:
    try:
        return measure(planned, context, metering)
    except (DatabaseError, StoreError) as error:  # StoreError: no space for its copy of the loaded database
        return Run(planned.index, planned.block, planned.levels, "failed", cause=str(error)), RunData()


def _load_missing(
    snapshots: Snapshots, todo: Sequence[PlannedRun], spec: Spec, watcher: Watcher, keep_going: bool
) -> None:
    """Loads the databases that are not loaded yet. keep_going: if a load fails, its runs fail with the same cause."""
    tried: set[str] = set()
    for planned in todo:
        if planned.load_unit is not None or snapshots.has(planned):
            continue
        key = snapshots.key(planned)
        if key in tried:
            continue
        tried.add(key)
        watcher.loading(key, 0.0)
        try:
            snapshots.load(planned, spec.timing.run_timeout_s, _load_listener(watcher, key))
        except (DatabaseError, StoreError) as error:
            if not keep_going:
                raise DatabaseError(f"loading {planned.database} failed: {error}") from error
            snapshots.failed(planned, str(error))
        else:
            watcher.loading(key, 1.0)


def _load_listener(watcher: Watcher, key: str) -> Callable[[Event], None]:
    def on_event(event: Event) -> None:
        if event["event"] == "interval" and event.get("operations_planned"):
            watcher.loading(key, min(0.99, event["operations_total"] / event["operations_planned"]))

    return on_event


def _distinct(folders: Sequence[Path]) -> list[Path]:
    """Returns each folder once, although it may have several names: a lock is not taken twice."""
    return list(dict.fromkeys(folder.resolve() for folder in folders))


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Holds a folder's lock: two studies at a time would disturb each other."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StoreError(f"{folder}: databases cannot run here: {reason(error, folder)}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise BusyError(f"{folder}: another study is measuring here; wait for it") from error
    finally:
        os.close(handle)


@contextlib.contextmanager
def undisturbed(places: Places) -> Iterator[None]:
    """Keeps studies out of these folders for the block; creates none. Raises BusyError if a study is measuring."""
    with contextlib.ExitStack() as alone:
        for folder in places.locked:
            if (folder / "lock").exists():
                alone.enter_context(_alone(folder))
        yield


def check_free(places: Places) -> None:
    """Raises BusyError if another study is measuring. Called before a meter is opened; creates no folder."""
    with undisturbed(places):
        pass
