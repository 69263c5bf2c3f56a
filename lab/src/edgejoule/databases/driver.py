"""Finds the driver's binary, lists its adapters and runs it.

The driver is a process that writes JSON lines (schemas/driver-event.schema.json); this module needs none of its code.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from edgejoule.database_servers import SERVERS, DatabaseServer, ycsb_client
from edgejoule.database_servers.ycsb_client import BINDINGS
from edgejoule.dictionary.properties import CORE
from edgejoule.errors import DatabaseError, EdgejouleError
from edgejoule.experiment.model import Timing
from edgejoule.experiment.plan import PlannedRun
from edgejoule.machine.child_lines import ChildLines
from edgejoule.machine.processes import Adopted, Membership

Event = Mapping[str, Any]

LOAD_SEED = 1  # seed of the loaded values; the same for all, so that every cell starts from the same rows
BATCH_RECORDS = 1000  # records per batch of a load without batchsize


class DriverMissingError(EdgejouleError):
    """edgejoule-driver is not built."""


@cache
def driver_path() -> Path:
    """Returns the driver's path: $EDGEJOULE_DRIVER, else build/bin of this package's source tree, else PATH."""
    named = os.environ.get("EDGEJOULE_DRIVER")
    if named:
        if not _is_program(Path(named)):
            raise DriverMissingError(f"EDGEJOULE_DRIVER={named}: no program is there")
        return Path(named).absolute()
    candidates = [parent / "build/bin/edgejoule-driver" for parent in Path(__file__).resolve().parents]
    on_path = shutil.which("edgejoule-driver")
    path = next((c for c in [*candidates, *([Path(on_path)] if on_path else [])] if _is_program(c)), None)
    if path is None:
        raise DriverMissingError(
            "edgejoule-driver is not built: run `make build` in the source tree, or set EDGEJOULE_DRIVER"
        )
    return path


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


@dataclass(frozen=True)
class Adapter:
    """A database that the driver supports, and why it is not available. options: name without prefix -> (meaning,
    default).

    client: the driver's adapter for a server that the user runs.
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
    """Returns the adapters as the driver lists them. Raises DriverMissingError or DatabaseError."""
    command = [str(driver_path()), "databases", "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        listed = [_adapter(a) for a in json.loads(done.stdout)]
    except (OSError, subprocess.TimeoutExpired, ValueError, TypeError, KeyError) as error:
        raise DatabaseError(f"{command[0]} is no edgejoule-driver: `databases --json` gave {error!r}") from error
    embedded = {a.name: a for a in listed}
    return embedded | {name: _of_server(kind, embedded.get(name)) for name, kind in SERVERS.items()}


def _of_server(kind: type[DatabaseServer], client: Adapter | None) -> Adapter:
    """Returns the adapter of a database server; it is available if server and client are installed."""
    server, options = kind.installation(), {n: (o.meaning, o.default) for n, o in kind.options.items()}
    client_options = {n: o for n, o in client.options.items() if n not in kind.connection_options} if client else {}
    if binding := BINDINGS.get(kind.name):
        client_options = {n: (o.meaning, o.default) for n, o in binding.options.items()}
    fix = None
    if not server.available:
        fix = f"{server.why}: {server.fix}"
    elif binding:
        fix = ycsb_client.why_not()
    elif client is None:
        fix = "this build of the driver has no client of it"
    elif not client.available:
        fix = client.fix
    summary = server.summary or kind.summary
    return Adapter(kind.name, fix is None, summary, server.version or None, options | client_options, fix, client)


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
    """Returns the SHA-256 of the driver and its adapters, hex: data and figures may change with them."""
    adapters_folder = driver_path().resolve().parent.parent / "lib/edgejoule"
    digest = hashlib.sha256()
    for file in (driver_path(), *sorted(adapters_folder.glob("adapter-*.so"))):
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


class Driver:
    """Runs the driver once and collects its events. stop() may be called from a signal handler.

    prefix: argv before the command, of a program that execs it. member: the cgroup that its process joins. in_step:
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
        command = [*arguments, *(["--in-step"] if in_step else [])]
        driver = [str(driver_path()), *command, f"--die-with-parent={os.getpid()}", "-json", "-"]
        self._command = [*prefix, *driver]
        self._member = member
        self._in_step = in_step
        self._task = arguments[0]  # load or run
        self._stopped = False
        self._timeout_s = timeout_s
        self._on_event = on_event or (lambda event: None)
        self._process: subprocess.Popen[str] | None = None
        self._events: list[dict[str, Any]] = []

    def run(self) -> list[dict[str, Any]]:
        """Runs the driver and returns its events in order. Raises DatabaseError with the driver's message if the run
        failed.
        """
        events = self._events
        with self._started() as process:
            self._process = process
            adopted = Adopted(process.pid, self._member) if self._member else None
            if self._stopped:
                process.kill()
            with ChildLines(process, process.stdout, process.stderr, self._timeout_s) as lines:
                try:
                    for line in lines:
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
                    self._process = None
            message = lines.other_text()
        if lines.late:
            limit = f"run_timeout_s = {self._timeout_s:g} s"
            raise DatabaseError(f"the {self._task} took longer than {limit} and was stopped")
        if code != 0 or not {"start", "active_end", "settled", "end"} <= {e["event"] for e in events}:
            raise DatabaseError(_failure(events, code, message))
        return events

    def _started(self) -> subprocess.Popen[str]:
        try:
            return subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE if self._in_step else None,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,  # so that Ctrl-C reaches only this program, which stops the driver cleanly
            )
        except OSError as error:  # somebody rebuilds or removes the driver
            program = error.filename or self._command[0]
            raise DatabaseError(f"{program} cannot be started: {os.strerror(error.errno or 0)}") from error

    def step(self) -> None:
        """Lets a driver that works in step continue. run() reports one that has ended already."""
        process = self._process
        if process is None or process.stdin is None:
            return
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write("\n")
            process.stdin.flush()

    def add(self, event: Mapping[str, Any]) -> None:
        """Adds an event of its caller to those that it has reported so far. Only while it waits for a step."""
        self._events.append(dict(event))
        self._on_event(self._events[-1])

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


def _failure(events: Sequence[Event], code: int, output: str) -> str:
    error = next((e for e in events if e["event"] == "error"), None)
    if error:
        return str(error["message"])
    last = output.strip().splitlines()[-1] if output.strip() else "it printed no message"
    how = f"was killed by signal {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
    return f"the driver {how}: {last}"


def driver_arguments(command: str, run: PlannedRun, options: Mapping[str, object]) -> list[str]:
    """Returns the driver's arguments for a planned run. command: load or run. options: the adapter's, without
    prefix."""
    seed = LOAD_SEED if command == "load" else run.seed
    arguments = [command, "-db", run.adapter, "--seed", str(seed), "--quiet"]
    arguments += ["--durability", run.durability] if run.durability else []
    arguments += ["-p", f"workload={run.kind}"] if run.kind != CORE else []
    properties: dict[str, object] = {f"{run.adapter}.{name}": value for name, value in options.items()}
    if command == "load" and (batch := _BATCH.get(run.kind, "batchsize")):
        properties[batch] = BATCH_RECORDS
    properties |= run.properties
    if command == "load":
        properties.pop("maxexecutiontime", None)  # for runs only: the load would end early, with rows missing
    for name, value in properties.items():
        arguments += ["-p", f"{name}={_property(value)}"]
    if command == "run":
        arguments += ["-threads", str(run.threads), "--failure-share-max", f"{run.failure_share_max:g}"]
        arguments += ["-p", f"longest_gap_s_max={run.longest_gap_s_max:g}"]
        arguments += ["-target", str(run.target_ops_s)] if run.target_ops_s else []
        arguments += ["--rate", run.rate] if run.rate else []
        arguments += ["--warmup", f"{run.warmup_s:g}"] if run.warmup_s else []
        arguments += ["--drop-caches"] if run.cold and run.adapter not in SERVERS else []
    return arguments


#: What the kinds call the records of one batch, where it is not batchsize; None: they choose it themselves.
_BATCH: dict[str, str | None] = {
    "fillrandom": "batch_size", "mixgraph": "batch_size", "readwhilewriting": "batch_size", "sqlite-bench": None,
}  # fmt: skip


def _property(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def timing_arguments(timing: Timing) -> list[str]:
    """Returns the driver's timing arguments of a run."""
    return ["--settle-timeout-s", f"{timing.settle_timeout_s:g}", "--interval-ms", str(timing.interval_ms)]


def quiet_arguments(seconds: float, *, first: bool, last: bool) -> list[str]:
    """Returns the arguments for one execution's times without requests: before the first and after the last execution
    of a run."""
    arguments = ["--quiet-before-s", f"{seconds:g}"] if first and seconds else []
    return [*arguments, *(["--quiet-after-s", f"{seconds:g}"] if last and seconds else [])]
