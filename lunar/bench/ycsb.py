#!/usr/bin/env python3
"""YCSB of the LUNAR paper (section 4.3) by the driver: lunar in mode full beside SQLite with as strong a promise.

Integer keys, five columns of 100 bytes, 1 MB of buffer on both sides; mixes from writes only to reads only; skew 0, 0.5
and 1. Every engine keeps its database from run to run. In each round all engines do every mix, in another order each
time, as many operations each from the same seed; ratios are of the same round. Both go through the page cache: on files
of one folder (no root), or with --loops lunar on a bare loop device and SQLite on ext4 on another.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from contest import Bar
from loops import BenchError, Loops

REPOSITORY = Path(__file__).resolve().parents[2]
#: Its workload file, and how many operations for one that is asked for: a tenth of them writes is still enough of them.
MIXES = {
    "write only": ("lunar-write-only", 1),
    "90 % writes": ("lunar-update-heavy", 1),
    "50 % writes": ("lunar-balanced", 2),
    "10 % writes": ("lunar-read-heavy", 10),
    "read only": ("lunar-read-heavy", 20),
}
READ_ONLY = ["-p", "readproportion=1", "-p", "updateproportion=0"]
SKEWS = ("0", "0.5", "1")
BARS = {"SQLite TRUNCATE FULL": 0.40, "SQLite WAL FULL": 0.85}
IMAGE_BYTES_PER_RECORD = 1600  # of it some 600 are a row and its index; the log and free blocks have the rest

Cell = tuple[str, str]  # mix, skew


@dataclass
class Engine:
    """A database, where it lies, and what its runs took."""

    name: str
    words: Sequence[str]
    mean_us: dict[Cell, list[float]] = field(default_factory=dict)  # by round


def drive(program: Path, *words: str) -> dict[str, Any]:
    """The driver's last event."""
    done = subprocess.run([program, *words, "--quiet", "-json", "-"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(done.stderr.strip() or f"{' '.join(words)}: {done.returncode}")
    end: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return end


@contextlib.contextmanager
def places(arguments: argparse.Namespace) -> Iterator[tuple[list[str], Path]]:
    """What lunar is told of its place, and SQLite's folder."""
    with tempfile.TemporaryDirectory(prefix="lunar-ycsb-", dir=arguments.data) as scratch:
        image_bytes = arguments.records * IMAGE_BYTES_PER_RECORD + (64 << 20)
        if not arguments.loops:
            words = [f"lunar.path={scratch}/image", f"lunar.size_bytes={image_bytes}", "lunar.allocate=true"]
            yield words, Path(scratch)
            return
        mib = image_bytes // (1 << 20) + 1
        with contextlib.ExitStack() as held:
            loops = held.enter_context(Loops(Path(scratch), mib, 2 * mib))
            # The kernel forgets what it has of a device when the last who has it open closes it.
            held.enter_context(Path(loops.devices["bare"]).open("rb"))
            yield [f"lunar.path={loops.devices['bare']}"], loops.folder


def engines(lunar_words: Sequence[str], folder: Path) -> list[Engine]:
    """All with 1 MB of buffer (the workload files), each write synced before it is acknowledged."""

    def sqlite(journal: str) -> Engine:
        words = [f"sqlite.path={folder}/{journal}", f"sqlite.journal_mode={journal}", "sqlite.synchronous=full"]
        return Engine(f"SQLite {journal.upper()} FULL", ["-db", "sqlite", *as_properties(words)])

    return [Engine("lunar full", ["-db", "lunar", *as_properties(lunar_words)]), sqlite("truncate"), sqlite("wal")]


def as_properties(words: Sequence[str]) -> list[str]:
    """-p before each."""
    return [word for each in words for word in ("-p", each)]


def measure(arguments: argparse.Namespace, contestants: Sequence[Engine]) -> None:
    """Loads each engine once, then all rounds."""
    records = ["--durability", "power", "-p", f"recordcount={arguments.records}"]
    for engine in contestants:
        note(f"load: {engine.name}")
        drive(arguments.driver, "load", *engine.words, "-P", "lunar-balanced", *records, "-p", "batchsize=1000")
    cells = [(mix, skew) for mix in MIXES for skew in SKEWS]
    shuffle = random.Random(1)
    for number in range(arguments.rounds):
        for cell in cells:
            for engine in shuffle.sample(list(contestants), len(contestants)):
                note(f"round {number + 1} of {arguments.rounds}: {', '.join(cell)}: {engine.name}")
                engine.mean_us.setdefault(cell, []).append(run(arguments, engine, cell, records, number))


def run(arguments: argparse.Namespace, engine: Engine, cell: Cell, records: Sequence[str], number: int) -> float:
    """Microseconds of an operation in the mean."""
    mix, skew = cell
    workload, factor = MIXES[mix]
    words = [*engine.words, "-P", workload, *records, *(READ_ONLY if mix == "read only" else [])]
    words += ["-p", f"zipfian.theta={skew}", "-p", f"operationcount={arguments.operations * factor}"]
    words += ["--seed", str(number + 1)]
    return 1e6 / float(drive(arguments.driver, "run", *words)["throughput_ops_s"])


def note(words: str) -> None:
    """What is under way, on a terminal; nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r{words[:100]}\033[K", end="", file=sys.stderr, flush=True)


def bars(contestants: Sequence[Engine]) -> list[Bar]:
    """lunar's mean latency against each other's; of the reads, how many times as fast."""
    ours, *others = contestants
    found = []
    for cell, mine in ours.mean_us.items():
        for other in others:
            theirs = other.mean_us[cell]
            if cell[0] == "read only":
                ratios = [b / a for a, b in zip(mine, theirs, strict=True)]
                found.append(bar(f"reads, skew {cell[1]}: times as fast as {other.name}", ratios, 1.0, False))
            else:
                ratios = [a / b for a, b in zip(mine, theirs, strict=True)]
                name = f"{cell[0]}, skew {cell[1]}: mean latency to {other.name}"
                found.append(bar(name, ratios, BARS[other.name], True))
    return found


def bar(name: str, ratios: Sequence[float], limit: float, at_most: bool) -> Bar:
    """On the median of paired rounds."""
    return Bar(name, statistics.median(ratios), limit, at_most, spread=(min(ratios), max(ratios)))


def table(contestants: Sequence[Engine]) -> str:
    """Medians."""
    lines = [f"{'us/op, medians':24}" + "".join(f"{engine.name:>24}" for engine in contestants)]
    for cell in contestants[0].mean_us:
        figures = "".join(f"{statistics.median(engine.mean_us[cell]):24.1f}" for engine in contestants)
        lines.append(f"{cell[0] + ', skew ' + cell[1]:24}{figures}")
    return "\n".join(lines)


def arguments_of() -> argparse.Namespace:
    """What the user asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", type=Path, default=REPOSITORY / "build" / "bin" / "edgejoule-driver")
    parser.add_argument("--data", type=Path, default=REPOSITORY / "build", help="a folder on a disk (default: build)")
    parser.add_argument("--loops", action="store_true", help="on loop devices; needs root")
    parser.add_argument("--records", type=int, default=500_000, help="rows of 500 bytes (default: 500,000)")
    parser.add_argument(
        "--operations",
        type=int,
        default=8000,
        help="of a run of writes; more where many are reads. In fewer a WAL only grows, which is dear (default: 8000)",
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE", help="every figure of every round")
    return parser.parse_args()


def stop(number: int, frame: FrameType | None) -> None:
    """SIGTERM and SIGHUP leave through the same doors as Ctrl-C: what was mounted is unmounted."""
    raise KeyboardInterrupt


def main() -> int:
    """0 also when bars are missed: the table says so."""
    arguments = arguments_of()
    if arguments.loops and os.geteuid() != 0:
        print("lunar's YCSB: --loops makes loop devices and mounts: it needs root", file=sys.stderr)
        return 1
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.2f}, {arguments.records} rows")
    try:
        with places(arguments) as (lunar_words, folder):
            contestants = engines(lunar_words, folder)
            measure(arguments, contestants)
    except (BenchError, OSError) as error:
        print(f"lunar's YCSB: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nlunar's YCSB: interrupted; nothing is left behind", file=sys.stderr)
        return 130
    note("")
    print(table(contestants))
    for each in bars(contestants):
        print(f"  {each}")
    if arguments.json:
        figures = {e.name: [{"mix": m, "skew": s, "us": us} for (m, s), us in e.mean_us.items()] for e in contestants}
        arguments.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
