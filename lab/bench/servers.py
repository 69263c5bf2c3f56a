#!/usr/bin/env python3
"""Runs workload A on each database server of this machine, as a study through `edgejoule run`; one row each.

The table compares the client's operations with the server's own count; dataintegrity is on. Figures are of this machine
at this moment. A missing server is listed with the reason.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from edgejoule.databases.driver import adapters
from edgejoule.store import Run, Store

SPEC = """\
name = "servers"
question = "What does each server here take for workload A?"

[databases.asked]
adapter = "{database}"

[factors]
database = ["{shown}"]
workload = ["workloada"]

[fixed]
recordcount = {records}
operationcount = {operations}
threads = {threads}
dataintegrity = true

[design]
replications = 1
seed = 1

[meter]
run_s_min = 0
"""

#: Each server's counts of a client's reads and updates.
Counts = Mapping[str, int]
WITNESSES: dict[str, tuple[str, Callable[[Counts], int], Callable[[Counts], int]]] = {
    "redis": (
        "commandstats",
        lambda c: c.get("hgetall", 0) + c.get("hmget", 0),
        lambda c: c.get("hset", 0),
    ),
    "postgres": (
        "pg_stat",
        lambda c: c["idx_scan"] - c["n_tup_upd"],
        lambda c: c["n_tup_upd"],
    ),
    "mongodb": (
        "opcounters",
        lambda c: c.get("query", 0) - 1,  # the driver reads one document when it opens
        lambda c: c.get("update", 0),
    ),
    "cassandra": (
        "coordinator latency views",
        lambda c: c["read"],
        lambda c: c["write"],
    ),
    "hbase": ("region requests (JMX)", lambda c: c["read"], lambda c: c["write"]),
}
HEAD = (
    "database | version | client | operations | failed | p99 read, µs | p99 update, µs | client CPU, µs/op | "
    "server CPU, µs/op | client's share | driver's own | reads, updates by the client | by the server | counted by"
)


class BenchError(Exception):
    """A study did not end as expected."""


def main() -> int:
    """Prints the table on standard output."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "databases",
        nargs="*",
        metavar="DATABASE",
        help="these alone; all that are here when not given",
    )
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--operations", type=int, default=50_000)
    parser.add_argument("--threads", type=int, default=4)
    options = parser.parse_args()
    size = f"{options.records} records, {options.operations} operations, {options.threads} threads"
    print(f"workload A, {size}, dataintegrity\n")
    print(f"| {HEAD} |\n|{'---|' * (HEAD.count('|') + 1)}")
    failed = False
    for name in options.databases or WITNESSES:
        try:
            cells = row(name, options)
        except BenchError as error:
            failed, cells = True, f"{name} | {error}"
        print(f"| {cells} |", flush=True)
    return 1 if failed else 0


def row(name: str, options: argparse.Namespace) -> str:
    """Returns the row of one database. Raises BenchError."""
    adapter = adapters().get(name)
    if adapter is None or not adapter.available:
        return f"{name} | not here: {adapter.fix if adapter else 'no such database'}"
    shown = f"{name}-stand-in" if "stand-in" in adapter.summary else name
    with tempfile.TemporaryDirectory(prefix="ej-servers-") as folder:
        run, end = study(Path(folder), name, shown, options)
    server = run.facts["server"]
    told_of = {r.name: r.value for r in run.responses}
    done = {x["operation"]: x["count"] for x in end["latencies"] if x["measure"] == "service"}
    by, reads, updates = WITNESSES[name]
    client = (done["READ"], done["UPDATE"])
    counted = (reads(server["operations"]), updates(server["operations"]))
    same = "" if client == counted else " (not the same)"
    p99 = [f"{told_of[f'{operation}_latency_us_p99']:,.0f}" for operation in ("read", "update")]
    cpu = [f"{told_of[f'{side}_cpu_us_per_op']:.1f}" for side in ("client", "server")]
    cells = [
        shown,
        server["version"],
        server["client"],
        str(end["operations"]),
        str(end["failures"]),
        *p99,
        *cpu,
    ]
    cells += [
        f"{told_of['client_cpu_share']:.0%}",
        f"{told_of['driver_share']:.1%}" if told_of.get("driver_share") is not None else "",
        "{}, {}".format(*client),
        "{}, {}{}".format(*counted, same),
        by,
    ]
    return " | ".join(cells)


def study(folder: Path, name: str, shown: str, options: argparse.Namespace) -> tuple[Run, dict[str, Any]]:
    """Returns the run and the client's last event. Raises BenchError."""
    text = SPEC.format(
        database=name,
        shown=shown,
        records=options.records,
        operations=options.operations,
        threads=options.threads,
    )
    if shown == name:
        text = text.replace(f'[databases.asked]\nadapter = "{name}"\n\n', "")
    (folder / "experiment.toml").write_text(text.replace("databases.asked", f"databases.{shown}"))
    arguments = [
        sys.executable,
        "-c",
        "from edgejoule.cli.main import main; main()",
        "run",
        "experiment.toml",
    ]
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        raise BenchError(f"edgejoule run ended with code {done.returncode}: {done.stderr.strip().splitlines()[-1]}")
    with Store.open(folder / "results/store.db") as store:
        (run,) = store.runs(store.find().id)
        return run, json.loads(json.dumps(store.data(run).events[-1]))


if __name__ == "__main__":
    sys.exit(main())
