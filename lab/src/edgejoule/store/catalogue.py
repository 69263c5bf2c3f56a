"""The store: one SQLite file that holds experiments, runs, responses, events, traces and latency histograms.

Invariants
- The outcome of a run is written in one transaction, whole or not at all: kill -9 loses at most the run under way.
- Nothing stored is changed by a later run; a failed run keeps its cause. A run that is repeated for its conditions
  keeps every attempt.
- A response that is missing has value NULL and a reason.
- Traces grow while their run is under way: kill -9 loses the readings of a run's first two seconds, later at most those
  of half a second and those that a program still gathers for the meter (filestream.GATHER_S).
"""

from __future__ import annotations

import contextlib
import itertools
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from edgejoule.errors import NoStoreError, StoreError, UsageError
from edgejoule.experiment.model import Level, Spec
from edgejoule.experiment.plan import Addition, PlannedRun
from edgejoule.meters.base import Clock
from edgejoule.meters.clocks import ClockRelation
from edgejoule.meters.sampler import Sampler
from edgejoule.meters.trace import Trace
from edgejoule.store.formats import (
    EXPERIMENTS_SCHEMA,
    NOTES_SINCE,
    READABLE,
    RUNS_SCHEMA,
    SCHEMA_VERSION,
    refusal,
    upgrade,
)
from edgejoule.store.notes import NOTES_SCHEMA, Note, notes_of
from edgejoule.store.recorder import TraceRecorder
from edgejoule.store.traces import TRACE_SCHEMA, RunTraces, StoredTrace
from edgejoule.unusable_files import reason
from edgejoule.version import __version__

_ID_DIGITS_MAX = 18  # SQLite's integers have at least as many
_BESIDE_FINISHED = {"failed": "failed", "not_here": "not here"}  # statuses of runs that --resume tries, and their words
ADDED = "added"  # the additions among an experiment's notes
APPLICATION_ID = 0x656A6F75  # "ejou", so that another program's SQLite file is not taken for a store

#: What a file is, in one statement, so that it cannot change in between.
_STATE = """
SELECT v.user_version, a.application_id, (SELECT count(*) FROM sqlite_master)
FROM pragma_user_version v, pragma_application_id a
"""

_SCHEMA = """
CREATE TABLE levels (
  run_id INTEGER NOT NULL REFERENCES runs(id), position INTEGER NOT NULL, factor TEXT NOT NULL,
  level_json TEXT NOT NULL,
  PRIMARY KEY (run_id, factor)) WITHOUT ROWID;
CREATE TABLE responses (
  run_id INTEGER NOT NULL REFERENCES runs(id), name TEXT NOT NULL, value REAL, unit TEXT NOT NULL,
  method TEXT NOT NULL CHECK (method IN ('measured', 'counted', 'modelled', 'timed')), uncertainty_k2 REAL,
  missing_reason TEXT, CHECK ((value IS NULL) = (missing_reason IS NOT NULL)),
  PRIMARY KEY (run_id, name)) WITHOUT ROWID;
CREATE TABLE events (run_id INTEGER NOT NULL REFERENCES runs(id), monotonic_ns INTEGER NOT NULL, json TEXT NOT NULL);
CREATE INDEX events_by_run ON events (run_id, monotonic_ns);
CREATE TABLE latencies (
  run_id INTEGER NOT NULL REFERENCES runs(id), operation TEXT NOT NULL, measure TEXT NOT NULL, hdr TEXT NOT NULL,
  PRIMARY KEY (run_id, operation, measure)) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class ResponseValue:
    """One answer of one run; see schemas/run-record.schema.json. uncertainty_k2: half width, same unit."""

    name: str
    value: float | None
    unit: str
    method: str
    uncertainty_k2: float | None = None
    missing_reason: str | None = None


@dataclass(frozen=True)
class Intervals:
    """The run's two intervals on CLOCK_MONOTONIC, ns. Both begin at active_start_ns."""

    active_start_ns: int
    active_end_ns: int
    settled_end_ns: int
    settled_complete: bool


@dataclass(frozen=True)
class Latency:
    """A latency histogram: operation and measure as in the driver's events, hdr as Python's hdrhistogram decodes it."""

    operation: str
    measure: str
    hdr: str


@dataclass(frozen=True)
class Run:
    """One run as stored. levels keep the order of the experiment's factors.

    facts: the circumstances of this run by heading (load, cache, memory, executions, environment), see
    schemas/run-record.schema.json. attempt: 0 for the first one at this run. set_aside: another attempt counts.
    """

    run_index: int
    block: int
    levels: Mapping[str, Level]
    status: str
    cause: str | None = None
    flags: tuple[str, ...] = ()
    started_realtime_ns: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    responses: tuple[ResponseValue, ...] = ()
    intervals: Intervals | None = None
    database: Mapping[str, Any] | None = None
    durability: Mapping[str, Any] | None = None
    meters: tuple[Mapping[str, Any], ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    id: int | None = None
    attempt: int = 0
    set_aside: bool = False

    @property
    def conditions(self) -> tuple[str, ...]:
        """The flags that depend on the run's conditions and not on a response."""
        return tuple(self.facts.get("conditions", ()))

    @property
    def repeated(self) -> int:
        """How many executions of the driver, or repetitions of a command, form the run."""
        return int(self.facts.get("executions", self.facts.get("repetitions", 1)))

    @property
    def is_command_alone(self) -> bool:
        """Whether a command without a database did the work."""
        return "command" in self.facts and self.database is None

    def value(self, name: str) -> float | None:
        """The value of a response; None if missing."""
        return next((r.value for r in self.responses if r.name == name), None)

    def record(self, experiment: str) -> dict[str, Any]:
        """The run as schemas/run-record.schema.json has it."""
        return {
            "schema_version": 1,
            "experiment": experiment,
            "run_index": self.run_index,
            "block": self.block,
            "levels": dict(self.levels),
            "status": self.status,
            "cause": self.cause,
            "flags": list(self.flags),
            "started_realtime_ns": self.started_realtime_ns,
            "responses": [asdict(r) for r in self.responses],
            "intervals": asdict(self.intervals) if self.intervals else None,
            "database": self.database,
            "durability": self.durability,
            "meters": list(self.meters),
            "facts": dict(self.facts),
            "attempt": self.attempt,
            "set_aside": self.set_aside,
        }


RULE = "the first attempt whose conditions were in order counts, whatever its figures, else the first attempt"


def counting(attempts: Sequence[Run]) -> Run:
    """The attempt that counts, of those at one run in the order they were made, by RULE.

    Conditions (throttling, temperature, idle power, clocks) are recorded without a response, and no response is
    read here: an attempt is never chosen by its result.
    """
    in_order = (run for run in attempts if run.status == "finished" and not run.conditions)
    return next(in_order, attempts[0])


@dataclass(frozen=True)
class RunData:
    """What a run leaves beside its record: driver events (as dicts), power traces, latency histograms."""

    events: Sequence[Mapping[str, Any]] = ()
    traces: Sequence[Trace] = ()
    latencies: Sequence[Latency] = ()


@dataclass(frozen=True)
class Primary:
    """The meter whose measured or counted joules are an experiment's. energy_words: see Experiment."""

    name: str
    describe: str
    energy_words: str


@dataclass(frozen=True)
class Experiment:
    """An experiment as stored.

    energy_words: the sentence that says which energy is measured, counted or modelled.
    energy_min_ratio: for modelled joules, the smallest ratio of two means that exceeds the model's prediction interval;
    None for measured and counted ones.
    """

    id: int
    name: str
    question: str
    spec: Spec
    spec_toml: str
    seed: int
    created_realtime_ns: int
    energy_words: str
    energy_min_ratio: float | None
    environment: Mapping[str, Any]
    counts: Mapping[str, int]  # status -> runs

    @property
    def added(self) -> tuple[Addition, ...]:
        """The replications that were added after the experiment was finished (`run --more`)."""
        return additions_of(self.environment)

    @property
    def replications(self) -> int:
        """The blocks of the plan, with those that were added."""
        return self.spec.design.replications + sum(addition.replications for addition in self.added)

    @property
    def finished(self) -> bool:
        """No run is left to do."""
        return self.counts.get("planned", 0) == 0

    @property
    def begun(self) -> str:
        """Date and time on this machine's clock."""
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.created_realtime_ns / 1e9))

    @property
    def progress(self) -> str:
        """How much of the plan is done: 4 of 8 runs finished, 1 failed."""
        others = [f"{n} {word}" for s, word in _BESIDE_FINISHED.items() if (n := self.counts.get(s, 0))]
        return ", ".join([f"{self.counts.get('finished', 0)} of {sum(self.counts.values())} runs finished", *others])


def additions_of(environment: Mapping[str, Any]) -> tuple[Addition, ...]:
    """The additions that an experiment's environment records."""
    each = environment.get(ADDED, [])
    return tuple(Addition(a["replications"], tuple(a["cells"]), a["realtime_ns"]) for a in each)


class SeveralError(UsageError):
    """A name that several experiments have: one of them must not be taken for all."""

    def __init__(self, path: Path, name: str, experiments: Sequence[Experiment]) -> None:
        each = "; ".join(f"{e.id} ({e.begun}, {e.progress})" for e in experiments)
        super().__init__(f"{path}: {len(experiments)} experiments have the name {name!r}: {each}. Give a number")
        self.experiments = tuple(experiments)


class Store:
    """Open with Store.open. One writer at a time; readers do not disturb it. Used by one thread."""

    def __init__(self, connection: sqlite3.Connection, path: Path, version: int = SCHEMA_VERSION) -> None:
        self._db = connection
        self.path = path
        self._version = version

    @classmethod
    def open(cls, path: Path, *, create: bool = False, read_only: bool = False) -> Store:
        """Open a store; with create, make it (and its folder) if absent. A store of an earlier format becomes one of
        the present format, unless it cannot be written or read_only is set. Without create, a store on a full or
        read-only file system opens for reading. Raises StoreError.
        """
        try:
            if create:
                path.parent.mkdir(parents=True, exist_ok=True)
            elif not path.is_file():
                raise NoStoreError(f"{path}: no store here; `edgejoule run` makes one, --store PATH names another")
            mode = "ro" if read_only else "rwc" if create else "rw"
            try:
                return cls._opened(path, f"mode={mode}")
            except sqlite3.OperationalError as error:
                if create or not _takes_no_file(error) or _has_log(path):
                    raise
                return cls._opened(path, "mode=ro&immutable=1")
        except OSError as error:
            raise StoreError(f"{path}: cannot be opened: {reason(error, path)}") from error
        except sqlite3.Error as error:
            kind = NoStoreError if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_NOTADB else StoreError
            raise kind(f"{path}: cannot be opened as a store: {reason(error, path)}") from error

    @classmethod
    def _opened(cls, path: Path, query: str) -> Store:
        """Open the file with these parameters of SQLite's URI. Raises StoreError, sqlite3.Error."""
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?{query}", uri=True, timeout=10, isolation_level=None)
        connection.row_factory = sqlite3.Row
        try:
            version = cls._check_format(connection, path)
            if not query.startswith("mode=ro"):
                cls._use_wal(connection)
                version = version if version == SCHEMA_VERSION else upgrade(connection)
            if query == "mode=rwc":  # refuses before a study measures: SQLite opens a protected file too
                connection.executescript(f"BEGIN IMMEDIATE; PRAGMA user_version = {version}; ROLLBACK;")
            connection.executescript("PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL;")
        except BaseException:
            connection.close()
            raise
        return cls(connection, path, version)

    @classmethod
    def _check_format(cls, connection: sqlite3.Connection, path: Path) -> int:
        version, application, tables = connection.execute(_STATE).fetchone()
        if (version, application, tables) == (0, 0, 0):
            version, application = cls._make_format(connection)
        if application != APPLICATION_ID:
            raise NoStoreError(f"{path}: is an SQLite file of another program, not a store of edgejoule")
        if version not in READABLE:
            raise StoreError(f"{path}: {refusal(connection, version)}")
        return int(version)

    @staticmethod
    def _use_wal(connection: sqlite3.Connection) -> None:
        """The change to a write-ahead log does not wait for others as transactions do (SQLite: busy_timeout)."""
        for _ in range(100):
            try:
                connection.execute("PRAGMA journal_mode = WAL").fetchone()
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                time.sleep(0.05)
            else:
                return
        connection.execute("PRAGMA journal_mode = WAL").fetchone()

    @staticmethod
    def _make_format(connection: sqlite3.Connection) -> tuple[int, int]:
        """Make the tables, unless another process did so just now; version and application id then in force."""
        connection.execute("BEGIN IMMEDIATE")
        version, application, tables = connection.execute(_STATE).fetchone()
        if (version, application, tables) == (0, 0, 0):
            pragmas = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION}"
            schema = f"{EXPERIMENTS_SCHEMA}{RUNS_SCHEMA}{_SCHEMA}{TRACE_SCHEMA}{NOTES_SCHEMA}{pragmas}"
            for statement in schema.split(";"):  # executescript would commit first
                connection.execute(statement)
            version, application = SCHEMA_VERSION, APPLICATION_ID
        connection.execute("COMMIT")
        return int(version), int(application)

    @property
    def connection(self) -> sqlite3.Connection:
        """For who copies whole tables."""
        return self._db

    def close(self) -> None:
        """May be called twice."""
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._rollback()
            raise StoreError(
                f"{self.path}: cannot be written, nothing was changed: {reason(error, self.path)}"
            ) from error
        except BaseException:
            self._rollback()
            raise

    def _rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    # Writing

    def create_experiment(
        self,
        spec: Spec,
        spec_toml: str,
        plan: Sequence[PlannedRun],
        *,
        energy_words: str,
        energy_min_ratio: float | None,
        environment: Mapping[str, Any],
    ) -> int:
        """Store an experiment with all its planned runs; returns its id. Raises StoreError."""
        with self._transaction():
            cursor = self._db.execute(
                "INSERT INTO experiments (name, question, spec_toml, spec_json, spec_sha256, seed, created_realtime_ns,"
                " energy_words, energy_min_ratio, environment_json) VALUES (?,?,?,?,?,?,?,?,?,?)",
                (
                    spec.name, spec.question, spec_toml, spec.model_dump_json(), spec.digest(), spec.design.seed,
                    time.time_ns(), energy_words, energy_min_ratio, json.dumps(environment),
                ),
            )  # fmt: skip
            experiment_id = int(cursor.lastrowid or 0)
            self._insert_planned(experiment_id, plan)
        return experiment_id

    def extend(self, experiment_id: int, addition: Addition, runs: Sequence[PlannedRun]) -> None:
        """Adds planned runs to a finished experiment, with a record of when. Raises StoreError."""
        with self._transaction():
            self._insert_planned(experiment_id, runs)
            before = self.find(str(experiment_id)).environment.get(ADDED, [])
            self._note(experiment_id, ADDED, [*before, asdict(addition)])

    def _insert_planned(self, experiment_id: int, plan: Sequence[PlannedRun]) -> None:
        for planned in plan:
            row = self._db.execute(
                "INSERT INTO runs (experiment_id, run_index, block, status, flags_json, settings_json, meters_json)"
                " VALUES (?,?,?,'planned','[]',?,'[]')",
                (experiment_id, planned.index, planned.block, json.dumps(_settings(planned))),
            )
            self._db.executemany(
                "INSERT INTO levels VALUES (?,?,?,?)",
                [(row.lastrowid, i, f, json.dumps(v)) for i, (f, v) in enumerate(planned.levels.items())],
            )

    def begin(self, experiment_id: int, run_index: int) -> int:
        """A planned run starts: forget the traces of an earlier try; returns the run's id. Raises StoreError.

        Until the run is recorded it stays planned, and its traces grow by its `recorder`.
        """
        run_id = self._waiting(experiment_id, run_index)
        if self._query("SELECT 1 FROM channels WHERE run_id = ? LIMIT 1", run_id):
            with self._transaction():
                self._forget(run_id, ("channels",))
        return run_id

    def recorder(self, run_id: int, samplers: Sequence[Sampler]) -> TraceRecorder:
        """Of a run that has begun: writes what the samplers gather."""
        return TraceRecorder(self.path, run_id, samplers, self._db)

    def again(self, experiment_id: int, run_index: int) -> None:
        """Plan a further attempt at a finished run, beside those there are; one that was cut off waits already.

        Raises StoreError.
        """
        chosen = (experiment_id, run_index)
        with self._transaction():
            attempts = self._db.execute(
                "SELECT id, attempt, status FROM runs WHERE experiment_id = ? AND run_index = ? ORDER BY attempt",
                chosen,
            ).fetchall()
            if not attempts or attempts[0]["status"] != "finished":
                raise StoreError(f"{self.path}: run {run_index} of experiment {experiment_id} has no first attempt")
            if attempts[-1]["status"] == "planned":
                return
            row = self._db.execute(
                "INSERT INTO runs (experiment_id, run_index, attempt, block, status, flags_json, settings_json,"
                " meters_json) SELECT experiment_id, run_index, ?, block, 'planned', '[]', settings_json, '[]'"
                " FROM runs WHERE id = ?",
                (attempts[-1]["attempt"] + 1, attempts[0]["id"]),
            )
            self._db.execute(
                "INSERT INTO levels SELECT ?, position, factor, level_json FROM levels WHERE run_id = ?",
                (row.lastrowid, attempts[0]["id"]),
            )

    def _waiting(self, experiment_id: int, run_index: int) -> int:
        rows = self._query(
            "SELECT id FROM runs WHERE experiment_id = ? AND run_index = ? AND status != 'finished'"
            " ORDER BY status = 'planned' DESC, attempt DESC",
            experiment_id,
            run_index,
        )
        if not rows:
            raise StoreError(f"{self.path}: run {run_index} of experiment {experiment_id} is not waiting for a result")
        return int(rows[0]["id"])

    def _forget(self, run_id: int, tables: Sequence[str]) -> None:
        for table in tables:
            self._db.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))

    def record(self, experiment_id: int, run: Run, data: RunData) -> None:
        """Store what a planned run gave, finished, failed or not here, in one transaction. Raises StoreError.

        Its traces are those given and those that a recorder has stored since `begin`.
        """
        i = run.intervals
        with self._transaction():
            run_id = self._waiting(experiment_id, run.run_index)
            self._forget(run_id, ("responses", "events", "latencies"))  # of an earlier failed try
            self._db.execute(
                "UPDATE runs SET status=?, cause=?, flags_json=?, started_realtime_ns=?, active_start_ns=?,"
                " active_end_ns=?, settled_end_ns=?, settled_complete=?, database_json=?, durability_json=?,"
                " meters_json=?, facts_json=? WHERE id=?",
                (
                    run.status, run.cause, json.dumps(run.flags), run.started_realtime_ns,
                    i and i.active_start_ns, i and i.active_end_ns, i and i.settled_end_ns, i and i.settled_complete,
                    json.dumps(run.database) if run.database else None,
                    json.dumps(run.durability) if run.durability else None, json.dumps(run.meters),
                    json.dumps(run.facts), run_id,
                ),
            )  # fmt: skip
            self._insert_responses(run_id, run.responses)
            self._db.executemany(
                "INSERT INTO events VALUES (?,?,?)", [(run_id, e["monotonic_ns"], json.dumps(e)) for e in data.events]
            )
            self._db.executemany(
                "INSERT INTO latencies VALUES (?,?,?,?)",
                [(run_id, h.operation, h.measure, h.hdr) for h in data.latencies],
            )
            for trace in data.traces:
                RunTraces(self._db, run_id).insert(trace)

    def _insert_responses(self, run_id: int, responses: Sequence[ResponseValue]) -> None:
        self._db.executemany(
            "INSERT INTO responses VALUES (?,?,?,?,?,?,?)",
            [(run_id, r.name, r.value, r.unit, r.method, r.uncertainty_k2, r.missing_reason) for r in responses],
        )

    def relate(self, run_id: int, meter: str, clock: Clock, relation: ClockRelation) -> None:
        """Keep how the times of a meter's channels on that clock become the host's. Raises StoreError."""
        with self._transaction():
            RunTraces(self._db, run_id).relate(meter, clock, relation)

    def attach(self, experiment_id: int, changed: Sequence[tuple[Run, Trace]], meter: Primary | None = None) -> None:
        """Give finished runs a trace each, and the flags, meters, facts and responses they have with it; all or none.

        Another trace of that meter goes. meter: whose joules are the runs' from now on, where they were not before.
        Raises StoreError.
        """
        with self._transaction():
            if meter is not None:
                self._change_meter(experiment_id, meter)
            for run, trace in changed:
                self._change_run(run, trace.channel.meter).insert(trace)

    def detach(self, changed: Sequence[Run], meter: str) -> None:
        """Remove a meter's trace from runs, which have the flags, meters and facts without it; all or none."""
        with self._transaction():
            for run in changed:
                self._change_run(run, meter)

    def _change_run(self, run: Run, without: str) -> RunTraces:
        """Store the run anew, without a meter's trace; returns the other ones."""
        assert run.id is not None, "a stored run has a number"
        self._db.execute(
            "UPDATE runs SET flags_json = ?, meters_json = ?, facts_json = ? WHERE id = ?",
            (json.dumps(run.flags), json.dumps(run.meters), json.dumps(run.facts), run.id),
        )
        self._forget(run.id, ("responses",))
        self._insert_responses(run.id, run.responses)
        traces = RunTraces(self._db, run.id)
        traces.remove(without)
        return traces

    def _change_meter(self, experiment_id: int, meter: Primary) -> None:
        """Also in what must not change when runs are added: those of another meter are refused then."""
        environment = self.find(str(experiment_id)).environment
        identity = {**environment.get("identity", {}), "meter": meter.name, "reads": meter.describe}
        self._db.execute(
            "UPDATE experiments SET energy_words = ?, energy_min_ratio = NULL, environment_json = ? WHERE id = ?",
            (meter.energy_words, json.dumps({**environment, "identity": identity}), experiment_id),
        )

    def note(self, experiment_id: int, heading: str, value: object) -> None:
        """Adds facts of a running experiment to its environment, under a separate heading."""
        with self._transaction():
            self._note(experiment_id, heading, value)

    def _note(self, experiment_id: int, heading: str, value: object) -> None:
        row = self._db.execute("SELECT environment_json FROM experiments WHERE id = ?", (experiment_id,)).fetchone()
        noted = {**json.loads(row["environment_json"]), heading: value}
        self._db.execute("UPDATE experiments SET environment_json = ? WHERE id = ?", (json.dumps(noted), experiment_id))

    def forgo(self, experiment_id: int, from_block: int) -> None:
        """Take out the runs of this block and those after it that are not made: the design stops before them."""
        where = (experiment_id, from_block)
        chosen = "experiment_id = ? AND status IN ('planned', 'not_here') AND block >= ?"
        with self._transaction():
            for table in ("levels", "channels"):
                self._db.execute(f"DELETE FROM {table} WHERE run_id IN (SELECT id FROM runs WHERE {chosen})", where)
            self._db.execute(f"DELETE FROM runs WHERE {chosen}", where)

    def add_note(self, experiment_id: int, text: str, author: str, run_index: int | None = None) -> None:
        """Adds a remark on an experiment or one of its runs. Raises StoreError."""
        if self._version < NOTES_SINCE:
            raise StoreError(f"{self.path}: is readonly and of format {self._version}, which has no notes")
        with self._transaction():
            self._db.execute(
                "INSERT INTO notes (experiment_id, run_index, written_realtime_ns, author, text) VALUES (?,?,?,?,?)",
                (experiment_id, run_index, time.time_ns(), author, text),
            )

    def remove_note(self, experiment_id: int, number: int) -> None:
        """Removes the note with this number; later ones move up. Raises UsageError if there is none."""
        with self._transaction():
            ids = [row["id"] for row in self._note_rows(experiment_id)]
            if not 1 <= number <= len(ids):
                raise UsageError(f"experiment {experiment_id} has {_notes(len(ids))}, there is no note {number}")
            self._db.execute("DELETE FROM notes WHERE id = ?", (ids[number - 1],))

    def delete(self, experiment_ids: Sequence[int]) -> None:
        """Deletes experiments with all their rows, all or none. Raises StoreError."""
        self._db.execute("PRAGMA secure_delete = FAST")  # zeroing the rows' pages would need their size in free space
        with self._transaction():
            for experiment_id in experiment_ids:
                runs = [row["id"] for row in self._query("SELECT id FROM runs WHERE experiment_id = ?", experiment_id)]
                for run_id in runs:
                    self._forget(run_id, ("channels", "events", "latencies", "responses", "levels"))
                for table in ("notes", "runs"):
                    self._db.execute(f"DELETE FROM {table} WHERE experiment_id = ?", (experiment_id,))
                self._db.execute("DELETE FROM experiments WHERE id = ?", (experiment_id,))

    def shrink(self) -> str | None:
        """Gives the space of deleted rows back to the file system. Returns None, or why the file keeps its size now."""
        try:
            self._db.execute("PRAGMA busy_timeout = 1000")  # who reads the store may do so for minutes
            self._checkpoint()  # the log of the deletion takes space that the copy needs
            pages = self._db.execute("SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count")
            needed_mb = pages.fetchone()[0] * self._db.execute("PRAGMA page_size").fetchone()[0] / 1e6
            try:
                self._db.execute("VACUUM")
            except sqlite3.Error as error:
                return (
                    f"{self.path} could not be made smaller: {reason(error, self.path)}. It takes {needed_mb:.1f} MB "
                    "there for a moment, and as much in the folder for temporary files. The next delete tries again; "
                    "later runs use the space within the file"
                )
            if not self._checkpoint():
                return f"another program reads {self.path}; its file shrinks when that one has ended"
        except sqlite3.Error as error:
            return f"{self.path} could not be made smaller: {reason(error, self.path)}"
        return None

    def _checkpoint(self) -> bool:
        """Moves the rows of the write-ahead log into the store and empties the log; False: another program reads it."""
        return not self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()["busy"]

    def file_bytes(self) -> int:
        """The size of the store with its write-ahead log."""
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    # Reading

    def _query(self, sql: str, *parameters: object) -> list[sqlite3.Row]:
        try:
            return self._db.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: cannot be read: {reason(error, self.path)}") from error

    def experiments(self) -> list[Experiment]:
        """All experiments, the oldest first."""
        return [self._experiment(row) for row in self._query("SELECT * FROM experiments ORDER BY id")]

    def find(self, which: str = "latest") -> Experiment:
        """An experiment by id, by name, or `latest`. Raises UsageError for an unknown one, and SeveralError where more
        than one has the name.
        """
        if (
            which.isdecimal()
            and len(which) <= _ID_DIGITS_MAX
            and (rows := self._query("SELECT * FROM experiments WHERE id = ?", int(which)))
        ):
            return self._experiment(rows[0])
        matches = self.experiments()
        if not matches:
            raise UsageError(f"{self.path}: holds no experiment yet; `edgejoule run SPEC` makes one")
        if which != "latest":
            known = [e.name for e in matches]
            matches = [e for e in matches if e.name == which]
            if not matches:
                raise UsageError(f"{self.path}: no experiment {which!r}; there are: {', '.join(sorted(set(known)))}")
            if len(matches) > 1:
                raise SeveralError(self.path, which, matches)
        return matches[-1]

    def latest_of(self, spec: Spec) -> Experiment | None:
        """The latest experiment with this measured spec."""
        rows = self._query("SELECT * FROM experiments WHERE spec_sha256 = ? ORDER BY id DESC LIMIT 1", spec.digest())
        return self._experiment(rows[0]) if rows else None

    def unfinished(self, spec: Spec) -> Experiment | None:
        """The latest experiment with this measured spec, when it has runs left to do: planned, failed or not here."""
        latest = self.latest_of(spec)
        return latest if latest and any(latest.counts.get(s) for s in ("planned", *_BESIDE_FINISHED)) else None

    def _experiment(self, row: sqlite3.Row) -> Experiment:
        counts = self._query(
            "SELECT status, count(*) FROM runs WHERE experiment_id = ? AND attempt = 0 GROUP BY 1", row["id"]
        )
        return Experiment(
            id=row["id"],
            name=row["name"],
            question=row["question"],
            spec=self._spec(row),
            spec_toml=row["spec_toml"],
            seed=row["seed"],
            created_realtime_ns=row["created_realtime_ns"],
            energy_words=row["energy_words"],
            energy_min_ratio=row["energy_min_ratio"],
            environment=json.loads(row["environment_json"]),
            counts={row[0]: row[1] for row in counts},
        )

    def _spec(self, row: sqlite3.Row) -> Spec:
        """Raises StoreError for a spec with keys that another version of edgejoule knows."""
        try:
            return Spec.model_validate_json(row["spec_json"])
        except ValidationError as error:
            key = ".".join(str(part) for part in error.errors()[0]["loc"])
            written = json.loads(row["environment_json"]).get("edgejoule")
            by = f"edgejoule {written}" if written else "another edgejoule"
            raise StoreError(
                f"{self.path}: experiment {row['id']} ({row['name']}) was written by {by}; its spec has {key}, which "
                f"this edgejoule {__version__} cannot read. Use the later one of both"
            ) from error

    def runs(self, experiment_id: int) -> list[Run]:
        """All runs in the plan's order, without traces, events and histograms; of attempts the one that counts."""
        return [run for run in self.attempts(experiment_id) if not run.set_aside]

    def attempts(self, experiment_id: int) -> list[Run]:
        """As runs, with all attempts that were made; those that do not count say so."""
        rows = self._query(
            "SELECT * FROM runs WHERE experiment_id = ? AND (attempt = 0 OR status != 'planned')"
            " ORDER BY run_index, attempt",
            experiment_id,
        )
        all_runs = []
        for _, group in itertools.groupby(map(self._run, rows), key=lambda run: run.run_index):
            attempts = list(group)
            counts = counting(attempts)
            all_runs += [replace(run, set_aside=run is not counts) for run in attempts]
        return all_runs

    def _run(self, row: sqlite3.Row) -> Run:
        levels = self._query("SELECT factor, level_json FROM levels WHERE run_id = ? ORDER BY position", row["id"])
        responses = self._query(
            "SELECT name, value, unit, method, uncertainty_k2, missing_reason FROM responses WHERE run_id = ?",
            row["id"],
        )
        intervals = None
        if row["active_start_ns"] is not None:
            intervals = Intervals(
                row["active_start_ns"], row["active_end_ns"], row["settled_end_ns"], bool(row["settled_complete"])
            )
        return Run(
            id=row["id"],
            run_index=row["run_index"],
            attempt=row["attempt"],
            block=row["block"],
            levels={r["factor"]: json.loads(r["level_json"]) for r in levels},
            status=row["status"],
            cause=row["cause"],
            flags=tuple(json.loads(row["flags_json"])),
            started_realtime_ns=row["started_realtime_ns"],
            settings=json.loads(row["settings_json"]),
            responses=tuple(ResponseValue(*r) for r in responses),
            intervals=intervals,
            database=json.loads(row["database_json"]) if row["database_json"] else None,
            durability=json.loads(row["durability_json"]) if row["durability_json"] else None,
            meters=tuple(json.loads(row["meters_json"])),
            facts=json.loads(row["facts_json"] or "{}"),
        )

    def notes(self, experiment_id: int) -> list[Note]:
        """The notes on an experiment and its runs, in the order written."""
        return notes_of(self._note_rows(experiment_id))

    def _note_rows(self, experiment_id: int) -> list[sqlite3.Row]:
        if self._version < NOTES_SINCE:  # an earlier format, opened read-only
            return []
        return self._query("SELECT * FROM notes WHERE experiment_id = ? ORDER BY id", experiment_id)

    def content_bytes(self, experiment_id: int) -> int:
        """The size of an experiment's traces, events, histograms, levels and responses, without SQLite's own part."""
        of_run = "run_id IN (SELECT id FROM runs WHERE experiment_id = ?1)"
        of_channel = f"channel_id IN (SELECT id FROM channels WHERE {of_run})"
        parts = (
            f"SELECT sum(length(readings) + coalesce(length(arrivals), 0)) FROM readings WHERE {of_channel}",
            f"SELECT sum(80) FROM seconds WHERE {of_channel}",  # ten numbers
            f"SELECT sum(length(CAST(json AS BLOB))) FROM events WHERE {of_run}",
            f"SELECT sum(length(CAST(hdr AS BLOB))) FROM latencies WHERE {of_run}",
            f"SELECT sum(length(name) + length(unit) + length(method) + 16) FROM responses WHERE {of_run}",
            "SELECT sum(length(CAST(settings_json AS BLOB)) + length(CAST(meters_json AS BLOB))"
            " + coalesce(length(CAST(facts_json AS BLOB)), 0)) FROM runs WHERE experiment_id = ?1",
        )
        (row,) = self._query(f"SELECT {' + '.join(f'coalesce(({part}), 0)' for part in parts)}", experiment_id)
        return int(row[0])

    def readings(self, run_id: int) -> list[StoredTrace]:
        """What the meters said in a run, channel by channel, not read yet; what a cut-off run left, too."""
        try:
            return RunTraces(self._db, run_id).stored()
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: cannot be read: {reason(error, self.path)}") from error

    def data(self, run: Run) -> RunData:
        """Events, traces and histograms of a stored run."""
        events = self._query("SELECT json FROM events WHERE run_id = ? ORDER BY monotonic_ns, rowid", run.id)
        latencies = self._query("SELECT operation, measure, hdr FROM latencies WHERE run_id = ?", run.id)
        return RunData(
            events=[json.loads(e[0]) for e in events],
            traces=[] if run.id is None else [stored.whole() for stored in self.readings(run.id)],
            latencies=[Latency(*row) for row in latencies],
        )


def _notes(count: int) -> str:
    return f"{count} note{'s' * (count != 1)}"


def _takes_no_file(error: sqlite3.OperationalError) -> bool:
    """Whether SQLite could not make its files beside the store: its folder takes none, or no space is left."""
    refused = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL)
    return error.sqlite_errorcode & 0xFF in refused


def _has_log(path: Path) -> bool:
    """Whether rows are in the write-ahead log beside the store."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def _settings(planned: PlannedRun) -> dict[str, Any]:
    """All settings of a run beside its levels, as stored."""
    bare = replace(planned, levels={}, command=None)
    hidden = {"levels", "index", "block", "command", *(() if planned.command else ("values",))}
    compared = {k: v for k, v in asdict(bare).items() if k not in hidden}
    return {**compared, "command": planned.command.identity()} if planned.command else compared
