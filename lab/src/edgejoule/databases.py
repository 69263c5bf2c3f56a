"""The driver and the databases in front of us: find the binary, ask what is built in, prepare a data directory.

A loaded database is kept as a snapshot: runs that agree in everything that decides its content start from a copy of it.
The driver is a process that writes JSON lines (schemas/driver-event.schema.json); its code is not known here.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from edgejoule import file_system, memory_group
from edgejoule.commands.check import check_command
from edgejoule.commands.loading import has_load, load_by_command, load_content
from edgejoule.commands.model import NO_DATABASE, CommandWorkload
from edgejoule.database_servers import REMOVED, SERVERS, Server, ycsb_client
from edgejoule.database_servers.external import HOST, SECRET, external
from edgejoule.database_servers.options import OWN
from edgejoule.database_servers.serving import Serving, copy_logs, keep_data_only, options_of, serving
from edgejoule.database_servers.ycsb_client import BINDINGS, Task, YcsbClient
from edgejoule.errors import DatabaseError, EdgejouleError, StoreError, UsageError
from edgejoule.federation.processes import Adopted, Membership
from edgejoule.plan import PlannedRun
from edgejoule.properties import CORE, LOAD_PROPERTIES, RUN_PROPERTIES, is_option
from edgejoule.responses import nearest
from edgejoule.spec import Level, Spec

Event = Mapping[str, Any]

LOAD_SEED = 1  # of the loaded values; the same for all, so that every cell starts from the same rows
BATCH_RECORDS = 1000  # records per batch while loading, unless batchsize says otherwise


class DriverMissingError(EdgejouleError):
    """edgejoule-driver is not built."""


@cache
def driver_path() -> Path:
    """The driver: $EDGEJOULE_DRIVER, else build/bin of the source tree this package lies in, else PATH."""
    named = os.environ.get("EDGEJOULE_DRIVER")
    if named:
        if not _is_program(Path(named)):
            raise DriverMissingError(f"EDGEJOULE_DRIVER={named}: no program is there")
        return Path(named).absolute()
    candidates = [parent / "build/bin/edgejoule-driver" for parent in Path(__file__).resolve().parents]
    on_path = shutil.which("edgejoule-driver")
    found = next((c for c in [*candidates, *([Path(on_path)] if on_path else [])] if _is_program(c)), None)
    if found is None:
        raise DriverMissingError(
            "edgejoule-driver is not built: run `make build` in the source tree, or set EDGEJOULE_DRIVER"
        )
    return found


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


@dataclass(frozen=True)
class Adapter:
    """A database the driver can drive, or why it cannot. options: name without prefix -> (meaning, default).

    client: of a server, the driver's own, for one that the user runs.
    """

    name: str
    available: bool
    summary: str
    version: str | None
    options: Mapping[str, tuple[str, str]]
    fix: str | None
    client: Adapter | None = None


@cache
def adapters() -> dict[str, Adapter]:
    """The adapters as the driver itself lists them. Raises DriverMissingError or DatabaseError."""
    command = [str(driver_path()), "databases", "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        listed = [_adapter(a) for a in json.loads(done.stdout)]
    except (OSError, subprocess.TimeoutExpired, ValueError, TypeError, KeyError) as error:
        raise DatabaseError(f"{command[0]} is no edgejoule-driver: `databases --json` gave {error!r}") from error
    embedded = {a.name: a for a in listed}
    return embedded | {name: _of_server(kind, embedded.get(name)) for name, kind in SERVERS.items()}


def _of_server(kind: type[Server], client: Adapter | None) -> Adapter:
    """A database with a process of its own: the server must be here, and a client of it."""
    found, options = kind.found(), {n: (o.meaning, o.default) for n, o in kind.options.items()}
    told = {n: o for n, o in client.options.items() if n not in kind.connection_options} if client else {}
    if binding := BINDINGS.get(kind.name):
        told = {n: (o.meaning, o.default) for n, o in binding.options.items()}
    fix = None
    if not found.available:
        fix = f"{found.why}: {found.fix}"
    elif binding:
        fix = ycsb_client.why_not()
    elif client is None:
        fix = "this build of the driver has no client of it"
    elif not client.available:
        fix = client.fix
    summary = found.summary or kind.summary
    return Adapter(kind.name, fix is None, summary, found.version or None, options | told, fix, client)


def _adapter(listed: Mapping[str, Any]) -> Adapter:
    return Adapter(
        name=listed["name"],
        available=listed["built_in"],
        summary=listed.get("summary", ""),
        version=listed.get("version"),
        options={o["name"].split(".", 1)[1]: (o["meaning"], o["default"]) for o in listed.get("options", [])},
        fix=listed.get("way_out"),
    )


@cache
def driver_digest() -> str:
    """SHA-256 of the driver and its adapters, hex: what is loaded and measured may change with them."""
    adapters_folder = driver_path().resolve().parent.parent / "lib/edgejoule"
    digest = hashlib.sha256()
    for file in (driver_path(), *sorted(adapters_folder.glob("adapter-*.so"))):
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def client_digest(adapter: str) -> str:
    """Of what works on a database: the driver, or the bindings of the real YCSB."""
    return ycsb_client.digest() if adapter in BINDINGS else driver_digest()


def not_available(run: PlannedRun) -> str | None:
    """Why the database of a run is not here, with the way to it; None: it is."""
    if run.command is not None:
        return _not_available_to_command(run)
    adapter = adapters()[run.adapter]
    if is_external(run):
        adapter = adapter.client or adapter
    if not adapter.available:
        return f"{run.adapter} is not available here: {adapter.fix}"
    return _server_missing(run)


def _not_available_to_command(run: PlannedRun) -> str | None:
    """The same for a command, which needs no client of the driver's."""
    if run.adapter not in SERVERS or is_external(run):
        return None
    here = SERVERS[run.adapter].found()
    return _server_missing(run) if here.available else f"{run.adapter} is not available here: {here.why}: {here.fix}"


def _server_missing(run: PlannedRun) -> str | None:
    server = server_of(run, Path("/nowhere")) if run.adapter in SERVERS else None
    if server and (why := server.missing()):
        return f"{run.adapter} is not available here: {why}"
    if server and server.stand_in and "stand-in" not in run.database:
        return (
            f"{run.adapter} is not available here: what would run is a {server.stand_in}. Figures of it need a name "
            f'that says so: write database = ["{run.adapter}-stand-in"] and [databases.{run.adapter}-stand-in] with '
            f'adapter = "{run.adapter}"'
        )
    return None


def check_plan(spec: Spec, plan: Sequence[PlannedRun], *, keep_going: bool = False) -> None:
    """Refuse what the driver would refuse later, or what no run would take. Raises UsageError naming it.

    keep_going: runs of a database that is not here are no reason, as long as there are others: they will fail.
    """
    for run in plan:
        if run.command is not None:
            _check_command(run)
    driven = [run for run in plan if run.command is None]
    known = adapters() if driven else {}
    for run in driven:
        adapter = known.get(run.adapter)
        if adapter is None:
            raise _unknown_database(run.adapter, known)
        if is_external(run):
            _check_external(run)
            adapter = adapter.client or adapter
        if (absent := not_available(run)) and not keep_going:
            raise UsageError(f"{run.label()}: {absent}; or leave its runs out and do the others with --keep-going")
        for option in run.options:
            if option not in adapter.options and not (run.adapter in SERVERS and option.startswith(OWN)):
                found = nearest(option, adapter.options)
                if is_external(run) and option in known[run.adapter].options:
                    found = f"it is of servers that the study starts, and {run.adapter}.{HOST} names one that you run"
                raise UsageError(f"database {run.database!r}: unknown option {option!r}; {found}")
        if run.memory_limit_bytes and run.adapter == "noop":
            raise UsageError(
                f"{run.label()}: noop has no data that memory could be short for; leave memory_limit_mb out"
            )
        if run.cold and run.adapter == "noop":
            raise UsageError(
                f"{run.label()}: noop keeps no files whose cache could be cold; leave it out, or cache warm"
            )
        if run.adapter in SERVERS and not absent:
            _check_served(run)
        elif run.adapter not in SERVERS and run.replication_factor is not None:
            raise UsageError(f"{run.label()}: {run.adapter} keeps one copy; replication_factor is for servers")
        if run.kind != CORE:  # the driver knows a default for all it needs
            continue
        if not run.properties.get("recordcount"):
            raise UsageError("recordcount is missing: how many records are in the database? Give it under [fixed]")
        ends = run.load_percent is not None or run.properties.get("maxexecutiontime")
        if not run.properties.get("operationcount") and not ends:
            raise UsageError(
                f"{run.label()}: the run would never end: give operationcount, or maxexecutiontime in seconds"
            )
    if plan and all(not_available(run) for run in plan):
        raise UsageError(f"no run of the plan can be done here: {not_available(plan[0])}")
    for workload, properties in spec.workloads.items():
        if isinstance(properties, CommandWorkload):
            continue
        for prefix in {name.split(".", 1)[0] for name in properties if is_option(name)} - set(known or adapters()):
            raise UsageError(f"workload {workload!r}: no database {prefix!r}; {nearest(prefix, known)}")
    for rule in spec.when:
        reached = {run.adapter for run in plan if rule.holds(run.levels)}
        for name in (n for n in rule.set if is_option(n)):
            if idle := reached - {name.split(".", 1)[0]}:
                raise UsageError(f"when {rule.words()}: {name} changes nothing for {', '.join(sorted(idle))}")
    used = {run.adapter for run in plan}
    for name in (n for n in (*spec.fixed, *spec.factors) if is_option(n)):
        prefix = name.split(".", 1)[0]
        if prefix not in used:
            raise UsageError(f"setting {name!r}: no run uses a database {prefix!r}; {nearest(prefix, used)}")
        if name in spec.factors and used != {prefix}:
            others = ", ".join(sorted(used - {prefix}))
            raise UsageError(
                f"factor {name!r} changes nothing for {others}: make it a variant under [databases] instead"
            )


def _unknown_database(name: str, known: Collection[str]) -> UsageError:
    if name in REMOVED:
        return UsageError(f"database {name!r} is no longer here; {REMOVED[name]}")
    return UsageError(f"unknown database {name!r}; {nearest(name, known)}")


def _check_command(run: PlannedRun) -> None:
    """Refuse a command that no run could start. Raises UsageError."""
    check_command(run)
    if run.adapter == NO_DATABASE:
        known: Collection[str] = ()
    elif run.adapter in SERVERS:
        known = SERVERS[run.adapter].options
    elif run.adapter in adapters():
        known = ()  # the command opens its file itself
    else:
        raise _unknown_database(run.adapter, [NO_DATABASE, *adapters()])
    if is_external(run):
        way_out = f'use database = "{NO_DATABASE}"'
        raise UsageError(f"{run.label()}: a command reaches a server that you run by its own arguments; {way_out}")
    if run.cold and run.adapter in SERVERS:
        raise UsageError(f"{run.label()}: cache = cold is for commands without a database server; leave it out")
    for option in run.options:
        if option not in known and not (run.adapter in SERVERS and option.startswith(OWN)):
            who = f"database {run.database!r}: unknown option {option!r}"
            raise UsageError(f"{who}; {nearest(option, known)}" if known else f"{who}: give it in the command")


#: Of the driver alone; the real YCSB has no such properties.
_DRIVERS_OWN = ("batchsize", "keytype", "zipfian.ranks", "zipfian.theta")


def _check_served(run: PlannedRun) -> None:
    """What only databases within the driver's process take, and what only the driver takes. Raises UsageError."""
    if run.cold:
        raise UsageError(f"{run.label()}: cache = cold is for databases within the driver's process; leave it out")
    if run.policy:
        raise UsageError(f"{run.label()}: eco.policy is for rocksdb")
    server = server_of(run, Path("/nowhere"))  # its options, too
    _check_copies(run, server)
    if run.adapter not in BINDINGS:
        return
    if run.kind != CORE:
        raise UsageError(f"{run.label()}: {run.adapter} is driven by the real YCSB, which has no workload {run.kind}")
    told: dict[str, object] = {"rate": run.rate, "warmup_s": run.warmup_s}
    told |= {name: run.properties.get(name) for name in _DRIVERS_OWN}
    for name, value in told.items():
        if value:
            raise UsageError(f"{run.label()}: {run.adapter} is driven by the real YCSB, which has no {name}")
    p = run.properties
    if (
        float(str(p.get("insertproportion") or 0))
        and p.get("requestdistribution") == "zipfian"
        and not p.get("operationcount")
    ):
        raise UsageError(
            f"{run.label()}: the real YCSB wants operationcount beside maxexecutiontime: with inserts its zipfian "
            "keys are laid out for as many operations"
        )


def is_external(run: PlannedRun) -> bool:
    """Is the run on a server that the user runs?"""
    return may_be_external(run.adapter) and HOST in run.options


def may_be_external(adapter: str) -> bool:
    """Can it be a server that the user runs?"""
    return adapter in SERVERS and adapter not in BINDINGS


def _check_external(run: PlannedRun) -> None:
    """What only a server of the study's own takes: nothing restores the user's between runs. Raises UsageError."""
    where = f"{run.label()}: {run.adapter}.{HOST} names a server that you run"
    if SECRET in run.options:
        named = f"{run.adapter}.{SECRET}_env or {run.adapter}.{SECRET}_file"
        raise UsageError(f"{where}: what an experiment says is stored; say where its password is, by {named}")
    if run.kind != CORE or any(run.properties.get(name) for name in ("insertproportion", "deleteproportion")):
        raise UsageError(f"{where}: rows that a run inserts or deletes would be there for the next; leave them out")
    told = {
        "memory_limit_mb": run.memory_limit_bytes, "data_path": run.data_path, "filesystem": run.file_system,
        "replication_factor": run.replication_factor,
    }  # fmt: skip
    for name in (name for name, value in told.items() if value):
        raise UsageError(f"{where}: {name} is for what the study starts itself; leave it out")
    if run.load_unit:
        raise UsageError(f"{where}: the study loads nothing there; leave load under [design] out")


def _check_copies(run: PlannedRun, server: Server) -> None:
    """As many copies of a row as there are nodes to keep them. Raises UsageError."""
    option = server.replication_option
    if run.replication_factor is not None and option in run.options:
        raise UsageError(f"{run.label()}: either replication_factor or {run.adapter}.{option}, which is the same")
    copies = int(run.replication_factor or options_in_force(run).get(option) or 1)
    if copies > server.copies_max():
        raise UsageError(
            f"{run.label()}: {copies} copies of each row, and {server.copies_max()} to keep them: more nodes, "
            "region_servers or workers of the server (edgejoule databases NAME), or fewer copies"
        )


def options_in_force(run: PlannedRun) -> dict[str, Level]:
    """The options of a run's database, with those of a server that durability and replication_factor stand for."""
    kind, found = None if is_external(run) else SERVERS.get(run.adapter), dict[str, Level]()
    if kind:
        found |= kind.durability_options.get((run.durability or "") if run.durability_asked else "", {})
    if kind and kind.replication_option and run.replication_factor is not None:
        found[kind.replication_option] = run.replication_factor
    return {**found, **run.options}


def server_of(run: PlannedRun, folder: Path, prefix: Sequence[str] = ()) -> Server:
    """The server of a run, with the options that its durability class asks for. Raises UsageError."""
    if is_external(run):
        return external(SERVERS[run.adapter])(folder, run.options)
    kind = SERVERS[run.adapter]
    return kind(folder, options_of(kind, options_in_force(run)), prefix)


def ycsb_task(
    command: str, run: PlannedRun, timeout_s: float, settle_timeout_s: float = 60, quiet_s: float = 0
) -> Task:
    """A run, or the load for it, by the real YCSB."""
    properties: dict[str, object] = dict(run.properties)
    return Task(
        command, run.adapter, properties, ycsb_client.client_options(run.adapter, options_in_force(run)),
        run.durability or "process", _LOAD_THREADS if command == "load" else run.threads,
        None if command == "load" else run.target_ops_s, run.seed, timeout_s, settle_timeout_s, quiet_s,
        run.failure_share_max,
    )  # fmt: skip


_LOAD_THREADS = 8  # of the real YCSB, which does not batch
_LOAD_SETTLE_S = 600.0

DROP_CACHES = Path("/proc/sys/vm/drop_caches")


def not_here(plan: Sequence[PlannedRun]) -> list[str]:
    """What these runs ask of the machine that this user cannot have here, each with the way out."""
    found = []
    if any(run.cold for run in plan) and not os.access(DROP_CACHES, os.W_OK):
        found.append(
            f'cache = "cold" needs root, and a machine (not a container) that lets {DROP_CACHES} be written: run with '
            "sudo, or --set fixed.cache=warm"
        )
    if any(run.memory_limit_bytes for run in plan) and (reason := memory_group.why_not()):
        found.append(reason)
    kinds = sorted({run.file_system.kind for run in plan if run.file_system})
    if kinds and (reason := file_system.why_not(kinds)):
        found.append(reason)
    for path in sorted({run.data_path for run in plan if run.data_path}):
        if not (Path(path).is_dir() and os.access(path, os.W_OK | os.X_OK)):
            found.append(f"data_path: {path} is no folder that this user may write to")
    return found


class Driver:
    """Runs the driver once and collects its events. stop() may be called from a signal handler.

    prefix: words before the command, of a program that replaces itself by it. member: what its process joins. in_step:
    it waits for step() twice, when the database is open and before it is closed.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        timeout_s: float,
        on_event: Callable[[Event], None] | None = None,
        prefix: Sequence[str] = (),
        *,
        member: Membership | None = None,
        in_step: bool = False,
    ) -> None:
        words = [*arguments, *(["--in-step"] if in_step else [])]
        driver = [str(driver_path()), *words, f"--die-with-parent={os.getpid()}", "-json", "-"]
        self._command = [*prefix, *driver]
        self._member = member
        self._in_step = in_step
        self._stopped = False
        self._timeout_s = timeout_s
        self._on_event = on_event or (lambda event: None)
        self._process: subprocess.Popen[str] | None = None

    def run(self) -> list[dict[str, Any]]:
        """Events in order. Raises DatabaseError with the driver's own words when the run failed."""
        events: list[dict[str, Any]] = []
        with subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE if self._in_step else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C reaches us, and we stop the driver in order
        ) as process:
            self._process = process
            adopted = Adopted(process.pid, self._member) if self._member else None
            if self._stopped:
                process.kill()
            words: list[str] = []
            timed_out = threading.Event()
            reader = threading.Thread(target=lambda: words.extend(process.stderr or []), daemon=True)

            def end_late_run() -> None:
                timed_out.set()
                process.kill()

            watch = threading.Timer(self._timeout_s, end_late_run)
            reader.start()
            watch.start()
            try:
                for line in process.stdout or []:
                    events.append(self._parse(line))
                    self._on_event(events[-1])
                if adopted:
                    adopted.await_end()
                code = process.wait()
            except BaseException:
                if adopted:
                    adopted.release()
                self.stop()
                raise
            finally:
                watch.cancel()
                self._process = None
            reader.join(timeout=5)
        if timed_out.is_set():
            raise DatabaseError(f"the run took longer than run_timeout_s = {self._timeout_s:g} s and was stopped")
        if code != 0 or not {"start", "active_end", "settled", "end"} <= {e["event"] for e in events}:
            raise DatabaseError(_failure(events, code, "".join(words)))
        return events

    def step(self) -> None:
        """Let a driver that keeps step go on. One that has ended already is told by run()."""
        process = self._process
        if process is None or process.stdin is None:
            return
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write("\n")
            process.stdin.flush()

    def _parse(self, line: str) -> dict[str, Any]:
        try:
            event: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise DatabaseError(f"the driver wrote a line that is no JSON: {line[:120]!r}") from error
        if not isinstance(event, dict) or "event" not in event or "monotonic_ns" not in event:
            raise DatabaseError(f"the driver wrote a line that is no event: {line[:120]!r}")
        return event

    def stop(self) -> None:
        """End the driver, first politely."""
        self._stopped = True
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _failure(events: Sequence[Event], code: int, words: str) -> str:
    error = next((e for e in events if e["event"] == "error"), None)
    if error:
        return str(error["message"])
    last = words.strip().splitlines()[-1] if words.strip() else "it said nothing"
    how = f"was killed by signal {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
    return f"the driver {how}: {last}"


def driver_arguments(command: str, run: PlannedRun, data: Path, served: Serving | None = None) -> list[str]:
    """The driver's words for a planned run on a data directory, or on a server. command: load or run."""
    seed = LOAD_SEED if command == "load" else run.seed
    words = [command, "-db", run.adapter, "--seed", str(seed), "--quiet"]
    words += ["--durability", run.durability] if run.durability else []
    words += ["-p", f"workload={run.kind}"] if run.kind != CORE else []
    in_force = options_in_force(run)
    own = options_of(SERVERS[run.adapter], in_force) if served and served.server.observed else {}
    options: dict[str, object] = {f"{run.adapter}.{n}": v for n, v in in_force.items() if n not in own}
    if served:
        options |= {f"{run.adapter}.{name}": value for name, value in served.server.connection().items()}
    elif run.adapter != "noop":
        options[f"{run.adapter}.path"] = str(data)
    if command == "load" and (batch := _BATCH.get(run.kind, "batchsize")):
        options[batch] = BATCH_RECORDS
    for name, value in (options | dict(run.properties)).items():
        words += ["-p", f"{name}={_property(value)}"]
    if command == "run":
        words += ["-threads", str(run.threads), "--failure-share-max", f"{run.failure_share_max:g}"]
        words += ["-p", f"longest_gap_s_max={run.longest_gap_s_max:g}"]
        words += ["-target", str(run.target_ops_s)] if run.target_ops_s else []
        words += ["--rate", run.rate] if run.rate else []
        words += ["--warmup", f"{run.warmup_s:g}"] if run.warmup_s else []
        words += ["--drop-caches"] if run.cold else []
    return words


#: What the kinds call the records of one batch, where it is not batchsize; None: they choose it themselves.
_BATCH: dict[str, str | None] = {
    "fillrandom": "batch_size", "mixgraph": "batch_size", "readwhilewriting": "batch_size", "sqlite-bench": None,
}  # fmt: skip


def _property(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _load_properties(run: PlannedRun) -> dict[str, object]:
    """What of a run's properties decides the loaded content."""
    if run.kind == CORE:
        return {k: run.properties[k] for k in LOAD_PROPERTIES if k in run.properties}
    return {"kind": run.kind, **{k: v for k, v in run.properties.items() if k not in RUN_PROPERTIES}}


class LoadTime(NamedTuple):
    """What a load took. active_s: from its first insert to its last; settled_s: until nothing was left to do.

    records: inserted; None by a command, which does not count them.
    """

    records: int | None
    active_s: float
    settled_s: float


class Snapshots:
    """Loaded databases, one folder each, named by what decides their content; a folder appears whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._failed: dict[str, str] = {}

    def failed(self, run: PlannedRun, cause: str) -> None:
        """It cannot be loaded: restore() will say so."""
        self._failed[self.key(run)] = cause

    def key(self, run: PlannedRun) -> str:
        """Name of the snapshot a run starts from."""
        if run.command is not None:
            version = SERVERS[run.adapter].found().version if run.adapter in SERVERS else None
            of_command = {**load_content(run), "adapter": run.adapter, "version": version}
            return _named(f"command-{run.adapter}", {**of_command, "options": options_in_force(run)})
        content = {
            "adapter": run.adapter,
            "driver_sha256": client_digest(run.adapter),
            "version": adapters()[run.adapter].version,
            "options": options_in_force(run),
            "durability": run.durability,
            "properties": _load_properties(run),
            "seed": LOAD_SEED,
        }
        return _named(run.adapter, content)

    def has(self, run: PlannedRun) -> bool:
        """Is the database of this run loaded already, with all its files? By the user, on the user's own server."""
        if _starts_empty(run):
            return True
        folder = self._folder / self.key(run)
        try:
            kept = json.loads((folder / "files.json").read_text())
        except (OSError, ValueError):
            return False
        return bool(kept == _files(folder / "data"))

    def load(self, run: PlannedRun, timeout_s: float, on_event: Callable[[Event], None] | None = None) -> None:
        """Load the database of this run and keep it. Raises DatabaseError, or StoreError when it cannot be kept.

        Of a load that fails the server's whole logs are kept, in `logs` beside the snapshots' folder, and nothing else.
        """
        final = self._folder / self.key(run)
        part = final.with_name(final.name + ".part")
        try:
            with _told(f"{final}: the loaded database cannot be kept"):
                shutil.rmtree(part, ignore_errors=True)
                took = self.load_at(run, part / "data", timeout_s, on_event)
                (part / "load.json").write_text(json.dumps(took._asdict()))
                (part / "files.json").write_text(json.dumps(_files(part / "data")))
                _sync_tree(part)
                shutil.rmtree(final, ignore_errors=True)
                part.rename(final)
        except DatabaseError as error:
            if logs := copy_logs(part / "data", self._folder.parent / "logs" / f"load-{final.name}"):
                raise DatabaseError(f"{error}; whole logs: {logs}") from error
            raise
        finally:
            shutil.rmtree(part, ignore_errors=True)  # the next one may need the room

    def load_at(
        self, run: PlannedRun, data: Path, timeout_s: float, on_event: Callable[[Event], None] | None = None
    ) -> LoadTime:
        """Load the database of this run at `data`, synced. Raises DatabaseError, or StoreError when it cannot."""
        if reason := not_available(run):
            raise DatabaseError(reason)
        with _told(f"{data}: the database cannot be loaded there"):
            shutil.rmtree(data, ignore_errors=True)
            data.mkdir(parents=True)
            if run.command is not None:
                server = server_of(run, data) if run.adapter in SERVERS else None
                took_s = load_by_command(run, server, data, timeout_s, _LOAD_SETTLE_S)
                took = LoadTime(None, took_s, took_s)
            elif run.adapter in SERVERS:
                took = _load_served(run, data, timeout_s, on_event)
            else:
                took = _loaded(Driver(driver_arguments("load", run, data), timeout_s, on_event).run())
            _sync_tree(data)
        return took

    def load_time(self, run: PlannedRun) -> LoadTime | None:
        """Of the load that a run starts from; None where it was not kept."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            return LoadTime(**json.loads((self._folder / self.key(run) / "load.json").read_text()))
        return None

    def restore(self, run: PlannedRun, data: Path) -> None:
        """Put a fresh copy of the loaded database at `data`, synced, so that its write-back is not the run's.

        Raises StoreError when it cannot, and DatabaseError when there is no such load.
        """
        if cause := self._failed.get(self.key(run)):
            raise DatabaseError(f"loading {run.database} failed: {cause}")
        with _told(f"{data}: the loaded database cannot be restored"):
            shutil.rmtree(data, ignore_errors=True)
            data.parent.mkdir(parents=True, exist_ok=True)
            if _starts_empty(run):
                data.mkdir()
                return
            shutil.copytree(self._folder / self.key(run) / "data", data, copy_function=_copy)
            _sync_tree(data)


def _starts_empty(run: PlannedRun) -> bool:
    """Does the run start from an empty folder? Its server is the user's, or its command has no load."""
    return is_external(run) or (run.command is not None and not has_load(run))


def _named(kind: str, content: Mapping[str, object]) -> str:
    """The name of a snapshot, from what decides its content."""
    return f"{kind}-{hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]}"


def _load_served(run: PlannedRun, data: Path, timeout_s: float, on_event: Callable[[Event], None] | None) -> LoadTime:
    """Load a database with a server of its own; what stays is what the server keeps. Raises DatabaseError."""
    server = server_of(run, data)
    with serving(server) as served:
        client: Driver | YcsbClient
        if run.adapter in BINDINGS:
            client = YcsbClient(ycsb_task("load", run, timeout_s, _LOAD_SETTLE_S), served, on_event)
        else:
            client = Driver(driver_arguments("load", run, data, served), timeout_s, on_event)
        served.end_client = client.stop
        took = _loaded(client.run())
        settled = server.await_settled(_LOAD_SETTLE_S)
        if not settled.complete:
            raise DatabaseError(f"the load has not settled within {_LOAD_SETTLE_S:g} s: {settled.how}")
    keep_data_only(server)
    return took


def data_bytes(folder: Path) -> int:
    """What all files below a folder take, the holes of images left out."""
    found = (file.stat() for file in folder.rglob("*") if file.is_file())
    return sum(min(file.st_size, file.st_blocks * 512) for file in found)


def _copy(source: str, target: str) -> str:
    """A file with its times and mode; what nobody has written of an image is not written in the copy either."""
    with Path(source).open("rb") as old, Path(target).open("wb") as new:
        size, at = os.fstat(old.fileno()).st_size, 0
        while at < size:
            try:
                at = os.lseek(old.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:  # no data any more
                    raise
                break
            hole = os.lseek(old.fileno(), at, os.SEEK_HOLE)
            os.lseek(new.fileno(), at, os.SEEK_SET)
            while at < hole:
                at += os.sendfile(new.fileno(), old.fileno(), at, hole - at)
        new.truncate(size)
    shutil.copystat(source, target)
    return target


def _files(folder: Path) -> dict[str, int]:
    """Every file below a folder -> its size in bytes."""
    return {str(f.relative_to(folder)): f.stat().st_size for f in sorted(folder.rglob("*")) if f.is_file()}


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    """The system's refusals (no space, no permission) as a StoreError that says what could not be done, and where."""
    try:
        yield
    except shutil.Error as error:  # of a whole tree: the first file tells
        _, target, why = error.args[0][0]
        raise StoreError(f"{what}: {target}: {why}") from error
    except OSError as error:
        raise StoreError(f"{what}: {error.filename or ''}: {error.strerror}") from error


def _loaded(events: Sequence[Event]) -> LoadTime:
    """A snapshot is complete or it is none."""
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


def _sync_tree(path: Path) -> None:
    for entry in (path, *path.rglob("*")):
        handle = os.open(entry, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
