"""The real YCSB as a client: figures are of operations that succeeded, failures have causes, a hung one is ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from edgejoule.database_servers import SERVERS, DatabaseServer, ycsb_client
from edgejoule.database_servers.serving import Serving
from edgejoule.database_servers.ycsb_client import Task, YcsbClient
from edgejoule.errors import DatabaseError
from edgejoule.machine.processes import files_of_processes

from .studies import Study, needs, until

pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.skipif(bool(why := ycsb_client.why_not()), reason=str(why)),
]

UPDATES = {
    "recordcount": 300, "operationcount": 3000, "readproportion": 0.5, "updateproportion": 0.5,
    "requestdistribution": "zipfian", "fieldcount": 3,
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DatabaseServer]:
    """A Cassandra of one node for all tests of this file."""
    needs("cassandra")
    started = SERVERS["cassandra"](tmp_path_factory.mktemp("cassandra"), {"preset": "1gb-board"})
    try:
        yield started.start()
    finally:
        started.kill()


def done_by_java(
    server: DatabaseServer,
    command: str,
    properties: Mapping[str, object],
    options: Mapping[str, object] | None = None,
    on_event: Any = None,
    **more: Any,
) -> dict[str, Any]:
    """The client's last event."""
    serving = Serving(server, 0)
    task = Task(command, "cassandra", properties, options or {}, "process", 2, timeout_s=200, **more)
    try:
        return YcsbClient(task, serving, on_event).run()[-1]
    finally:
        serving.close()


def counts(end: dict[str, Any]) -> dict[str, int]:
    return {x["operation"]: x["count"] for x in end["latencies"] if x["measure"] == "service"}


def test_what_ends_by_time_wants_no_operationcount(server: DatabaseServer) -> None:
    by_time = {**UPDATES, "maxexecutiontime": 10}
    del by_time["operationcount"]
    assert done_by_java(server, "load", by_time)["operations"] == 300
    end = done_by_java(server, "run", by_time)
    assert end["operations"] > 0
    assert end["failures"] == 0


def test_a_load_has_all_its_rows_however_short_the_runs_are(server: DatabaseServer) -> None:
    end = done_by_java(server, "load", {**UPDATES, "recordcount": 20_000, "maxexecutiontime": 1})
    assert end["operations"] == 20_000


def run_with_failing_writes(server: DatabaseServer, failure_share_max: float = 0.01) -> dict[str, Any]:
    """Half of the operations are writes that want two copies of one node."""
    done_by_java(server, "load", UPDATES)
    options = {"writeconsistencylevel": "TWO"}
    return done_by_java(server, "run", UPDATES, options, failure_share_max=failure_share_max)


def test_too_many_failed_operations_fail_a_run_with_the_cause(server: DatabaseServer) -> None:
    with pytest.raises(DatabaseError) as failed:
        run_with_failing_writes(server)
    said = str(failed.value)
    assert re.search(
        r"1[3-6]\d\d of 3000 operations failed \((4[5-9]|5[0-5])(\.\d)? %\): UPDATE ERROR 1[3-6]\d\d", said
    )
    assert "Not enough replicas" in said
    assert "at most 1 % may fail (failure_share_max)" in said


def test_figures_are_of_operations_that_succeeded(server: DatabaseServer) -> None:
    end = run_with_failing_writes(server, failure_share_max=1.0)
    assert end["operations"] + end["failures"] == 3000
    assert end["operations"] == counts(end)["READ"]
    (cause,) = end["failure_causes"]
    assert (cause["operation"], cause["status"], cause["count"]) == ("UPDATE", "ERROR", end["failures"])
    assert "UPDATE" not in counts(end)
    assert end["longest_gap_ns"] > 0


def test_the_longest_gap_is_that_of_the_outage(server: DatabaseServer) -> None:
    done_by_java(server, "load", UPDATES)
    reads = {**UPDATES, "operationcount": 10**9, "maxexecutiontime": 30, "readproportion": 1, "updateproportion": 0}
    process = server.processes[0].pid
    outage_s = []

    def outage() -> None:
        time.sleep(20)  # a busy machine may take ten seconds for the first operation
        os.kill(process, signal.SIGSTOP)
        begin = time.monotonic()
        time.sleep(2)
        os.kill(process, signal.SIGCONT)
        outage_s.append(time.monotonic() - begin)

    thread = threading.Thread(target=outage)

    def hear(event: Any) -> None:
        if event["event"] == "phase":
            thread.start()

    end = done_by_java(server, "run", reads, on_event=hear)
    thread.join()
    assert outage_s[0] - 0.1 < end["longest_gap_ns"] / 1e9 < outage_s[0] + 1.5


def test_latencies_from_the_due_time_are_there_where_there_is_a_rate(server: DatabaseServer) -> None:
    done_by_java(server, "load", UPDATES)
    properties = {**UPDATES, "measurement.interval": "intended"}  # the user's own: it must not swap the two
    without, with_rate = (
        done_by_java(server, "run", properties, target_ops_s=target) for target in (None, 100_000_000)
    )
    latencies = {(x["operation"], x["measure"]): x for x in with_rate["latencies"]}
    for operation in ("READ", "UPDATE"):
        service, due = latencies[operation, "service"], latencies[operation, "intended"]
        assert due["count"] == service["count"]
        assert due["p99_ns"] > 3 * service["p99_ns"], "all 3,000 operations were due at once"
    assert with_rate["operations"] == 3000
    assert {x["measure"] for x in without["latencies"]} == {"service"}


def client_of(study: Study) -> int | None:
    """The real YCSB that works for the study just now."""
    record = study._served_run()
    if record is None:
        return None
    for entry in files_of_processes("cmdline"):
        try:
            argv = entry.read_bytes()
        except OSError:
            continue
        port = f"cassandra.port={record.ports['native']}"
        if b"-t\0" in argv and port.encode() in argv and b"site.ycsb.Client" in argv:
            return int(entry.parent.name)
    return None


def test_a_client_that_hangs_is_ended_and_the_plan_continues(tmp_path: Path) -> None:
    study = Study(
        tmp_path, "cassandra", '"cassandra.consistency" = ["ONE", "QUORUM"]', '"cassandra.preset" = "1gb-board"'
    )
    rule = '[[when]]\n"cassandra.consistency" = "ONE"\nset = { operationcount = 0, maxexecutiontime = 600 }\n'
    with (tmp_path / "experiment.toml").open("a") as spec:
        spec.write(rule)
    with study.start("--keep-going", "--set", "timing.run_timeout_s=90") as process:
        os.kill(until(lambda: client_of(study), process, most_s=400), signal.SIGSTOP)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 1, errors
    hung, good = study.runs()
    assert (hung.status, good.status) == ("failed", "finished"), errors
    assert "the run took longer than run_timeout_s = 90 s and was stopped; its log ends: " in str(hung.cause)
    assert study.left() == []
    assert subprocess.run(["pgrep", "-f", f"{tmp_path}"], check=False, stdout=subprocess.DEVNULL).returncode == 1
