"""Redis with the real YCSB as its client: each client reads what the other has written, and one that hangs is ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from edgejoule.database_servers import SERVERS, Server, ycsb_client
from edgejoule.database_servers.serving import serving
from edgejoule.database_servers.ycsb_client import Task, YcsbClient
from edgejoule.databases import Driver
from edgejoule.errors import DatabaseError

from .studies import Study, needs, until

pytestmark = [pytest.mark.server, pytest.mark.skipif(bool(why := ycsb_client.why_not()), reason=str(why))]

ALL_FIVE = {
    "recordcount": 300, "operationcount": 3000, "readproportion": 0.3, "updateproportion": 0.3, "insertproportion": 0.1,
    "scanproportion": 0.1, "readmodifywriteproportion": 0.2, "maxscanlength": 10, "dataintegrity": "true",
    "requestdistribution": "zipfian", "fieldcount": 3,
}  # fmt: skip


def counts(end: dict[str, Any]) -> dict[str, int]:
    return {x["operation"]: x["count"] for x in end["latencies"] if x["measure"] == "service"}


def by_driver(server: Server, command: str) -> dict[str, Any]:
    told = {**ALL_FIVE, **{f"redis.{name}": value for name, value in server.connection().items()}}
    words = [word for name, value in told.items() for word in ("-p", f"{name}={value}")]
    return Driver([command, "-db", "redis", "--quiet", "--seed", "7", "-threads", "2", *words], 120).run()[-1]


def by_java(server: Server, command: str) -> dict[str, Any]:
    task = Task(command, "redis-java", ALL_FIVE, {}, "process", 2, timeout_s=120)
    with serving(server) as served:
        return YcsbClient(task, served).run()[-1]


@pytest.mark.parametrize(("loader", "runner"), [(by_driver, by_java), (by_java, by_driver)], ids=["java", "driver"])
def test_what_the_other_client_has_loaded_is_found(tmp_path: Path, loader: Any, runner: Any) -> None:
    needs("redis")
    for client, command in ((loader, "load"), (runner, "run")):
        server = SERVERS["redis-java"](tmp_path / "server", {"persistence": "none"})
        if client is by_java:
            end = by_java(server, command)
        else:
            with server:
                end = by_driver(server, command)
        assert (end["failures"], end["not_found"], end["verify_failures"]) == (0, 0, 0)
        if command == "run":
            done = counts(end)
            assert {"READ", "UPDATE", "INSERT", "SCAN", "READ-MODIFY-WRITE", "VERIFY"} <= set(done)
            assert end["operations"] == 3000


def test_what_ends_by_time_wants_no_operationcount(tmp_path: Path) -> None:
    needs("redis")
    by_time = {**ALL_FIVE, "operationcount": None, "insertproportion": 0, "readproportion": 0.4, "maxexecutiontime": 1}
    told = {name: value for name, value in by_time.items() if value is not None}
    for command in ("load", "run"):
        server = SERVERS["redis-java"](tmp_path / "server", {"persistence": "none"})
        with serving(server) as served:
            end = YcsbClient(Task(command, "redis-java", told, {}, "process", 2, timeout_s=120), served).run()[-1]
        assert end["operations"] > 0
        assert end["failures"] == 0
        assert command == "run" or end["operations"] == 300


def test_a_load_has_all_its_rows_however_short_the_runs_are(tmp_path: Path) -> None:
    needs("redis")
    server = SERVERS["redis-java"](tmp_path / "server", {"persistence": "none"})
    told = {**ALL_FIVE, "recordcount": 100_000, "maxexecutiontime": 1}
    with serving(server) as served:
        end = YcsbClient(Task("load", "redis-java", told, {}, "process", 1, timeout_s=300), served).run()[-1]
    assert end["operations"] == 100_000


UPDATES = {
    **ALL_FIVE,
    "insertproportion": 0,
    "scanproportion": 0,
    "readmodifywriteproportion": 0,
    "dataintegrity": "false",
}


def run_by_java(folder: Path, *, failure_share_max: float = 0.01, **more: object) -> dict[str, Any]:
    """Loads, then reads and updates half and half on a server that takes no more writes."""
    needs("redis")
    by_java(SERVERS["redis-java"](folder / "server", {"persistence": "rdb"}), "load")
    full = {"persistence": "rdb", "conf.maxmemory": "1mb", "conf.maxmemory-policy": "noeviction"}
    told = {**UPDATES, "readproportion": 0.5, "updateproportion": 0.5, **more}
    task = Task(
        "run", "redis-java", told, {}, "process", 2, timeout_s=120, failure_share_max=failure_share_max
    )  # fmt: skip
    with serving(SERVERS["redis-java"](folder / "server", full)) as served:
        return YcsbClient(task, served).run()[-1]


def test_too_many_failed_operations_fail_a_run_of_the_real_ycsb_with_the_cause(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError) as failed:
        run_by_java(tmp_path)
    said = str(failed.value)
    assert re.search(
        r"1[3-6]\d\d of 3000 operations failed \((4[5-9]|5[0-5])(\.\d)? %\): UPDATE ERROR 1[3-6]\d\d", said
    )
    assert "OOM command not allowed" in said
    assert "at most 1 % may fail (failure_share_max)" in said


def test_figures_of_the_real_ycsb_are_of_operations_that_succeeded(tmp_path: Path) -> None:
    end = run_by_java(tmp_path, failure_share_max=1.0)
    assert end["operations"] + end["failures"] == 3000
    assert end["operations"] == counts(end)["READ"]
    (cause,) = end["failure_causes"]
    assert (cause["operation"], cause["status"], cause["count"]) == ("UPDATE", "ERROR", end["failures"])
    assert "UPDATE" not in counts(end)
    assert end["longest_gap_ns"] > 0


def test_a_load_by_the_real_ycsb_that_the_server_evicts_from_has_failed(tmp_path: Path) -> None:
    needs("redis")
    full = {"persistence": "none", "conf.maxmemory": "3mb", "conf.maxmemory-policy": "allkeys-random"}
    told = {**ALL_FIVE, "recordcount": 20_000}
    server = SERVERS["redis-java"](tmp_path / "server", full)
    with pytest.raises(DatabaseError) as failed, serving(server) as served:
        YcsbClient(Task("load", "redis-java", told, {}, "process", 2, timeout_s=120), served).run()
    said = str(failed.value)
    assert re.search(r"20000 were inserted and acknowledged, \d+ are there; the server evicted \d+ keys", said)


def test_the_longest_gap_of_the_real_ycsb_is_that_of_the_outage(tmp_path: Path) -> None:
    needs("redis")
    by_java(SERVERS["redis-java"](tmp_path / "server", {"persistence": "rdb"}), "load")
    told = {**UPDATES, "operationcount": 10**9, "maxexecutiontime": 5, "readproportion": 1, "updateproportion": 0}
    with serving(SERVERS["redis-java"](tmp_path / "server", {"persistence": "rdb"})) as served:
        process = served.server.processes[0].pid
        timers = [
            threading.Timer(2, os.kill, (process, signal.SIGSTOP)),
            threading.Timer(4, os.kill, (process, signal.SIGCONT)),
        ]

        def hear(event: Any) -> None:
            if event["event"] == "phase":
                for timer in timers:
                    timer.start()

        end = YcsbClient(Task("run", "redis-java", told, {}, "process", 2, timeout_s=120), served, hear).run()[-1]
    assert 1.9e9 < end["longest_gap_ns"] < 3.5e9


def test_a_study_compares_the_clients_and_the_server_counts_what_they_did(tmp_path: Path) -> None:
    study = Study(tmp_path, "redis-java", fixed='dataintegrity = true\n"redis-java.persistence" = "none"')
    code, said = study.run()
    assert code in (0, 3), said
    (run,) = study.runs()
    done, counted = counts(study.events(run)[-1]), run.facts["server"]["operations"]
    assert sum(n for name, n in done.items() if name != "VERIFY") == 2000
    assert counted["hset"] == done["UPDATE"]
    assert counted.get("hmget", 0) + counted.get("hgetall", 0) == done["READ"]
    share = {r.name: r.value for r in run.responses}["client_cpu_share"]
    assert share is not None
    assert 0 < share < 1
    assert study.left() == []


def client_of(study: Study) -> int | None:
    """The real YCSB that works for the study just now."""
    if study._served_run() is None:
        return None
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes()
        except OSError:
            continue
        port = f"redis-java.port={study._served_run().ports['port']}"  # type: ignore[union-attr]
        if b"-t\0" in words and port.encode() in words and b"/java\0" in words.split(b"-cp")[0]:
            return int(entry.parent.name)
    return None


def test_a_client_that_hangs_is_ended_and_the_plan_goes_on(tmp_path: Path) -> None:
    study = Study(tmp_path, "redis-java", '"redis-java.persistence" = ["none", "rdb"]')
    rule = '[[when]]\n"redis-java.persistence" = "none"\nset = { operationcount = 0, maxexecutiontime = 600 }\n'
    with (tmp_path / "experiment.toml").open("a") as spec:
        spec.write(rule)
    with study.start("--keep-going", "--set", "timing.run_timeout_s=60") as process:
        os.kill(until(lambda: client_of(study), process), signal.SIGSTOP)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 1, errors
    hung, good = study.runs()
    assert (hung.status, good.status) == ("failed", "finished"), errors
    assert "the run took longer than run_timeout_s = 60 s and was stopped; its log ends: " in str(hung.cause)
    assert study.left() == []
    assert subprocess.run(["pgrep", "-f", f"{tmp_path}"], check=False, stdout=subprocess.DEVNULL).returncode == 1


def test_the_bench_has_both_clients_in_every_case() -> None:
    needs("redis")
    bench = Path(__file__).parents[3] / "driver/bench/redis_clients.py"
    few = ["--records", "300", "--operations", "1000", "--rounds", "1", "--threads", "2"]
    done = subprocess.run([sys.executable, bench, *few], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[4:]]
    assert [row[:3] for row in rows] == [["2", p, c] for p in ("load", "a", "b", "c") for c in ("driver", "java")]
    assert all(float(row[-1]) > 1 for row in rows[1::2]), "Java takes no more than the driver"


def test_the_real_ycsb_tells_latencies_from_the_due_time_where_there_is_a_rate(tmp_path: Path) -> None:
    needs("redis")
    properties = {**ALL_FIVE, "measurement.interval": "intended"}  # the user's own: it must not swap the two
    ends = {}
    for target in (None, 100_000_000):
        for command in ("load", "run"):
            server = SERVERS["redis-java"](tmp_path / f"server-{target}", {"persistence": "none"})
            task = Task(command, "redis-java", properties, {}, "process", 2, target, timeout_s=120)
            with serving(server) as served:
                ends[target] = YcsbClient(task, served).run()[-1]
    told = {(x["operation"], x["measure"]): x for x in ends[100_000_000]["latencies"]}
    for operation in ("READ", "UPDATE", "SCAN", "READ-MODIFY-WRITE"):
        service, due = told[operation, "service"], told[operation, "intended"]
        assert due["count"] == service["count"]
        assert due["p99_ns"] > 3 * service["p99_ns"], "all 3,000 operations were due at once"
    assert ends[100_000_000]["operations"] == 3000
    assert {x["measure"] for x in ends[None]["latencies"]} == {"service"}
