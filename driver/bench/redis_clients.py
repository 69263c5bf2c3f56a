#!/usr/bin/env python3
"""The driver beside the real Java YCSB on one Redis, in alternating rounds: same binding layout, same workloads.

CPU time of each side is from the first operation to the last: the start of a Java virtual machine is left out, its
compiler is not. Figures are medians with [least, most]. Java YCSB takes no seed. Server and client have cores of their
own: left to the scheduler, a client of one thread is three times as fast where it shares the server's core by chance.
"""

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgejoule.database_servers import SERVERS, Server
from edgejoule.database_servers.redis_protocol import connected
from edgejoule.database_servers.serving import Serving
from edgejoule.database_servers.ycsb_client import Task, YcsbClient
from edgejoule.databases import Driver

READS = {"a": 0.5, "b": 0.95, "c": 1.0}
CLIENTS = ("driver", "java")
TIMEOUT_S = 600


@dataclass(frozen=True)
class Case:
    """What both clients do. phase: load, a, b, c."""

    phase: str
    threads: int

    def properties(self, told: argparse.Namespace) -> dict[str, object]:
        """Of YCSB."""
        found: dict[str, object] = {
            "recordcount": told.records,
            "operationcount": told.operations,
            "requestdistribution": "zipfian",
        }
        if self.phase != "load":
            reads = READS[self.phase]
            found |= {"readproportion": reads, "updateproportion": 1 - reads}
        return found


@dataclass(frozen=True)
class Figures:
    """Of one round."""

    ops_s: float
    client_us: float
    server_us: float
    p99_us: float


def main() -> int:
    """The table on standard output."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--operations", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 8])
    told = parser.parse_args()
    cases = [Case(phase, threads) for threads in told.threads for phase in ("load", *READS)]
    with tempfile.TemporaryDirectory(prefix="ej-redis-clients-") as folder:
        server = SERVERS["redis-java"](Path(folder) / "server", {"persistence": "none"})
        cores = sorted(os.sched_getaffinity(0))
        of_clients = cores[1:] or cores
        os.sched_setaffinity(0, cores[:1])
        with server:
            os.sched_setaffinity(0, of_clients)
            print(
                f"Redis {server.version} on core {cores[0]}, clients on {', '.join(map(str, of_clients))}; "
                f"{told.records} records, {told.operations} operations, {told.rounds} rounds\n"
            )
            for line in table(server, cases, told):
                print(line, flush=True)
    return 0


def table(server: Server, cases: list[Case], told: argparse.Namespace) -> Iterator[str]:
    """A line for each case and client."""
    heads = (
        "threads",
        "phase",
        "client",
        "ops/s",
        "client CPU, µs/op",
        "server CPU, µs/op",
        "p99, µs",
        "Java / driver, CPU",
    )
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for case in cases:
        found: dict[str, list[Figures]] = {client: [] for client in CLIENTS}
        for number in range(told.rounds):
            for client in CLIENTS if number % 2 == 0 else reversed(CLIENTS):
                if case.phase == "load":
                    empty(server)
                found[client].append(measured(server, client, case, told, seed=number + 1))
        cost = {client: statistics.median(f.client_us for f in figures) for client, figures in found.items()}
        for client, figures in found.items():
            cells = [
                shown([getattr(f, name) for f in figures]) for name in ("ops_s", "client_us", "server_us", "p99_us")
            ]
            ratio = f"{cost['java'] / cost['driver']:.1f}" if client == "java" else ""
            yield f"| {case.threads} | {case.phase} | {client} | {' | '.join(cells)} | {ratio} |"


def empty(server: Server) -> None:
    """No record any more."""
    with connected("127.0.0.1", server.ports["port"]) as redis:
        redis.ask("FLUSHALL")


def measured(server: Server, client: str, case: Case, told: argparse.Namespace, seed: int) -> Figures:
    """One round of one client. Raises DatabaseError."""
    command, properties = (
        "load" if case.phase == "load" else "run",
        case.properties(told),
    )
    serving = Serving(server, 0)
    try:
        if client == "java":
            events = YcsbClient(
                Task(
                    command,
                    "redis-java",
                    properties,
                    {},
                    "none",
                    case.threads,
                    seed=seed,
                ),
                serving,
            ).run()
        else:
            asked = {
                **properties,
                **{f"redis.{name}": value for name, value in server.connection().items()},
            }
            words = [word for name, value in asked.items() for word in ("-p", f"{name}={value}")]
            line = [
                command,
                "-db",
                "redis",
                "--quiet",
                "--seed",
                str(seed),
                "-threads",
                str(case.threads),
                *words,
            ]
            events = Driver(line, TIMEOUT_S, serving.hear).run()
        used = serving.served()
    finally:
        serving.close()
    return figures_of(events, float(used.cpu_active_s or 0))


def figures_of(events: list[dict[str, Any]], server_s: float) -> Figures:
    """Raises SystemExit where a client failed at anything: such a round is none."""
    active = next(e for e in events if e["event"] == "active_end")
    end = events[-1]
    if end["failures"] or end["not_found"]:
        sys.exit(f"{end['failures']} operations failed, {end['not_found']} found nothing")
    count, usage = end["operations"], active["usage"]
    seconds = (active["monotonic_ns"] - active["active_start_ns"]) / 1e9
    slowest = max(x["p99_ns"] for x in end["latencies"] if x["measure"] == "service")
    client_us = (usage["cpu_user_ns"] + usage["cpu_system_ns"]) / 1e3 / count
    return Figures(count / seconds, client_us, server_s * 1e6 / count, slowest / 1e3)


def shown(values: list[float]) -> str:
    """Median [least, most]."""
    digits = 0 if statistics.median(values) >= 100 else 1
    return f"{statistics.median(values):,.{digits}f} [{min(values):,.{digits}f}, {max(values):,.{digits}f}]"


if __name__ == "__main__":
    sys.exit(main())
