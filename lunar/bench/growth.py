"""What operations cost on tables of 10^4 to 10^7 rows, beside SQLite and LMDB."""

import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from contest import Bar, Bench
from loops import BenchError
from sections import BUFFER, MIB, Plan, Section

MEMORY = Path("/dev/shm")
LUNAR = ["--engine", "lunar", "--mode", "full", "--page-cache"]
ENGINES: dict[str, Sequence[str]] = {
    "lunar hash": [*LUNAR, "--index", "hash"],
    "lunar tree": [*LUNAR, "--index", "tree"],
    "SQLite WAL FULL": ["--engine", "sqlite", "--journal", "wal"],
    "LMDB sync": ["--engine", "lmdb"],
}
STEPS = {
    "load": "load, rising keys",
    "get": "get, uniform",
    "update": "update, durable",
    "insert": "insert random, durable",
    "remove": "delete, durable",
    "create index": "CREATE INDEX, a row",
    "scan": "scan, a row",
    "check": "check, a row",
    "remove all": "DELETE by cursor, a row",
    "mount": "mount",
    "mount after a cut": "mount after a cut",
}
Steps = dict[str, dict[str, Any]]  # of one engine and size


@contextmanager
def in_memory(needed: int) -> Iterator[Path]:
    """A folder for files that no disk slows down."""
    if shutil.disk_usage(MEMORY).free < needed or os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGESIZE") < needed:
        raise BenchError(f"{MEMORY}: {needed // MIB} MiB do not fit into the memory")
    with tempfile.TemporaryDirectory(prefix="lunar-bench-", dir=MEMORY) as folder:
        yield Path(folder)


def grow(bench: Bench, options: Sequence[str], rows: int) -> Steps:
    """One engine with a table of so many rows."""
    device_bytes = rows * 800 + 64 * MIB
    with in_memory(device_bytes) as path:
        if "lunar" in options:
            path /= "device"
            path.touch()
            os.truncate(path, device_bytes)
        words = ["--path", str(path), "--buffer-bytes", str(BUFFER["1 MB"]), "--rows", str(rows)]
        steps: Steps = bench.call("grow", *options, *words)
        return steps


def cpu(step: dict[str, Any]) -> float:
    """Microseconds of the processor, kernel included, for each operation."""
    return math.nan if "failed" in step else float(step["cpu_s"] / step["operations"] * 1e6)


def requests(step: dict[str, Any]) -> float:
    """Read and write calls of the process for each operation."""
    return math.nan if "failed" in step else float((step["reads"] + step["writes"]) / step["operations"])


def exponent(sizes: Sequence[int], figures: Sequence[float]) -> float:
    """The slope of log(figure) over log(rows), by least squares; NaN where a figure is 0 or missing."""
    if len(sizes) < 2 or not all(figure > 0 for figure in figures):
        return math.nan
    x, y = [math.log(size) for size in sizes], [math.log(figure) for figure in figures]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return above / sum((a - mean_x) ** 2 for a in x)


def number(figure: float) -> str:
    """With two digits where they say something."""
    return "failed" if math.isnan(figure) else f"{figure:.{0 if figure >= 100 else 2}f}"


def cells(sizes: Sequence[int], figures: Sequence[float]) -> str:
    """The figure at each size and the exponent."""
    slope = exponent(sizes, figures)
    numbers = "".join(f"{number(figure):>9}" for figure in figures)
    return f"{numbers}{'-' if math.isnan(slope) else f'{slope:.2f}':>8}"


def growth(bench: Bench, plan: Plan, sizes: Sequence[int] = ()) -> Section:
    """Each engine at each size, from an empty database."""
    sizes = sizes or [10**power for power in range(4, plan.of(7, 6) + 1)]
    section = Section(
        "growth",
        "Growth: an integer key, an integer and five texts of 100 bytes; 1 MB of RAM, LMDB the page cache; files in "
        "memory",
    )
    by_engine: dict[str, list[Steps]] = {}
    for name, options in ENGINES.items():
        for rows in sizes:
            plan.note(f"growth: {name}, {rows} rows")
            by_engine.setdefault(name, []).append(grow(bench, options, rows))
    names = "".join(f"{f'10^{math.log10(rows):.3g}':>9}" for rows in sizes) + f"{'slope':>8}"
    section.lines.append(f"{'':42}{'CPU us':>9}{'':{len(names) - 9}}   {'requests':>9}")
    section.lines.append(f"{'':42}{names}   {names}")
    for step, title in STEPS.items():
        for name, of in by_engine.items():
            if step not in of[0]:
                continue
            figures = [cells(sizes, [figure(steps[step]) for steps in of]) for figure in (cpu, requests)]
            if name == "LMDB sync" and step in ("get", "scan"):
                figures[1] = ""
            section.lines.append(f"{title:25}{name:17}{figures[0]}   {figures[1]}".rstrip())
    section.lines += [
        "Slope: of log(figure) over log(rows). Requests: read and write calls (/proc/self/io), without flushes; LMDB",
        "reads through its map, without calls.",
    ]
    for name, of in by_engine.items():
        for rows, steps in zip(sizes, of, strict=True):
            for step, of_step in steps.items():
                if why := of_step.get("failed"):
                    section.lines.append(f"{name}, {STEPS[step]}, {rows} rows: {why}")
    section.data = {name: dict(zip(map(str, sizes), of, strict=True)) for name, of in by_engine.items()}
    section.bars = [*table_bars(sizes, by_engine), *lunar_bars(bench, plan, section)]
    return section


def table_bars(sizes: Sequence[int], by_engine: dict[str, list[Steps]]) -> list[Bar]:
    """Bars on the largest table; DELETE's on 10^6 rows, or the largest below."""
    bars = []
    for name in ("lunar hash", "lunar tree"):
        of = by_engine[name]
        at = max((i for i, rows in enumerate(sizes) if rows <= 10**6), default=0)

        def bar(title: str, figure: float, most: float, engine: str = name) -> None:
            bars.append(Bar(f"{engine}: requests, {title}", figure, most, True, ""))

        bar(f"DELETE by cursor, a row of {sizes[at]}", requests(of[at]["remove all"]), 1.5)
        inserts = [steps[step] for steps in of for step in ("load", "insert")]
        bar(f"dearest insert, to {sizes[-1]} rows", max(step["dearest"] for step in inserts), 40)
        bar(f"dearest insert, to {sizes[-1]} rows, reads alone", max(step["dearest_reads"] for step in inserts), 40)
        bar("mount after a cut, at most", max(requests(steps["mount after a cut"]) for steps in of), 500)
        bar("check, a row, at most", max(requests(steps["check"]) for steps in of), 0.3)
    return bars


def lunar_bars(bench: Bench, plan: Plan, section: Section) -> list[Bar]:
    """What lunar alone has: full volumes, idle syncs."""
    volumes, buffers = (64, 256, plan.of(1024, 256)), (4096, 65536, 1 << 20, 32 << 20)
    refused: dict[int, Any] = {mib: bench.call("refused", "--megabytes", str(mib)) for mib in volumes}
    idle: dict[int, Any] = {size: bench.call("idle", "--buffer-bytes", str(size)) for size in buffers}
    section.data |= {"refused": refused, "idle": idle}
    most = max(of["most"] for of in refused.values())
    slowest = max(of["cpu_us"] for of in idle.values())
    return [
        Bar(f"requests, insert refused on a full volume of 64 to {max(volumes)} MB", most, 8, True, ""),
        Bar("us, idle lunar_sync, buffers of 4 KB to 32 MB", slowest, 0.1, True, ""),
    ]
