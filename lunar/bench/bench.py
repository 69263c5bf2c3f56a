#!/usr/bin/env python3
"""lunar's bars beside its peers in one run: SQLite and LMDB on ext4, lunar on the bare device, both on loop devices.

Cases run in turn, round by round; figures are medians over the rounds, ratios are of the same round. Needs root.
"""

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import Any

from contest import Bench
from growth import growth
from layers import layers
from loops import BenchError, Loops
from sections import SECTIONS, Plan, Section
from space import space

REPOSITORY = Path(__file__).resolve().parents[2]
ALL_SECTIONS = SECTIONS | {"layers": layers, "growth": growth, "space": space}


def note(text: str) -> None:
    """What is under way, on a terminal; nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r{text[:100]}\033[K", end="", file=sys.stderr, flush=True)


def stop(number: int, frame: FrameType | None) -> None:
    """SIGTERM and SIGHUP leave through the same doors as Ctrl-C: what was mounted is unmounted."""
    raise KeyboardInterrupt


def arguments_of() -> argparse.Namespace:
    """What the user asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=REPOSITORY / "build" / "bin" / "lunar-bench")
    parser.add_argument("--data", type=Path, default=REPOSITORY / "build", help="a folder on a disk (default: build)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", action="append", choices=list(ALL_SECTIONS), help="these sections alone")
    parser.add_argument("--quick", action="store_true", help="one short round: that it runs, not what things cost")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every figure of every round")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds = 1
    if arguments.rounds < 1:
        parser.error("--rounds: expected at least 1")
    return arguments


def report(section: Section) -> None:
    """Its table."""
    note("")
    print(f"\n{section.title}")
    print("\n".join(section.lines), flush=True)


def measure(arguments: argparse.Namespace, scratch: Path) -> list[Section]:
    """All sections, their tables printed as they come."""
    plan = Plan(arguments.quick, arguments.rounds, scratch, note)
    sections = []
    note("making the devices")
    with Loops(scratch, plan.of(1536, 320), plan.of(768, 256)) as loops:
        bench = Bench(arguments.program, loops)
        for name, section in ALL_SECTIONS.items():
            if not arguments.only or name in arguments.only:
                sections.append(section(bench, plan))
                report(sections[-1])
    return sections


def as_json(sections: list[Section], machine: dict[str, Any]) -> dict[str, Any]:
    """For the file."""
    return {
        "machine": machine,
        "sections": {section.name: section.data for section in sections},
        "bars": [bar.as_json() for section in sections for bar in section.bars],
    }


def main() -> int:
    """0 also when bars are missed: the table says so."""
    arguments = arguments_of()
    if os.geteuid() != 0:
        print("lunar's bench makes loop devices and mounts: it needs root", file=sys.stderr)
        return 1
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    machine = {
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "load_average_before": os.getloadavg()[0],
        "quick": arguments.quick,
        "rounds": arguments.rounds,
    }
    print(f"{machine['cores']} cores, Linux {machine['kernel']}, load average {machine['load_average_before']:.2f}")
    start = time.monotonic()
    try:
        arguments.data.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="lunar-bench-", dir=arguments.data) as scratch:
            sections = measure(arguments, Path(scratch))
    except BenchError as error:
        print(f"lunar's bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nlunar's bench: interrupted; nothing is left mounted", file=sys.stderr)
        return 130
    print("\nBars (modules: basic, buffer)")
    for section in sections:
        for bar in section.bars:
            print(f"  {bar}")
    print(f"{time.monotonic() - start:.0f} s")
    if arguments.json:
        arguments.json.write_text(json.dumps(as_json(sections, machine), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
