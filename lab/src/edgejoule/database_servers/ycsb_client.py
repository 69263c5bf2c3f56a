"""The real Java YCSB with a binding of ours (ycsb/), as a client that writes the driver's events.

The binding takes the times of the first and the last operation on CLOCK_MONOTONIC, because YCSB's run time includes the
opening of connections. Latencies come from YCSB's histograms, in whole microseconds. CPU time, memory and bytes are
the Java virtual machine's, from /proc, with a resolution of 10 ms.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

from edgejoule.database_servers import hdr_log, jvm
from edgejoule.database_servers.options import Option
from edgejoule.database_servers.serving import Serving
from edgejoule.errors import DatabaseError
from edgejoule.experiment.failed_operations import FAILURE_SHARE_MAX, Cause, complaint, merged
from edgejoule.machine.child_lines import ChildLines

Event = Mapping[str, Any]

_CORE = "core"
_STATUS = re.compile(r"^\S+ \S+ \d+ sec: (\d+) operations; ")
_FAILED = re.compile(r"\[[A-Z-]+-FAILED: Count=(\d+)")
_CAUSE = re.compile(r"^edgejoule: cause operation=(\S+) status=(\S+) count=(\d+) (.*)$")
_RETURN = re.compile(r"^\[([A-Z-]+)\], Return=(\w+), (\d+)$")
_TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")
_OPERATIONS = ("READ", "UPDATE", "INSERT", "SCAN", "READ-MODIFY-WRITE", "DELETE", "VERIFY")
_COMPOSED = "READ-MODIFY-WRITE"
_PERCENTILES = {"p50_ns": 50.0, "p90_ns": 90.0, "p95_ns": 95.0, "p99_ns": 99.0, "p999_ns": 99.9}
STATUS_S = 1
_ABSENT = "no such record; does recordcount match the load?"
_NO_REASON = "the database gave no reason"
_OPERATIONS_MAX = 2**31 - 1


@dataclass(frozen=True)
class Binding:
    """A class of ycsb/ and its options."""

    class_name: str
    options: Mapping[str, Option]


BINDINGS = {
    "cassandra": Binding(
        "edgejoule.ycsb.Cassandra",
        {
            "consistency": Option("of reads and writes: ONE, QUORUM, ALL ...", "ONE"),
            "readconsistencylevel": Option("of reads; empty: as consistency"),
            "writeconsistencylevel": Option("of writes; empty: as consistency"),
            "replication_factor": Option("copies of each row, at most the number of nodes", "1"),
            "replication_strategy": Option(
                "how copies are placed", "SimpleStrategy", ("SimpleStrategy", "NetworkTopologyStrategy")
            ),
            "request_timeout_ms": Option("how long the client waits for an answer", "60000"),
        },
    ),
    "hbase": Binding(
        "edgejoule.ycsb.HBase",
        {
            "durability": Option(
                "of a write, HBase's own classes",
                "USE_DEFAULT",
                ("USE_DEFAULT", "SKIP_WAL", "ASYNC_WAL", "SYNC_WAL", "FSYNC_WAL"),
            ),
            "regions": Option("of the table when it is made", "1"),
            "request_timeout_ms": Option("how long the client waits for an answer", "60000"),
        },
    ),
}


def client_options(adapter: str, options: Mapping[str, object]) -> dict[str, object]:
    """Returns the binding's options among those of a database."""
    return {name: value for name, value in options.items() if name in BINDINGS[adapter].options}


@cache
def why_not() -> str | None:
    """Returns why the client cannot be started here; None if it can."""
    client = jvm.installation("ycsb", _CORE)
    if not client.available:
        return f"the real YCSB is not here ({client.why}): {client.fix}"
    return None if _classes().is_dir() else "the bindings of ycsb/ are not built: make servers"


@cache
def digest() -> str:
    """Returns the SHA-256 of the bindings' classes, hex."""
    whole = hashlib.sha256()
    for path in sorted(_classes().rglob("*.class")):
        whole.update(path.read_bytes())
    return whole.hexdigest()


def _classes() -> Path:
    return jvm.jars("ycsb").parent / "build/classes"


@dataclass(frozen=True)
class Task:
    """A task for the client. command: load or run. options: the binding's. quiet_s: time without requests before and
    after, with the server open. durability: its class. failure_share_max: a larger share of failed operations fails
    the run. cold: the server's caches are cold at the first operation.
    """

    command: str
    adapter: str
    properties: Mapping[str, object]
    options: Mapping[str, object]
    durability: str
    threads: int
    target_ops_s: int | None = None
    seed: int = 0
    timeout_s: float = 3600
    settle_timeout_s: float = 60
    quiet_s: float = 0
    failure_share_max: float = FAILURE_SHARE_MAX
    cold: bool = False


class YcsbClient:
    """Runs YCSB's client once against a server that runs. stop() may be called from another thread."""

    def __init__(
        self, task: Task, serving: Serving, on_event: Callable[[Event], None] | None = None, prefix: Sequence[str] = ()
    ) -> None:
        self._task, self._serving, self._prefix = task, serving, list(prefix)
        self._on_event = on_event or (lambda event: None)
        self._events: list[dict[str, Any]] = []
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._failure: str | None = None
        self._causes: list[dict[str, Any]] = []
        self._failed_operations = 0
        self._begin_usage: dict[str, int | None] = {}
        self._active_ns = self._interval_ns = 0
        self._done_operations = 0

    def stop(self) -> None:
        """End it; run() then raises."""
        self._stopped = True
        process = self._process
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGKILL)  # safe: it has no files that matter

    def run(self) -> list[dict[str, Any]]:
        """Returns the events in order, in the driver's form. Raises DatabaseError."""
        with tempfile.TemporaryDirectory(prefix="ej-ycsb-") as folder:
            return self._run(Path(folder))

    def _run(self, folder: Path) -> list[dict[str, Any]]:
        self._emit("start", **self._about())
        self._quiet("before")
        done, report, code, output = self._execute(folder)
        if code is None:
            limit = f"run_timeout_s = {self._task.timeout_s:g} s"
            raise DatabaseError(f"the {self._task.command} took longer than {limit} and was stopped")
        if self._stopped:
            raise DatabaseError(f"YCSB's client was stopped{self._because()}")
        if code or done is None:
            exceptions = [line for line in output if "Exception" in line or "Error" in line]
            last = next(iter([*exceptions, *reversed(output)]), "it printed no message")
            raise DatabaseError(f"YCSB's client ended with code {code}{self._because() or f': {last}'}")
        end = self._end(report, done, folder)
        if complained := complaint(
            end["failures"], end["operations"], self._task.failure_share_max, end["failure_causes"]
        ):
            raise DatabaseError(complained)
        if not end["operations"]:
            raise DatabaseError(f"no operation succeeded{self._because()}")
        if not any(e["event"] == "settled" for e in self._events):
            self._settle()
        self._quiet("after")
        self._emit("end", **end)
        return self._events

    def _because(self) -> str:
        return f": {self._failure}" if self._failure else ""

    def _execute(self, folder: Path) -> tuple[dict[str, int] | None, str, int | None, list[str]]:
        """Returns the binding's last line, YCSB's report, the exit code (None: timed out) and other output."""
        done: dict[str, int] | None = None
        output: list[str] = []
        with subprocess.Popen(
            [*self._prefix, "setpriv", "--pdeathsig", "KILL", *self._command(folder)],
            stdin=subprocess.PIPE if self._task.cold else subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
        ) as process:  # fmt: skip
            self._process = process
            if self._stopped:
                process.kill()
            with ChildLines(process, process.stderr, process.stdout, self._task.timeout_s) as lines:
                try:
                    for line in lines:
                        done = self._hear(line.strip(), process.pid) or done
                        if line.strip() and not line.startswith("edgejoule:"):
                            output.append(line.strip())
                    code = process.wait()
                except BaseException:
                    process.kill()
                    raise
            report = lines.other_text()
        return done, report, None if lines.late else code, output

    def _hear(self, line: str, pid: int) -> dict[str, int] | None:
        if line.startswith("edgejoule: active"):
            self._begin_usage = _usage(pid)
            self._active_ns = self._interval_ns = time.monotonic_ns()
            self._emit("phase", phase="active")
        elif line.startswith("edgejoule: connected"):
            self._serving.cool(self._task.settle_timeout_s)
            self._go_on()
        elif line.startswith("edgejoule: failed: "):
            self._failure = self._failure or line.removeprefix("edgejoule: failed: ")
        elif cause := _CAUSE.match(line):
            message = cause[4].strip() or _NO_REASON
            self._causes.append({"operation": cause[1], "status": cause[2], "count": int(cause[3]), "words": message})
        elif line.startswith("edgejoule: done "):
            done = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line)}
            done |= {"rss_peak_bytes": _rss_peak_bytes(pid) or 0}
            self._usage_at_end = self._since(_usage(pid))
            self._emit(
                "active_end", at_ns=done["last_ns"], active_start_ns=done["first_ns"],
                operations=self._done_operations, usage=self._usage_at_end,
            )  # fmt: skip
            return done
        elif line.startswith("edgejoule: flushed"):
            self._settle()
        elif status := _STATUS.match(line):
            self._interval(int(status[1]), sum(map(int, _FAILED.findall(line))), pid)
        return None

    def _interval(self, done: int, failed: int, pid: int) -> None:
        """Reports an interval. done: operations that have ended so far, failed ones included. failed: in this
        interval."""
        if not self._active_ns:
            return
        now = time.monotonic_ns()
        self._failed_operations += failed
        total = max(self._done_operations, done - self._failed_operations)
        took, count = max(1, now - self._interval_ns), total - self._done_operations
        self._interval_ns, self._done_operations = now, total
        self._emit(
            "interval", duration_ns=took, operations=count, operations_total=total, operations_planned=self._planned(),
            failures=failed, throughput_ops_s=count * 1e9 / took, latencies=[], usage=self._since(_usage(pid)),
        )  # fmt: skip

    def _planned(self) -> int | None:
        p = self._task.properties
        if self._task.command == "load":
            return int(str(p.get("insertcount") or p["recordcount"]))
        return int(str(p["operationcount"])) if p.get("operationcount") else None

    def _settle(self) -> None:
        settled = self._serving.server.await_settled(self._task.settle_timeout_s)
        self._emit("settled", complete=settled.complete, how=settled.how, usage=self._usage_at_end)

    def _go_on(self) -> None:
        """Lets a client that waits for the cold caches do its first operation."""
        process = self._process
        assert process is not None, "it has just written a line"
        assert process.stdin is not None, "the task is cold"
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write("\n")
            process.stdin.flush()

    def _quiet(self, place: str) -> None:
        """Leaves the server open without requests."""
        if self._task.quiet_s:
            self._report(self._serving.quiet(place, self._task.settle_timeout_s, self._task.quiet_s))

    def _emit(self, event: str, at_ns: int | None = None, **more: Any) -> None:
        self._report({"event": event, "monotonic_ns": time.monotonic_ns() if at_ns is None else at_ns, **more})

    def _report(self, event: dict[str, Any]) -> None:
        self._events.append(event)
        self._serving.hear(event)
        self._on_event(event)

    def _about(self) -> dict[str, Any]:
        task, server = self._task, self._serving.server
        version = jvm.installation("ycsb", _CORE).version
        options = {**server.facts()["settings"], **{name: str(value) for name, value in self._options().items()}}
        return {
            "schema_version": 1, "realtime_ns": time.time_ns(), "driver_version": f"site.ycsb:core {version}",
            "command": task.command,
            "database": {
                "name": server.name, "version": server.version, "options": options, "path": str(server.folder)
            },
            "update_semantics": "put" if _has_updates(task) else None,
            "durability": {"class": task.durability, "how": server.durability()},
            "workload": {name: _text(value) for name, value in task.properties.items()},
            "threads": task.threads, "target_ops_s": task.target_ops_s,
            "rate": str(task.target_ops_s) if task.target_ops_s else None,
            "seed": task.seed, "clock": "steady_clock", "caches": None,
        }  # fmt: skip

    def _options(self) -> dict[str, object]:
        known = BINDINGS[self._task.adapter].options
        return {n: o.default for n, o in known.items() if o.default != ""} | dict(self._task.options)

    def _command(self, folder: Path) -> list[str]:
        task = self._task
        properties: dict[str, object] = {"workload": "site.ycsb.workloads.CoreWorkload", **task.properties}
        if task.command == "load":
            properties.setdefault("operationcount", properties["recordcount"])  # zipfian requires it; a load ignores it
            properties.pop("maxexecutiontime", None)  # for runs only: YCSB would end the load early, with rows missing
        elif not properties.get("operationcount") and not properties.get("insertproportion"):
            properties["operationcount"] = _OPERATIONS_MAX  # 0 would mean none; maxexecutiontime ends the run
        prefixed = {**self._options(), **self._serving.server.connection()}
        properties |= {f"{task.adapter}.{name}": value for name, value in prefixed.items()}
        properties |= {
            "measurementtype": "hdrhistogram", "hdrhistogram.fileoutput": "true",
            "hdrhistogram.output.path": f"{folder}/", "status.interval": STATUS_S,
        }  # fmt: skip
        properties |= {"edgejoule.wait": "true"} if task.cold else {}
        # With a rate YCSB also logs latencies from the due time, as Intended-READ and so on.
        properties["measurement.interval"] = "both" if task.target_ops_s else "op"
        arguments = ["-load" if task.command == "load" else "-t", "-s", "-threads", str(task.threads)]
        arguments += ["-db", BINDINGS[task.adapter].class_name]
        arguments += ["-target", str(task.target_ops_s)] if task.target_ops_s else []
        arguments += [word for name, value in properties.items() for word in ("-p", f"{name}={_text(value)}")]
        flags = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
        return jvm.java([_classes(), f"{jvm.jars('ycsb')}/*"], *flags, "site.ycsb.Client", *arguments)

    def _since(self, now: Mapping[str, int | None]) -> dict[str, Any]:
        used: dict[str, Any] = {}
        for name, value in now.items():
            before = self._begin_usage.get(name)
            used[name] = None if value is None or before is None else value - before
        used["rss_bytes"] = now["rss_bytes"]
        return {**used, "device": None, "device_read_bytes": None, "device_write_bytes": None}

    def _end(self, report: str, done: Mapping[str, int], folder: Path) -> dict[str, Any]:
        returns: dict[str, dict[str, int]] = {}
        for line in report.splitlines():
            if (parsed := _RETURN.match(line.strip())) and parsed[1] in _OPERATIONS:
                returns.setdefault(parsed[1], {})[parsed[2]] = int(parsed[3])
        measured = [
            _latency(name, measure, returns.get(name, {}), folder / f"{prefix}{name}.hdr")
            for name in _OPERATIONS
            for measure, prefix in (("service", ""), ("intended", "Intended-"))
        ]
        latencies = [latency for latency in measured if latency]
        of_clients = {name: counts for name, counts in returns.items() if name != "VERIFY"}
        # YCSB counts a read-modify-write as a read and an update; it reports a latency for the whole as well.
        composed = sum(x["count"] for x in latencies if x["operation"] == _COMPOSED and x["measure"] == "service")
        ended = sum(sum(counts.values()) for counts in of_clients.values()) - composed
        failed = sum(n for counts in of_clients.values() for status, n in counts.items() if status != "OK")
        failed = min(failed, ended)  # a read-modify-write can fail twice, so that successes may be underestimated
        active_s = (done["last_ns"] - done["first_ns"]) / 1e9
        return {
            "realtime_ns": time.time_ns(),
            "operations": ended - failed,
            "failures": failed,
            "failure_causes": _causes_of(of_clients, self._causes),
            "not_found": sum(counts.get("NOT_FOUND", 0) for counts in of_clients.values()),
            "verify_failures": sum(n for status, n in returns.get("VERIFY", {}).items() if status != "OK"),
            "throughput_ops_s": (ended - failed) / active_s if active_s > 0 else 0.0,
            "longest_gap_ns": done["longest_gap_ns"],
            "longest_gap_start_ns": done["longest_gap_start_ns"],
            "payload_read_bytes": done["payload_read_bytes"],
            "payload_write_bytes": done["payload_write_bytes"],
            "read_before_write": 0,
            "rss_peak_bytes": done["rss_peak_bytes"],
            "data_bytes": None,
            "records_before": None,
            "records": None,
            "incidents": [],
            "checksum": None,
            "latencies": latencies,
            "components": {},
            "database_stats": {},
            "driver_share": None,
        }


def _causes_of(returns: Mapping[str, Mapping[str, int]], thrown: Sequence[Cause]) -> list[Cause]:
    """Returns why operations failed, the commonest cause first. thrown: causes with an exception; the others have only
    a status."""
    causes = list(thrown)
    for operation, counts in returns.items():
        for status, count in counts.items():
            of_status = sum(c["count"] for c in thrown if (c["operation"], c["status"]) == (operation, status))
            if status != "OK" and count > of_status:
                message = _ABSENT if status == "NOT_FOUND" else _NO_REASON
                causes.append({"operation": operation, "status": status, "count": count - of_status, "words": message})
    return merged([causes])


def _latency(operation: str, measure: str, returns: Mapping[str, int], file: Path) -> dict[str, Any] | None:
    """Reads latencies from YCSB's log of interval histograms in µs; None without a log. measure: service or
    intended."""
    whole = HdrHistogram(1, 3_600_000_000_000, 3)
    total = 0.0
    with contextlib.suppress(OSError):
        for line in file.read_text().splitlines():
            if line.startswith(("#", '"')) or "," not in line:
                continue
            for us, times in hdr_log.counts(line.rpartition(",")[2]):
                whole.record_value(max(1, us * 1000), times)
                total += us * 1000 * times
    count = int(whole.total_count)
    if not count:
        return None
    return {
        "operation": operation, "measure": measure, "count": count, "returns": dict(returns) or {"OK": count},
        "min_ns": int(whole.get_min_value()), "mean_ns": total / count, "max_ns": int(whole.get_max_value()),
        **{name: int(whole.get_value_at_percentile(p)) for name, p in _PERCENTILES.items()},
        "hdr": whole.encode().decode(),
    }  # fmt: skip


def _usage(pid: int) -> dict[str, int | None]:
    usage: dict[str, int | None] = dict.fromkeys(
        ("cpu_user_ns", "cpu_system_ns", "rss_bytes", "process_read_bytes", "process_write_bytes", "context_switches")
    )
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields: Sequence[str] = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        usage["cpu_user_ns"], usage["cpu_system_ns"] = int(fields[11]) * _TICK_NS, int(fields[12]) * _TICK_NS
        usage["rss_bytes"] = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
        io = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
        usage["process_read_bytes"], usage["process_write_bytes"] = int(io["read_bytes"]), int(io["wchar"])
    return usage


def _rss_peak_bytes(pid: int) -> int | None:
    with contextlib.suppress(OSError):
        peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        return int(peak[1]) * 1024 if peak else None
    return None


def _has_updates(task: Task) -> bool:
    """The bindings of Cassandra and HBase write an update without a read. 0.05 is YCSB's default share."""
    shares = (task.properties.get("updateproportion", 0.05), task.properties.get("readmodifywriteproportion", 0))
    return task.command == "run" and any(float(str(share)) > 0 for share in shares)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
