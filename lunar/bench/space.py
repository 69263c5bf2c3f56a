"""The room that a table takes over ten million changes of the sizes of its rows, as a picture."""

from collections.abc import Sequence
from typing import Any

from contest import Bar, Bench
from growth import in_memory
from sections import MIB, Plan, Section
from space_picture import draw

ENGINES: dict[str, Sequence[str]] = {
    "lunar": ["--engine", "lunar", "--index", "tree", "--buffer-bytes", "65536"],
    "SQLite, auto_vacuum=FULL": ["--engine", "sqlite", "--journal", "wal", "--auto-vacuum", "full"],
    "SQLite": ["--engine", "sqlite", "--journal", "wal"],
    "LMDB": ["--engine", "lmdb"],
}


def space(bench: Bench, plan: Plan, operations: int = 0) -> Section:
    """The workload on each engine; lunar's data zone is the device of all."""
    operations = operations or plan.of(10_000_000, 100_000)
    section = Section("space", f"Space: 16,666 rows of 0 to 2,500 bytes, {operations} updates and re-insertions")
    for name, options in ENGINES.items():
        plan.note(f"space: {name}")
        with in_memory(256 * MIB) as folder:
            path = [] if name == "lunar" else ["--path", str(folder)]
            section.data[name] = bench.call("change", *options, *path, "--operations", str(operations))
    device = section.data["lunar"]["device_bytes"]
    section.lines.append(f"{'':28}{'in use / payload: mean':>24}{'most':>8}{'free at the end':>18}   refused")
    for name, of in section.data.items():
        mean, most = sum(amplifications(of)) / len(of["points"]), max(amplifications(of))
        free = 1 - of["points"][-1][1] / device
        section.lines.append(f"{name:28}{mean:24.2f}{most:8.2f}{free:18.1%}   {of['stopped'] or 'nothing'}")
    section.lines += [
        "In use: for rows and indexes, without lunar's log and SQLite's WAL.",
        f"Free: of {device / 1e6:.1f} MB, lunar's data zone.",
        f"Picture: {draw(section.data, device, plan.scratch.parent / 'lunar-space.svg')}",
    ]
    ours = section.data["lunar"]
    section.bars = [
        Bar("bytes in use by payload, 60 % live, at most", max(amplifications(ours)), 1.6, True),
        Bar("operations refused, 60 % live", int(bool(ours["stopped"])), 0, True, ""),
    ]
    return section


def amplifications(of: dict[str, Any]) -> list[float]:
    """Bytes in use for each byte of payload."""
    return [used / payload for _, used, payload in of["points"]]
