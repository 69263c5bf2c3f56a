"""Measures the bars of `edgejoule exec`. Prints a table; --json FILE writes JSON.

    make bench-exec
    .venv/bin/python lab/bench/exec_bars.py [--only time,cost,children,kills,aa] [--rounds 30] [--json FILE]

    time       30 alternating rounds against `hyperfine -N`, each with consecutive executions: ratio of the mean times
               with its 95 % interval (t of the rounds' log ratios), while a meter is sampled as in a study
    cost       own CPU time of a repetition, of a supervised command, and of a recorded run of `edgejoule exec` with its
               programs Python, supervisor and sampler
    children   CPU seconds of a tree of 200 short children: the supervisor's figure and /usr/bin/time's
    kills      SIGKILL of `edgejoule exec` at random moments: processes left behind, and the state of the store
    aa         `edgejoule exec --control` on pairs of the same command: how often they "differ" (about 15 s a pair)

The two bars of simulated studies (coverage of the interval, A/A) are printed by

    .venv/bin/python -m pytest -s -m slow -c lab/pyproject.toml lab/tests/test_two_stages.py

Packages: tools/packages exec. A busy machine gives wide intervals; `chrt --rr 1` (root) gives both sides the same
priority.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from edgejoule.commands.supervisor import Supervised, SupervisedCommand
from edgejoule.machine import process_clock
from edgejoule.meters.discovery import choose
from edgejoule.meters.sampler import Sampler
from edgejoule.store import Store

GZIP_BYTES = 20_000_000
INSERTS = 50_000
TOKEN_VARIABLE = "EDGEJOULE_BENCH_TOKEN"
EXEC = [str(Path(sys.executable).with_name("edgejoule")), "exec"]


@dataclass(frozen=True)
class Row:
    """A row of the table. held: None if this machine cannot decide the bar."""

    bar: str
    bound: str
    figure: str
    held: bool | None


@dataclass(frozen=True)
class Program:
    """A command of the comparison, and how often a round executes it."""

    name: str
    argv: Sequence[str]
    executions: int


def supervised(argv: Sequence[str], folder: Path, **options: Any) -> Supervised:
    """Returns the command as a study runs it, without its output."""
    return Supervised(SupervisedCommand(argv, dict(os.environ), folder, None, None), timeout_s=600, **options)


def programs(folder: Path) -> Iterator[Program]:
    """Returns the bar's five programs with their files. Lists those not installed."""
    text = folder / "text"
    rng = random.Random(1)
    vocabulary = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(5000)]
    text.write_bytes(" ".join(rng.choices(vocabulary, k=GZIP_BYTES // 5)).encode()[:GZIP_BYTES])
    rows = "\n".join(f"INSERT INTO t VALUES ({i}, 'row {i * 7919 % INSERTS}');" for i in range(INSERTS))
    (folder / "inserts.sql").write_text(
        f"DROP TABLE IF EXISTS t; CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT); BEGIN;\n{rows}\nCOMMIT;\n"
    )
    candidates = (
        Program("sleep 0.1", ["sleep", "0.1"], 5),
        Program("gzip of 20 MB", ["gzip", "-c", str(text)], 2),
        Program("sqlite3 inserts", ["sqlite3", str(folder / "x.db"), f".read {folder / 'inserts.sql'}"], 5),
        Program("python3 -c pass", ["/usr/bin/python3", "-c", "pass"], 40),
        Program(
            "db_bench",
            ["db_bench", "--benchmarks=fillrandom", "--num=50000", f"--db={folder / 'rocks'}", "--seed=1", "--sync=0"],
            2,
        ),
    )
    for program in candidates:
        if shutil.which(program.argv[0]):
            yield program
        else:
            print(f"left out: {program.name}: not installed (tools/packages exec)", file=sys.stderr)


def by_hyperfine(program: Program, folder: Path) -> float:
    """Returns the mean seconds of one round's executions under hyperfine."""
    report = folder / "hyperfine.json"
    quoted = " ".join(f"'{word}'" for word in program.argv)
    options = ["-N", "--style", "none", "--runs", str(program.executions), "--export-json", str(report)]
    # In a separate session, as the supervisor: the kernel may divide the processors among sessions.
    argv = ["hyperfine", *options, quoted]
    subprocess.run(argv, check=True, cwd=folder, stderr=subprocess.DEVNULL, start_new_session=True)
    return float(json.loads(report.read_text())["results"][0]["mean"])


def by_supervisor(program: Program, folder: Path) -> float:
    """Returns the mean seconds under the supervisor, while a meter is sampled."""
    meter = choose().meter
    meter.open()
    with contextlib.closing(meter), Sampler(meter):
        repetitions = supervised(program.argv, folder, repeat=program.executions).run()
    assert all(r.failure is None for r in repetitions), repetitions[-1].failure
    return statistics.mean((r.end_ns - r.start_ns) / 1e9 for r in repetitions)


def time_bars(options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Returns the ratio of mean times, ours divided by hyperfine's."""
    order = random.Random(options.seed)
    for program in programs(folder):
        by_hyperfine(program, folder)  # fills files and caches
        ratios = []
        for _ in range(options.rounds):
            sides: list[tuple[str, Callable[[Program, Path], float]]] = [("h", by_hyperfine), ("s", by_supervisor)]
            order.shuffle(sides)
            seconds = {name: side(program, folder) for name, side in sides}
            ratios.append(np.log(seconds["s"] / seconds["h"]))
        half = stats.t.ppf(0.975, len(ratios) - 1) * np.std(ratios, ddof=1) / np.sqrt(len(ratios))
        mean, low, high = (float(np.exp(x)) for x in (np.mean(ratios), np.mean(ratios) - half, np.mean(ratios) + half))
        figure = f"{mean:.4f} [{low:.4f}, {high:.4f}], {len(ratios)} rounds of {program.executions}"
        yield Row(f"time, {program.name}", "0.97-1.03", figure, low >= 0.97 and high <= 1.03)


def own_cpu_s(argv: Sequence[str], folder: Path, repeat: int) -> float:
    """Returns the CPU seconds of Python and the supervisor without those of the command."""
    before_s, children = time.process_time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    repetitions = supervised(argv, folder, repeat=repeat).run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    all_s = time.process_time() - before_s + after.ru_utime + after.ru_stime - children.ru_utime - children.ru_stime
    return all_s - sum(r.cpu_user_s + r.cpu_system_s for r in repetitions)


def finished_runs(store: Path) -> int:
    """Returns the number of runs in the store, 0 if it does not exist yet."""
    with contextlib.suppress(sqlite3.OperationalError), contextlib.closing(sqlite3.connect(store)) as db:
        return int(db.execute("SELECT count(*) FROM runs WHERE status = 'finished'").fetchone()[0])
    return 0


def cpu_s(process: int) -> np.ndarray:
    """Returns the CPU seconds of a process, its ended children, and those still running, such as the sampler.

    The time of ended children is rounded down to a tick.
    """
    children = [
        int(pid) for task in Path(f"/proc/{process}/task").glob("*/children") for pid in task.read_text().split()
    ]
    ended_ticks = sum(map(int, Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[13:15]))
    living_s = 0.0
    for child in children:
        with contextlib.suppress(OSError):  # it has just ended; its time is counted in its parent's
            living_s += process_clock.cpu_s(child)
    return np.array([process_clock.cpu_s(process), ended_ticks / os.sysconf("SC_CLK_TCK"), living_s])


def command_cpu_s(store: Path) -> float:
    """Returns the mean CPU seconds that the command itself used per run."""
    with contextlib.closing(sqlite3.connect(store)) as db:
        return float(db.execute("SELECT avg(value) FROM responses WHERE name = 'cpu_s'").fetchone()[0])


def recorded_run_cpu_s(runs: int, folder: Path) -> tuple[np.ndarray, float]:
    """Returns the CPU seconds per run of `edgejoule exec`, from the second run to the last but one: those of Python,
    supervisor and sampler, and those of its command, which sleeps.
    """
    store = folder / f"cost-{uuid.uuid4().hex}.db"
    argv = [*EXEC, "--runs", str(runs), "--store", str(store), "--", "sleep", "0.6"]
    seen: dict[int, np.ndarray] = {}
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and (count := finished_runs(store)) < runs - 1:
            seen.setdefault(count, cpu_s(process.pid))
            time.sleep(0.05)
        seen.setdefault(runs - 1, cpu_s(process.pid))
        process.wait()
    command_s = command_cpu_s(store)
    return (seen[runs - 1] - seen[2]) / (runs - 3) - np.array([0, command_s, 0]), command_s


def cost_bars(options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Returns the own CPU time as a slope over the number of runs, which excludes the cost of the start."""
    few, many = 200, 2000
    each_s = [(own_cpu_s(["true"], folder, many) - own_cpu_s(["true"], folder, few)) / (many - few) for _ in range(5)]
    each_ms = 1e3 * statistics.median(each_s)
    yield Row("own CPU, a repetition", "<= 2 ms", f"{each_ms:.3f} ms, median of 5", each_ms <= 2)
    alone_ms = 1e3 * statistics.median(own_cpu_s(["true"], folder, 1) for _ in range(100))
    yield Row("own CPU, a supervised command", "", f"{alone_ms:.2f} ms, median of 100", None)
    parts_s, command_s = recorded_run_cpu_s(options.rounds, folder)
    run_ms = 1e3 * float(parts_s.sum())
    figure = f"{run_ms:.1f} ms, mean of {options.rounds - 3}; the command's {1e3 * command_s:.1f} ms are not in it"
    yield Row("own CPU, a recorded run", "<= 15 ms", figure, run_ms <= 15)
    for program, part_s in zip(("Python", "supervisor", "sampler"), parts_s, strict=True):
        yield Row(f"  of it, {program}", "", f"{1e3 * part_s:.1f} ms", None)


CHILDREN = """
import os
for _ in range(200):
    if os.fork() == 0:
        sum(range(2_000_000))
        os._exit(0)
    os.wait()
"""


def children_bars(_: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Compares the counts of the same processes. `time` runs under the supervisor and rounds down to hundredths of a
    second.
    """
    shares = []
    for _ in range(5):
        printed = folder / "time"
        argv = ["/usr/bin/time", "-o", str(printed), "-f", "%U %S", sys.executable, "-S", "-c", CHILDREN]
        (repetition,) = supervised(argv, folder).run()
        times_s = sum(map(float, printed.read_text().split()))
        shares.append((repetition.cpu_user_s + repetition.cpu_system_s) / times_s - 1)
    worst = max(shares, key=abs)
    figure = f"{100 * worst:+.2f} % of {times_s:.1f} s, the largest of {len(shares)}"
    yield Row("CPU of 200 children, to /usr/bin/time", "within 1 %", figure, abs(worst) <= 0.01)


def left_over(token: str) -> list[str]:
    """Returns processes with the token in their environment or arguments."""
    processes = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            texts = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
            if token.encode() in texts and int(folder.name) != os.getpid():
                processes.append(f"{folder.name} {(folder / 'cmdline').read_bytes().replace(bytes(1), b' ').decode()}")
    return processes


def store_faults(path: Path) -> list[str]:
    """Returns the faults of a store after a kill."""
    if not path.exists():
        return []
    with contextlib.closing(sqlite3.connect(path)) as db:
        faults = [str(row[0]) for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
        faults += [f"foreign key of {row[0]}" for row in db.execute("PRAGMA foreign_key_check")]
    try:
        with Store.open(path) as store:
            for experiment in store.experiments():
                for run in store.runs(experiment.id):
                    finished = run.status == "finished"
                    if finished != bool(run.responses) or finished != (run.intervals is not None):
                        faults.append(f"run {run.run_index + 1} is {run.status} with {len(run.responses)} responses")
                    if finished and not store.data(run).events:
                        faults.append(f"run {run.run_index + 1} is finished without its events")
    except Exception as error:  # noqa: BLE001 whatever it is, it is the finding
        faults.append(repr(error))
    return faults


def kill_once(moment_s: float, folder: Path, store: Path) -> tuple[bool, list[str]]:
    """Starts exec and kills it after that time. Returns whether it was still running, and the faults afterwards."""
    token = uuid.uuid4().hex
    digits = str(int(token, 16))[:12]
    text = f"setsid sleep 900.{digits} & sleep 0.01 & sleep 0.05; nohup sleep 900.{digits} & :"
    argv = [*EXEC, "--runs", "2", "--store", str(store), text]
    env = {**os.environ, TOKEN_VARIABLE: token}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(argv, cwd=folder, env=env, **quiet) as process:  # type: ignore[call-overload]
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=moment_s)
        hit = process.poll() is None
        process.send_signal(signal.SIGKILL)
    deadline_s = time.monotonic() + 15
    while (left := [*left_over(token), *left_over(f"900.{digits}")]) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    for line in left:
        os.kill(int(line.split()[0]), signal.SIGKILL)
    return hit, [*(f"left: {line}" for line in left), *store_faults(store)]


def kill_bars(options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Sends SIGKILL at random moments of a study whose command leaves processes behind."""
    begin_s = time.monotonic()
    kill_once(600, folder, folder / "whole.db")
    whole_s = time.monotonic() - begin_s
    moments = random.Random(options.seed)
    faults: list[str] = []
    hits = 0
    while hits < options.kills:
        moment_s = moments.uniform(0, whole_s)
        hit, found_faults = kill_once(moment_s, folder, folder / f"kills-{hits % 10}.db")
        hits += hit
        faults += [f"kill after {moment_s:.2f} s: {fault}" for fault in found_faults]
        if hit and hits % 10 == 0:
            print(f"{len(faults)} faults in {hits} kills", file=sys.stderr, flush=True)
    for fault in faults:
        print(fault, file=sys.stderr)
    figure = f"{len(faults)} faults in {hits} kills within {whole_s:.1f} s"
    yield Row("kills of edgejoule exec", "no process, store whole", figure, not faults)


def aa_bars(options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Compares two arms of one command. "different": they share no letter. The bar allows for chance."""
    different, done = 0, 0
    for number in range(options.pairs):
        result = folder / "aa.json"
        argv = [*EXEC, "--runs", "3", "-N", "--control", "--export-json", str(result), "--store", str(folder / "aa.db")]
        measured = subprocess.run([*argv, "/usr/bin/python3 -c pass"], check=False, capture_output=True, cwd=folder)
        assert result.exists(), measured.stderr.decode()
        arms = json.loads(result.read_text())["results"]
        assert len(arms) == 2, arms
        done += 1
        different += not set(arms[0]["letters"] or "a") & set(arms[1]["letters"] or "a")
        if number % 10 == 9:
            print(f"{different} of {done} pairs differ", file=sys.stderr, flush=True)
    yield Row(
        "A/A, real pairs that differ",
        "<= 17 of 200",
        f"{different} of {done}",
        different <= 17 if done >= 200 else None,
    )


BARS = {"time": time_bars, "cost": cost_bars, "children": children_bars, "kills": kill_bars, "aa": aa_bars}


def main() -> int:
    """Prints the table. Returns 1 if a bar is not held."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(BARS), help="sections, separated by commas")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: list[Row] = []
    print(f"{'bar':40} {'bound':24} {'held':5} figure")
    with tempfile.TemporaryDirectory(prefix="exec-bars-") as folder:
        for section in options.only.split(","):
            for row in BARS[section](options, Path(folder)):
                rows.append(row)
                held = {True: "yes", False: "NO", None: "-"}[row.held]
                print(f"{row.bar:40} {row.bound:24} {held:5} {row.figure}", flush=True)
    if options.json:
        options.json.write_text(json.dumps([vars(row) for row in rows], indent=2) + "\n")
    return int(any(row.held is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
