#!/usr/bin/env python3
"""What a driver costs by itself: CPU time per operation and memory on a database that keeps nothing.

Prints one table: edgejoule-driver on noop beside Java YCSB core 0.17.0 on its BasicDB, in alternating rounds of the
same run. CPU time is user + system of the whole process, as the kernel reports it when the process ends. Start-up (of
the JVM above all) is taken out by the difference of a long and a short run; `active` is what edgejoule-driver itself
reports for the measured interval. Figures are medians; RSS is the peak of the long runs. Maven fetches the Java YCSB
on first use.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
JARS = REPOSITORY / "build" / "bench" / "jars"
RECORDS = 1_000_000
MIX = {
    "C": ["-p", "readproportion=1", "-p", "updateproportion=0"],
    "A": ["-p", "readproportion=0.5", "-p", "updateproportion=0.5"],
    "load": [],
}
BARS_NS = {"C": 100, "A": 120, "load": 300}
RSS_BAR_MB = 16
THREADS_BAR = 0.05


@dataclass(frozen=True)
class Cost:
    """What one process cost."""

    cpu_ns: float
    rss_bytes: int
    active_cpu_ns: float | None = None


@dataclass
class Case:
    """One line of the table and what its rounds measured."""

    driver: str
    workload: str
    threads: int
    per_op_ns: list[float] = field(default_factory=list)
    active_per_op_ns: list[float] = field(default_factory=list)
    rss_bytes: list[int] = field(default_factory=list)

    @property
    def median_ns(self) -> float:
        """CPU time per operation, ns."""
        return statistics.median(self.per_op_ns)


def cost_of(command: list[str], log: Path | None = None) -> Cost:
    """Runs the command to its end; ends the bench when it fails."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    message = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}: {message.decode(errors='replace')[-500:]}")
    cpu_ns = (usage.ru_utime + usage.ru_stime) * 1e9
    if log is None:
        return Cost(cpu_ns, usage.ru_maxrss * 1024)
    events = [json.loads(line) for line in log.read_text().splitlines()]
    active = next(event["usage"] for event in events if event["event"] == "active_end")
    # ru_maxrss of a small process is that of this interpreter, which it was forked from.
    return Cost(cpu_ns, events[-1]["rss_peak_bytes"], active["cpu_user_ns"] + active["cpu_system_ns"])


def properties(workload: str, operations: int) -> list[str]:
    """YCSB properties that both drivers are given."""
    records = operations if workload == "load" else RECORDS
    counts = ["-p", f"recordcount={records}", "-p", f"operationcount={operations}"]
    return [*counts, "-p", "requestdistribution=zipfian", *MIX[workload]]


def native(driver: Path, case: Case, operations: int, log: Path) -> Cost:
    """Cost of edgejoule-driver on noop."""
    command = "load" if case.workload == "load" else "run"
    options = ["-threads", str(case.threads), "--seed", "1", "--quiet", "-json", str(log)]
    return cost_of([str(driver), command, "-db", "noop", *properties(case.workload, operations), *options], log)


def java(case: Case, operations: int) -> Cost:
    """Cost of Java YCSB on BasicDB."""
    mode = "-load" if case.workload == "load" else "-t"
    options = ["-db", "site.ycsb.BasicDB", "-p", "basicdb.verbose=false", "-threads", str(case.threads)]
    options += ["-p", "workload=site.ycsb.workloads.CoreWorkload", *properties(case.workload, operations)]
    return cost_of(["java", "-cp", f"{JARS}/*", "site.ycsb.Client", mode, *options])


def fetch_java_ycsb() -> None:
    """Copies the jars into build/bench/jars unless they are there."""
    if any(JARS.glob("core-*.jar")):
        return
    print("fetching Java YCSB with Maven ...", file=sys.stderr)
    pom = Path(__file__).with_name("pom.xml")
    copy = ["dependency:copy-dependencies", f"-DoutputDirectory={JARS}"]
    if subprocess.run(["mvn", "-q", "-B", "-f", str(pom), *copy], check=False).returncode != 0:
        sys.exit("Maven could not fetch site.ycsb:core:0.17.0; run with --no-java to measure edgejoule-driver alone")


def measure(case: Case, driver: Path, operations: int, log: Path) -> None:
    """Adds one round: a long run and one of a quarter of its length."""
    short = operations // 4

    def run(count: int) -> Cost:
        return native(driver, case, count, log) if case.driver == "edgejoule-driver" else java(case, count)

    few, many = run(short), run(operations)
    case.per_op_ns.append((many.cpu_ns - few.cpu_ns) / (operations - short))
    case.rss_bytes.append(many.rss_bytes)
    if many.active_cpu_ns is not None:
        case.active_per_op_ns.append(many.active_cpu_ns / operations)


def bar_of(case: Case) -> str:
    """The bar and whether it is met; empty for the peer."""
    if case.driver != "edgejoule-driver":
        return ""
    bar = BARS_NS[case.workload]
    verdict = "met" if case.median_ns <= bar else "MISSED"
    return f"<= {bar}: {verdict}"


def print_table(cases: list[Case], rounds: int, seconds: float) -> None:
    """One line per driver, workload and number of threads."""
    print(f"\nCPU time per operation, {rounds} alternating rounds, medians [least, most]; {seconds:.0f} s in all")
    head = f"{'driver':<18}{'workload':<10}{'threads':>7}  {'ns/op':>7} {'[least, most]':<18}"
    print(f"{head}{'active ns/op':>13}{'RSS MB':>8}  bar")
    for case in cases:
        active = f"{statistics.median(case.active_per_op_ns):.1f}" if case.active_per_op_ns else "-"
        spread = f"[{min(case.per_op_ns):.1f}, {max(case.per_op_ns):.1f}]"
        rss_mb = statistics.median(case.rss_bytes) / 1e6
        print(
            f"{case.driver:<18}{case.workload:<10}{case.threads:>7}  {case.median_ns:>7.1f} {spread:<18}"
            f"{active:>13}{rss_mb:>8.1f}  {bar_of(case)}"
        )


def print_bars_of_all(cases: list[Case]) -> None:
    """Memory, and two threads against one."""
    own = [case for case in cases if case.driver == "edgejoule-driver"]
    rss_mb = max(statistics.median(case.rss_bytes) for case in own) / 1e6
    print(f"\npeak RSS {rss_mb:.1f} MB (bar {RSS_BAR_MB}): {'met' if rss_mb <= RSS_BAR_MB else 'MISSED'}")
    for workload in MIX:
        one, two = (next(c.median_ns for c in own if (c.workload, c.threads) == (workload, n)) for n in (1, 2))
        verdict = "met" if two <= one * (1 + THREADS_BAR) else "MISSED"
        print(
            f"{workload}: 2 threads against 1: {(two / one - 1) * 100:+.1f} % CPU per operation (bar +5 %): {verdict}"
        )


def main() -> None:
    """Measures all cases in alternating rounds and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", type=Path, default=REPOSITORY / "build" / "bin" / "edgejoule-driver")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--operations", type=int, default=8_000_000, help="of edgejoule-driver's long run")
    parser.add_argument("--java-operations", type=int, default=4_000_000, help="of Java YCSB's long run")
    parser.add_argument("--no-java", action="store_true")
    arguments = parser.parse_args()
    if not arguments.driver.exists():
        sys.exit(f"{arguments.driver}: not there; build first (make build) or give --driver")
    drivers = ["edgejoule-driver"] if arguments.no_java else ["edgejoule-driver", "Java YCSB 0.17.0"]
    if not arguments.no_java:
        fetch_java_ycsb()
    cases = [Case(driver, workload, threads) for workload in MIX for threads in (1, 2) for driver in drivers]
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.rounds):
            for case in cases:
                operations = arguments.operations if case.driver == drivers[0] else arguments.java_operations
                operations //= 4 if case.workload == "load" else 1
                if sys.stderr.isatty():
                    words = f"round {number + 1}/{arguments.rounds}: {case.driver} {case.workload}"
                    print(f"\r{words}\033[K", end="", file=sys.stderr, flush=True)
                measure(case, arguments.driver, operations, Path(folder) / "events.jsonl")
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    print_table(cases, arguments.rounds, time.monotonic() - begin)
    print_bars_of_all(cases)


if __name__ == "__main__":
    main()
