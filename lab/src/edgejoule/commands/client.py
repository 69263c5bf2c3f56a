"""Runs a command once: starts its server, supervises the command, waits until the server has settled.

Its events are the driver's start, active, active_end, settled and end. It neither counts nor times operations.
"""

from __future__ import annotations

import contextlib
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgejoule.commands.cold import drop_caches
from edgejoule.commands.outputs import Output
from edgejoule.commands.phases import phase_events
from edgejoule.commands.programs import Surroundings, failed, run_beside
from edgejoule.commands.supervisor import Repetition, Supervised
from edgejoule.database_servers.server import Settled
from edgejoule.database_servers.serving import ServerUse, Serving
from edgejoule.errors import DatabaseError
from edgejoule.experiment.command import DISCARD, shown
from edgejoule.machine.storage_counters import StorageCounters

if TYPE_CHECKING:
    from edgejoule.experiment.model import Timing
    from edgejoule.experiment.plan import PlannedRun
    from edgejoule.machine.processes import Membership

OWN_FOLDER = "command"  # below a run's folder, beside the server's data: the command's {data}


@dataclass(frozen=True)
class CommandRun:
    """The result of a command in one run: its repetitions, and its output to standard output and error together.

    output_bytes: total printed. served: use of the server that the study started for it. durability: the server's
    description of how safe an acknowledged write is. parts: results by server, if there are several. doubts: why the
    server's caches may not have been cold.
    """

    repetitions: Sequence[Repetition]
    events: list[dict[str, Any]]
    text: str
    output_bytes: int
    storage: StorageCounters
    served: ServerUse | None = None
    server_facts: Mapping[str, Any] = field(default_factory=dict)
    durability: str = ""
    parts: Mapping[str, CommandRun] = field(default_factory=dict)
    doubts: Sequence[str] = ()


def data_folder(planned: PlannedRun, path: Path, *, server: bool) -> Path:
    """{data} of a run: the folder of its load, or beside a server's files in it."""
    return path / OWN_FOLDER if server else path


def surroundings(
    planned: PlannedRun,
    data: Path,
    served: Serving | None = None,
    prefix: Sequence[str] = (),
    of_home: Mapping[str, str] | None = None,
    server: str = "",
) -> Surroundings:
    """Returns the texts of a run's command with the run's values. of_home: a federation's placeholders. server: which
    one."""
    assert planned.command is not None
    connection = served.server.connection() if served else {}
    own = {name: connection[name] for name in ("host", "port") if name in connection}
    of_run = {**own, **(of_home or {}), "data": data, "block_seed": _seed(planned, server)}
    of_server = planned.command.per_server.get(server, {})
    return Surroundings(planned.command, {**planned.values, **of_run, **of_server}, tuple(prefix))


def _seed(planned: PlannedRun, server: str) -> int:
    """Returns the block's seed; each further server has a different one."""
    assert planned.command is not None
    if server in planned.command.servers[1:]:
        return random.Random(f"{planned.seed} {server}").randrange(2**63)
    return planned.seed


class CommandClient:
    """Runs the command of a planned run `repeat` times back to back. stop() may be called from another thread.

    prefix, member, of_home: from the DriverPlacement of the federation's server that it runs on. ready: called after
    preparation; the command starts when it returns.
    """

    def __init__(
        self,
        planned: PlannedRun,
        path: Path,
        repeat: int,
        timing: Timing,
        on_event: Callable[[Mapping[str, Any]], None],
        *,
        served: Serving | None = None,
        prefix: Sequence[str] = (),
        quiet_s: float = 0.0,
        member: Membership | None = None,
        of_home: Mapping[str, str] | None = None,
        server: str = "",
        ready: Callable[[], object] = lambda: None,
    ) -> None:
        assert planned.command is not None
        self._planned, self._command, self._repeat, self._timing = planned, planned.command, repeat, timing
        self._served, self._on_event, self._quiet_s = served, on_event, quiet_s
        self._data = data_folder(planned, path, server=served is not None)
        self._scratch = path.parent / f"{path.name}-output"
        self._around = surroundings(planned, self._data, served, prefix, of_home, server)
        self._ready = ready
        self._member = member
        self._events: list[dict[str, Any]] = []
        self._supervised: Supervised | None = None
        self._stopped = False

    def run(self) -> CommandRun:
        """Runs the command. Raises DatabaseError if it, or something it needs, failed."""
        self._data.mkdir(parents=True, exist_ok=True)
        self._beside("prepare")
        self._quiet("before")
        caches = self._cool() if self._planned.cold else None
        self._ready()
        self._report("start", command=shown(self._command.command), repetitions=self._repeat, caches=caches)
        output = Output(self._scratch)
        with output if self._command.output is None else contextlib.nullcontext():
            repetitions, storage = self._supervise(output)
        self._check(repetitions, output)
        self._quiet("after")
        self._beside("conclude")
        self._report("end", realtime_ns=time.time_ns())
        return CommandRun(repetitions, self._events, self._printed(output), output.bytes_total, storage)

    def stop(self) -> None:
        """Ends the command and the processes that it started."""
        self._stopped = True
        if (supervised := self._supervised) is not None:
            supervised.stop()

    def _supervise(self, output: Output) -> tuple[list[Repetition], StorageCounters]:
        supervised = self._supervised = Supervised(
            self._around.measured(self._data, output),
            timeout_s=self._timing.run_timeout_s,
            repeat=self._repeat,
            ignore_failure=self._command.ignore_failure,
            phase=None if self._command.phase is None else re.compile(self._command.phase),
            member=self._member,
        )
        if self._stopped:
            supervised.stop()
        self._report("phase", phase="active")
        before = StorageCounters.of(self._data)
        repetitions = supervised.run()
        used, start_ns = _usage(repetitions), repetitions[0].start_ns
        self._events += phase_events(repetitions)
        self._report("active_end", at_ns=repetitions[-1].end_ns, active_start_ns=start_ns, usage=used)
        settled, at_ns = Settled(True, "a command without a server has nothing to settle"), repetitions[-1].end_ns
        if self._served:
            settled = self._served.server.await_settled(self._timing.settle_timeout_s)
            at_ns = time.monotonic_ns()
        storage = StorageCounters.of(self._data).since(before)
        usage = {**used, "device_read_bytes": storage.read_bytes, "device_write_bytes": storage.write_bytes}
        self._report("settled", at_ns=at_ns, complete=settled.complete, how=settled.how, usage=usage)
        return repetitions, storage

    def _check(self, repetitions: Sequence[Repetition], output: Output) -> None:
        """Raises DatabaseError for a command that failed or died: it gives no value."""
        for number, repetition in enumerate(repetitions, 1):
            if repetition.failure and (repetition.signal is not None or not self._command.ignore_failure):
                which = f"repetition {number} of {self._repeat} " if self._repeat > 1 else ""
                message = f"the command failed: {which or 'it '}{repetition.failure}"
                if self._command.output == DISCARD:
                    raise DatabaseError(f"{message}; its output is discarded")
                raise DatabaseError(failed(message, self._printed(output)))

    def _printed(self, output: Output) -> str:
        """Returns the output, from its file if the experiment names one."""
        declared = self._command.output
        if declared is None:
            return output.text()
        if declared == DISCARD:
            return ""
        try:
            return self._around.path(declared).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""  # the command removed it; then a declared response is missing

    def _beside(self, key: str) -> None:
        run_beside(self._around, key, self._data, self._scratch, self._timing.run_timeout_s)

    def _cool(self) -> dict[str, Any]:
        """Drops the files from the page cache and returns `caches` of the start event."""
        if not self._served:
            return drop_caches(self._data)
        cold = self._served.cool(self._timing.settle_timeout_s)
        return cold.facts()

    def _quiet(self, place: str) -> None:
        """Leaves the server open without requests."""
        if self._served and self._quiet_s:
            self._add(self._served.quiet(place, self._timing.settle_timeout_s, self._quiet_s))

    def _report(self, event: str, at_ns: int | None = None, **more: Any) -> None:
        self._add({"event": event, "monotonic_ns": time.monotonic_ns() if at_ns is None else at_ns, **more})

    def _add(self, event: dict[str, Any]) -> None:
        self._events.append(event)
        if self._served and event["event"] != "start":
            self._served.hear(event)
        self._on_event(event)


def _usage(repetitions: Sequence[Repetition]) -> dict[str, int | None]:
    """Returns the resource use of the process trees of all repetitions together."""
    return {
        "cpu_user_ns": round(sum(r.cpu_user_s for r in repetitions) * 1e9),
        "cpu_system_ns": round(sum(r.cpu_system_s for r in repetitions) * 1e9),
        "process_read_bytes": _sum([r.read_bytes for r in repetitions]),
        "process_write_bytes": _sum([r.write_bytes for r in repetitions]),
        "context_switches": sum(r.voluntary_switches + r.involuntary_switches for r in repetitions),
    }


def _sum(parts: Sequence[int | None]) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
