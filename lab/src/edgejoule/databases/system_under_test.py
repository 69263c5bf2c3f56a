"""The system that a planned run measures. Only `system_of` distinguishes kinds: embedded, served, external, command.

A kind reports missing requirements and impossible requests, loads its data, and creates its client.
"""

# ruff: noqa: D102, the base class documents the methods of a kind

from __future__ import annotations

import abc
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from edgejoule.commands.check import check_command
from edgejoule.commands.loading import load_by_command, load_content
from edgejoule.database_servers import REMOVED, SERVERS, DatabaseServer, ycsb_client
from edgejoule.database_servers.external import HOST, SECRET, external
from edgejoule.database_servers.options import OWN, option_text
from edgejoule.database_servers.serving import ServerUse, Serving, keep_data_only, options_of, serving
from edgejoule.database_servers.ycsb_client import BINDINGS, Task, YcsbClient
from edgejoule.databases import driver as databases
from edgejoule.databases.driver import (
    LOAD_SEED,
    Adapter,
    Driver,
    DriverMissingError,
    Event,
    driver_arguments,
    driver_digest,
    quiet_arguments,
    timing_arguments,
)
from edgejoule.databases.rocksdb_log import LEVEL0, log_events
from edgejoule.dictionary.properties import CORE, LOAD_PROPERTIES, RUN_PROPERTIES
from edgejoule.dictionary.responses import nearest
from edgejoule.errors import DatabaseError, UsageError
from edgejoule.experiment.command import NO_DATABASE
from edgejoule.experiment.model import Level, Timing
from edgejoule.experiment.plan import PlannedRun
from edgejoule.experiment.settings import SettingsError

OnEvent = Callable[[Event], None]

EXECUTIONS_MAX = 500  # of the driver, per run
REPETITIONS_MAX = 50_000  # of a command, per run
_LOAD_SETTLE_S = 600.0
_LOAD_THREADS = 8  # for the real YCSB, which cannot batch
_NOWHERE = Path("/nowhere")  # folder of a server object that is queried but never started


class LoadTime(NamedTuple):
    """The time of a load. active_s: from its first insert to its last. settled_s: from its first insert until settled.

    records: number inserted; None for a command, which does not count them.
    """

    records: int | None
    active_s: float
    settled_s: float


@dataclass(frozen=True)
class Load:
    """A finished load: its time, the client's events, and the server's use of resources until settled.

    events: empty for a command, which reports none. served: None without a server.
    """

    took: LoadTime
    events: Sequence[dict[str, Any]] = ()
    served: ServerUse | None = None

    @classmethod
    def of(cls, events: Sequence[dict[str, Any]], served: ServerUse | None = None) -> Load:
        """Builds the load from its client's events. Raises DatabaseError unless all records were loaded."""
        return cls(_load_time(events), events, served)


class SystemUnderTest(abc.ABC):
    """The system that one planned run measures."""

    counts: ClassVar[str] = "operations"
    has_server = False  # True: a server process lies between the client and the data
    opens_database = True
    users_host: str | None = None  # host of the user's server; None: the study starts the server
    starts_empty = False  # True: a run starts with an empty folder
    has_data = True  # True: a run's record names its load
    warmups = 0  # unmeasured executions before a cell's first run
    loaded_servers: Sequence[str] = ()  # of a federation; empty: the first server alone
    repeats_in_place = False  # True: several executions of a run work on the same data

    def __init__(self, run: PlannedRun) -> None:
        self.run = run

    @property
    def options(self) -> Mapping[str, Level]:
        """Returns the database's options, with those that durability and replication_factor stand for."""
        return self.run.options

    @abc.abstractmethod
    def missing(self) -> str | None:
        """Explains why the database is missing, with a remedy; None if it is here."""

    @abc.abstractmethod
    def check(self, *, keep_going: bool) -> None:
        """Refuse what no run could do. keep_going: a database that is not here is no reason. Raises UsageError."""

    @abc.abstractmethod
    def client_digests(self) -> dict[str, str]:
        """Returns the SHA-256 of our programs that work on it, by their names in the store."""

    @abc.abstractmethod
    def content(self) -> tuple[str, dict[str, object]]:
        """Returns a name for people, and everything that determines the loaded data."""

    @abc.abstractmethod
    def load(self, data: Path, timeout_s: float, on_event: OnEvent | None) -> Load:
        """Load its data into an empty folder. Raises DatabaseError."""

    @abc.abstractmethod
    def why_not_repeated(self, count: int) -> str | None:
        """Explains why that many executions cannot form one run; None if they can."""

    def way_out_of_short_runs(self, least_s: float) -> str:
        """Returns the advice that makes a run last that long."""
        return "raise operationcount, or give maxexecutiontime in seconds instead"

    def may_miss(self) -> str | None:
        """Explains why a read may miss a row that was written; None if it cannot."""
        return None

    def log_events(self, data: Path, begin_ns: int, end_ns: int) -> Sequence[Event]:
        """Returns RocksDB's LOG events, which the client does not report, between two times of CLOCK_MONOTONIC."""
        return []


class _Driven(SystemUnderTest):
    """A database with a client of ours."""

    @property
    def _adapter(self) -> Adapter:
        return databases.adapters()[self.run.adapter]

    def missing(self) -> str | None:
        try:
            adapter = self._adapter
        except DriverMissingError as error:
            return str(error)
        return None if adapter.available else f"{self.run.adapter} is not available here: {adapter.fix}"

    def check(self, *, keep_going: bool) -> None:
        run, known = self.run, databases.adapters()
        if run.adapter not in known:
            raise _unknown_database(run, known)
        if (absent := self.missing()) and not keep_going:
            raise UsageError(f"{absent}; or leave its runs out and do the others with --keep-going")
        for option in run.options:
            if option not in self._adapter.options and not (self.has_server and option.startswith(OWN)):
                raise _wrong_option(run, option, f"unknown option; {self._hint(option)}")
        self._check_asked(absent)
        if run.kind == CORE:  # the driver has defaults for the properties of the other kinds
            self._check_work()

    def _hint(self, option: str) -> str:
        return nearest(option, self._adapter.options)

    @abc.abstractmethod
    def _check_asked(self, absent: str | None) -> None:
        """Raises UsageError for a request that this kind cannot meet. absent: why the database is missing."""

    def _check_work(self) -> None:
        """Checks that a run has records and an end, and that no update loses fields. Raises UsageError."""
        run = self.run
        if run.properties.get("update") == "put" and str(run.properties.get("writeallfields")).lower() != "true":
            why = 'an update of one field would lose the others; set writeallfields = true, or update = "merge"'
            raise SettingsError(run.levels, "update", why)
        if not run.properties.get("recordcount"):
            why = "recordcount is missing: how many records are in the database? Give it under [fixed]"
            raise SettingsError(run.levels, "workload", why)
        ends = run.load_percent is not None or run.properties.get("maxexecutiontime")
        if not run.properties.get("operationcount") and not ends:
            why = "the run would never end: give operationcount, or maxexecutiontime in seconds"
            raise SettingsError(run.levels, "workload", why)

    def client_digests(self) -> dict[str, str]:
        return {"driver_sha256": driver_digest()}

    def _client_digest(self) -> str:
        return driver_digest()

    def content(self) -> tuple[str, dict[str, object]]:
        run = self.run
        return run.adapter, {
            "adapter": run.adapter,
            "driver_sha256": self._client_digest(),
            "version": databases.adapters()[run.adapter].version,
            "options": self.options,
            "durability": run.durability,
            "properties": _load_properties(run),
            "seed": LOAD_SEED,
        }


class Embedded(_Driven):
    """A database within the driver's process."""

    def _check_asked(self, absent: str | None) -> None:
        run = self.run
        if run.memory_limit_bytes and not self._keeps_data:
            why = "noop has no data that memory could be short for; remove memory_limit_mb, or set it by [[when]]"
            raise SettingsError(run.levels, "memory_limit_mb", why, other="database")
        if run.cold and not self._keeps_data:
            why = 'noop keeps no files whose cache could be cold; set cache = "warm", or remove noop'
            raise SettingsError(run.levels, "cache", why, other="database")
        if run.replication_factor is not None:
            why = f"{run.adapter} keeps one copy; set replication_factor for servers alone, by [[when]]"
            raise SettingsError(run.levels, "replication_factor", why, other="database")

    @property
    def _keeps_data(self) -> bool:
        return self.run.adapter != "noop"

    def arguments(self, command: str, data: Path) -> list[str]:
        """Returns the driver's arguments. command: load or run."""
        place = {"path": str(data)} if self._keeps_data else {}
        return driver_arguments(command, self.run, {**self.run.options, **place})

    def load(self, data: Path, timeout_s: float, on_event: OnEvent | None) -> Load:
        return Load.of(Driver(self.arguments("load", data), timeout_s, on_event).run())

    def why_not_repeated(self, count: int) -> str | None:
        if self.run.load_unit is not None:
            return "a load made for the run cannot be restored between executions"
        if self.run.cold:
            return "dropping caches between executions would be measured too"
        if count > EXECUTIONS_MAX:
            return f"{count:,} executions would form one replication, more than {EXECUTIONS_MAX}"
        return None

    def log_events(self, data: Path, begin_ns: int, end_ns: int) -> Sequence[Event]:
        """Returns level-0 events alone: the driver reports the other events itself."""
        if self.run.adapter != "rocksdb":
            return []
        return [event for event in log_events(data, begin_ns, end_ns) if event["event"] == LEVEL0]


class Served(_Driven):
    """A database with a server that the study starts for each run."""

    has_server = True
    client_name: ClassVar[str] = "driver"

    def __init__(self, run: PlannedRun) -> None:
        super().__init__(run)
        self._kind = SERVERS[run.adapter]

    @property
    def options(self) -> Mapping[str, Level]:
        return _options_in_force(self._kind, self.run)

    def server(self, folder: Path, prefix: Sequence[str] = ()) -> DatabaseServer:
        """Raises UsageError for options that it does not have."""
        return self._kind(folder, _server_options(self._kind, self.run, self.options), prefix)

    def missing(self) -> str | None:
        return super().missing() or _server_missing(self.run, self.server(_NOWHERE))

    def _check_asked(self, absent: str | None) -> None:
        run = self.run
        _check_cold(run, self._kind)
        if absent:
            return
        if run.policy:
            why = f"only rocksdb offloads compactions; remove {run.adapter}, or the policy"
            raise SettingsError(run.levels, "eco.policy", why, other="database")
        self._check_durability()
        self._check_copies(self.server(_NOWHERE))

    def _check_durability(self) -> None:
        """Refuses an option, or its default, that breaks the promise of the class that the experiment asks for. Raises
        UsageError.
        """
        run = self.run
        if not run.durability_asked or run.durability is None:
            return
        for option, values in self._kind.promise_broken_by.get(run.durability, {}).items():
            own = self._kind.options if self.users_host is None else {}  # the user's server has its own settings
            default = own[option].default if option in own else ""
            value, name = option_text(self.options.get(option, default)), f"{run.adapter}.{option}"
            if value in values and option not in run.options:
                why = f"{name} is {value} and breaks its promise; set {name}, or name a weaker durability"
                raise SettingsError(run.levels, "durability", why)
            if value in values:
                why = (
                    f"{option} = {value} breaks the promise of durability {run.durability}; remove the option, or "
                    "name a weaker durability"
                )
                raise SettingsError(run.levels, name, why, other="durability")

    def _check_copies(self, server: DatabaseServer) -> None:
        """Checks that there is a node for every copy of a row. Raises UsageError."""
        run, option = self.run, server.replication_option
        if run.replication_factor is not None and option in run.options:
            why = "both set the number of copies; remove the option to keep the setting"
            raise SettingsError(run.levels, "replication_factor", why, other=f"{run.adapter}.{option}")
        copies = int(run.replication_factor or self.options.get(option) or 1)
        if copies > server.copies_max():
            name = "replication_factor" if run.replication_factor else f"{run.adapter}.{option}"
            why = (
                f"{copies} copies of each row, and {server.copies_max()} to keep them: more nodes, region_servers or "
                "workers of the server (edgejoule databases NAME), or fewer copies"
            )
            raise SettingsError(run.levels, name, why)

    def may_miss(self) -> str | None:
        return self._kind.may_miss(self.options)

    def arguments(self, command: str, served: Serving) -> list[str]:
        """Returns the driver's arguments. command: load or run."""
        own = options_of(self._kind, self.options)
        options = {name: value for name, value in self.options.items() if name not in own}
        for name in self._kind.of_sessions:  # the client's own value by durability class would take precedence
            if (value := self.run.options.get(f"{OWN}{name}", self.run.options.get(name))) is not None:
                options[name] = value
        return driver_arguments(command, self.run, {**options, **served.server.connection()})

    def client(
        self, served: Serving, timing: Timing, on_event: OnEvent, prefix: Sequence[str], quiet_s: float
    ) -> Driver | YcsbClient:
        """Returns the client of one run."""

        cold = self.run.cold

        def hear(event: Event) -> None:
            served.hear(event)
            on_event(event)
            if cold and event["event"] == "start":
                cool()

        def cool() -> None:
            """Lets the driver, which is connected and waits, work after the quiet time with cold caches."""
            if quiet_s:
                driver.add(served.quiet("before", timing.settle_timeout_s, quiet_s))
            served.cool(timing.settle_timeout_s)
            driver.step()
            driver.step()  # before it closes it does not wait

        arguments = [*self.arguments("run", served), *timing_arguments(timing), "--driver-share"]
        arguments += quiet_arguments(quiet_s, first=not cold, last=True)
        driver = Driver(arguments, timing.run_timeout_s + 2 * quiet_s, hear, prefix, in_step=cold)
        return driver

    def load(self, data: Path, timeout_s: float, on_event: OnEvent | None) -> Load:
        """Loads the data, which the server keeps. The load has settled when the server has, after the client."""

        def hear(event: Event) -> None:
            if event["event"] != "settled":
                served.hear(event)
            if on_event:
                on_event(event)

        server = self.server(data)
        with serving(server) as served:
            client = self._load_client(served, timeout_s, hear)
            served.end_client = client.stop
            events = client.run()
            settled = server.await_settled(_LOAD_SETTLE_S)
            if not settled.complete:
                raise DatabaseError(f"the load has not settled within {_LOAD_SETTLE_S:g} s: {settled.how}")
            served.mark("settled")
            end_ns = time.monotonic_ns()
            used = served.served()
        keep_data_only(server)
        return Load.of([{**e, "monotonic_ns": end_ns} if e["event"] == "settled" else e for e in events], used)

    def _load_client(self, served: Serving, timeout_s: float, on_event: OnEvent | None) -> Driver | YcsbClient:
        return Driver(self.arguments("load", served), timeout_s, on_event)

    def why_not_repeated(self, count: int) -> str | None:
        return "runs on servers are not executed several times"


class ServedToYcsb(Served):
    """A database with a server that the study starts, and the real YCSB as its client."""

    client_name = "ycsb"

    def _check_asked(self, absent: str | None) -> None:
        super()._check_asked(absent)
        run, p = self.run, self.run.properties
        if absent:
            return
        no = f"{run.adapter} is driven by the real YCSB, which has no"
        if run.kind != CORE:
            why = f"{no} workload {run.kind}; remove the workload, or {run.adapter}"
            raise SettingsError(run.levels, "workload", why, other="database")
        drivers_own = ("batchsize", "keytype", "zipfian.ranks", "zipfian.theta")
        asked = {"rate": run.rate, "warmup_s": run.warmup_s, **{name: p.get(name) for name in drivers_own}}
        for name in (name for name, value in asked.items() if value):
            why = f"{no} {name}; remove it, or set it by [[when]] for the others"
            raise SettingsError(run.levels, name, why, other="database")
        inserts = float(str(p.get("insertproportion") or 0))
        if inserts and p.get("requestdistribution") == "zipfian" and not p.get("operationcount"):
            why = (
                "with inserts the real YCSB lays out its zipfian keys for operationcount operations; give "
                "operationcount beside maxexecutiontime"
            )
            raise SettingsError(run.levels, "maxexecutiontime", why, other="insertproportion")

    def client_digests(self) -> dict[str, str]:
        return {**super().client_digests(), "ycsb_sha256": self._client_digest()}

    def _client_digest(self) -> str:
        return ycsb_client.digest()

    def client(
        self, served: Serving, timing: Timing, on_event: OnEvent, prefix: Sequence[str], quiet_s: float
    ) -> Driver | YcsbClient:
        timeout_s = timing.run_timeout_s + 2 * quiet_s
        task = self._task("run", self.run.threads, self.run.target_ops_s, timeout_s, timing.settle_timeout_s, quiet_s)
        return YcsbClient(task, served, on_event, prefix)

    def _load_client(self, served: Serving, timeout_s: float, on_event: OnEvent | None) -> Driver | YcsbClient:
        return YcsbClient(self._task("load", _LOAD_THREADS, None, timeout_s, _LOAD_SETTLE_S), served, on_event)

    def _task(
        self,
        command: str,
        threads: int,
        target_ops_s: int | None,
        timeout_s: float,
        settle_s: float,
        quiet_s: float = 0,
    ) -> Task:
        run, options = self.run, ycsb_client.client_options(self.run.adapter, self.options)
        return Task(
            command, run.adapter, run.properties, options, run.durability or "process", threads, target_ops_s, run.seed,
            timeout_s, settle_s, quiet_s, run.failure_share_max, command == "run" and run.cold,
        )  # fmt: skip


class External(Served):
    """A database with a server that the user runs and has loaded."""

    starts_empty = True

    def __init__(self, run: PlannedRun) -> None:
        super().__init__(run)
        self.users_host = str(run.options[HOST])

    @property
    def options(self) -> Mapping[str, Level]:
        return self.run.options

    @property
    def _adapter(self) -> Adapter:
        adapter = super()._adapter
        return adapter.client or adapter

    def server(self, folder: Path, prefix: Sequence[str] = ()) -> DatabaseServer:
        return external(self._kind)(folder, self.options)

    def check(self, *, keep_going: bool) -> None:
        """Rejects what would change the user's data, which nothing restores between runs."""
        run = self.run
        host, yours = f"{run.adapter}.{HOST}", "on a server that you run"
        if SECRET in run.options:
            named = f"{run.adapter}.{SECRET}_env or {run.adapter}.{SECRET}_file"
            why = f"what an experiment says is stored; name the place of the password by {named}"
            raise SettingsError(run.levels, f"{run.adapter}.{SECRET}", why)
        remove = f"remove {host} to let the study start {run.adapter}"
        changes = f"changes the rows {yours}, and the next run would begin with the changed rows"
        if run.kind != CORE:
            why = f"it {changes}; name another workload, or {remove}"
            raise SettingsError(run.levels, "workload", why, other=host)
        for name in (name for name in ("insertproportion", "deleteproportion") if run.properties.get(name)):
            why = f"a run with it {changes}; set {name} = 0, or {remove}"
            raise SettingsError(run.levels, name, why, other=host)
        asked = {
            "memory_limit_mb": run.memory_limit_bytes, "data_path": run.data_path, "filesystem": run.file_system,
            "replication_factor": run.replication_factor,
        }  # fmt: skip
        for name in (name for name, value in asked.items() if value):
            why = f"{name} is for what the study starts itself; remove it, or {remove}"
            raise SettingsError(run.levels, name, why, other=host)
        if run.cold:
            why = f'the study drops no cache {yours}; set cache = "warm", or {remove}'
            raise SettingsError(run.levels, "cache", why, other=host)
        if run.load_unit:
            why = f"the study loads nothing {yours}; remove load under [design], or {remove}"
            raise SettingsError(run.levels, "design.load", why, other=host)
        super().check(keep_going=keep_going)

    def _hint(self, option: str) -> str:
        if option in databases.adapters()[self.run.adapter].options:
            return f"it is of servers that the study starts, and {self.run.adapter}.{HOST} names one that you run"
        return super()._hint(option)

    def arguments(self, command: str, served: Serving) -> list[str]:
        """Returns the driver's arguments; all options are the client's."""
        return driver_arguments(command, self.run, self.options)

    def load(self, data: Path, timeout_s: float, on_event: OnEvent | None) -> Load:
        raise AssertionError("the user has loaded it")


class Command(SystemUnderTest):
    """A program, with or without a database server that the study starts for it."""

    counts = "commands"
    repeats_in_place = True

    def __init__(self, run: PlannedRun) -> None:
        super().__init__(run)
        assert run.command is not None
        self._command = run.command
        self._kind = SERVERS.get(run.adapter)
        self.has_server = self._kind is not None
        self.opens_database = run.adapter != NO_DATABASE
        self.starts_empty = run.command.load is None
        self.has_data = self.has_server or not self.starts_empty
        self.warmups = run.command.warmup
        self.loaded_servers = run.command.servers

    @property
    def options(self) -> Mapping[str, Level]:
        return _options_in_force(self._kind, self.run) if self._kind else self.run.options

    def server(self, folder: Path, prefix: Sequence[str] = ()) -> DatabaseServer | None:
        """Returns the server; None for a command without one."""
        options = _server_options(self._kind, self.run, self.options) if self._kind else {}
        return self._kind(folder, options, prefix) if self._kind else None

    def missing(self) -> str | None:
        """Checks the server alone: a command needs no client of ours."""
        if self._kind is None:
            return None
        if not (here := self._kind.installation()).available:
            return f"{self.run.adapter} is not available here: {here.why}: {here.fix}"
        return _server_missing(self.run, self.server(_NOWHERE))

    def check(self, *, keep_going: bool) -> None:
        run = self.run
        check_command(run)
        known = (
            self._kind.options if self._kind else {}
        )  # without a server the command opens the database's files itself
        if self.opens_database and not self._kind and run.adapter not in databases.adapters():
            raise _unknown_database(run, [NO_DATABASE, *databases.adapters()])
        if may_be_external(run.adapter) and HOST in run.options:
            why = f'a command reaches a server that you run by its own arguments; use database = "{NO_DATABASE}"'
            raise SettingsError(run.levels, f"{run.adapter}.{HOST}", why, other="workload")
        if self._kind:
            _check_cold(run, self._kind)
        for option in run.options:
            if option not in known and not (self._kind and option.startswith(OWN)):
                way_out = nearest(option, known) if known else "give it in the command"
                raise _wrong_option(run, option, f"unknown option; {way_out}")

    def client_digests(self) -> dict[str, str]:
        return {}

    def content(self) -> tuple[str, dict[str, object]]:
        version = self._kind.installation().version if self._kind else None
        of_command = {**load_content(self.run), "adapter": self.run.adapter, "version": version}
        return f"command-{self.run.adapter}", {**of_command, "options": self.options}

    def load(self, data: Path, timeout_s: float, on_event: OnEvent | None) -> Load:
        took_s = load_by_command(self.run, self.server(data), data, timeout_s, _LOAD_SETTLE_S)
        return Load(LoadTime(None, took_s, took_s))

    def why_not_repeated(self, count: int) -> str | None:
        for key in ("prepare", "conclude"):
            if getattr(self._command, key) is not None:
                return f"a command with {key} is not repeated within a run"
        if self.has_server:
            return "a command on a server that the study starts is not repeated within a run"
        if self.run.cold:
            return "with a cold cache only the first repetition would find it cold"
        if count > REPETITIONS_MAX:
            return f"{count:,} repetitions would form one run, more than {REPETITIONS_MAX:,}"
        return None

    def way_out_of_short_runs(self, least_s: float) -> str:
        return f"give the command work for at least {least_s:.3g} s"

    def log_events(self, data: Path, begin_ns: int, end_ns: int) -> Sequence[Event]:
        return log_events(data, begin_ns, end_ns)


def system_of(run: PlannedRun) -> SystemUnderTest:
    """Chooses the kind; no other place does."""
    if run.command is not None:
        return Command(run)
    if run.adapter not in SERVERS:
        return Embedded(run)
    if run.adapter in BINDINGS:
        return ServedToYcsb(run)
    return External(run) if HOST in run.options else Served(run)


def may_be_external(adapter: str) -> bool:
    """Returns whether the user can run the server."""
    return adapter in SERVERS and adapter not in BINDINGS


def _unknown_database(run: PlannedRun, known: Collection[str]) -> SettingsError:
    name = run.adapter
    if name in REMOVED:
        return SettingsError(run.levels, "database", f"database {name!r} is no longer here; {REMOVED[name]}")
    return SettingsError(run.levels, "database", f"unknown database {name!r}; {nearest(name, known)}")


def _wrong_option(run: PlannedRun, option: str, why: str) -> SettingsError:
    return SettingsError(run.levels, f"{run.adapter}.{option}", why)


def _options_in_force(kind: type[DatabaseServer], run: PlannedRun) -> dict[str, Level]:
    options = dict[str, Level](kind.durability_options.get((run.durability or "") if run.durability_asked else "", {}))
    if kind.replication_option and run.replication_factor is not None:
        options[kind.replication_option] = run.replication_factor
    return {**options, **run.options}


def _server_options(kind: type[DatabaseServer], run: PlannedRun, options: Mapping[str, Level]) -> dict[str, object]:
    """Returns the server's options among those in force, with those that a cold run needs."""
    return {**(kind.cold_options if run.cold else {}), **options_of(kind, options)}


def _check_cold(run: PlannedRun, kind: type[DatabaseServer]) -> None:
    """Refuses a cold cache of a server that cannot have one. Raises UsageError."""
    if run.cold and kind.never_cold:
        why = f'{run.adapter} is never cold: {kind.never_cold}; set cache = "warm" for it by [[when]], or remove it'
        raise SettingsError(run.levels, "cache", why, other="database")


def _server_missing(run: PlannedRun, server: DatabaseServer | None) -> str | None:
    if server and (why := server.missing()):
        return f"{run.adapter} is not available here: {why}"
    if server and server.stand_in and "stand-in" not in run.database:
        return (
            f"{run.adapter} is not available here: what would run is a {server.stand_in}. Figures of it need a name "
            f'that says so: write database = ["{run.adapter}-stand-in"] and [databases.{run.adapter}-stand-in] with '
            f'adapter = "{run.adapter}"'
        )
    return None


def _load_properties(run: PlannedRun) -> dict[str, object]:
    """Returns the run's properties that determine the loaded content."""
    if run.kind == CORE:
        return {k: run.properties[k] for k in LOAD_PROPERTIES if k in run.properties}
    return {"kind": run.kind, **{k: v for k, v in run.properties.items() if k not in RUN_PROPERTIES}}


def _load_time(events: Sequence[dict[str, Any]]) -> LoadTime:
    """Returns the time of a load. Raises DatabaseError unless all records were loaded: a snapshot must be complete."""
    end = next(e for e in events if e["event"] == "end")
    settled = next(e for e in events if e["event"] == "settled")
    planned = [e["operations_planned"] for e in events if e["event"] == "interval"]
    if end["failures"] or not settled["complete"] or any(p not in (None, end["operations"]) for p in planned):
        raise DatabaseError(
            f"the load is incomplete: {end['operations']} records, {end['failures']} failed; settled: {settled['how']}"
        )
    active = next(e for e in events if e["event"] == "active_end")
    begin_ns = active["active_start_ns"]
    ends = (active["monotonic_ns"], settled["monotonic_ns"])
    return LoadTime(end["operations"], *((ns - begin_ns) / 1e9 for ns in ends))
