#!/usr/bin/env python3
"""Measures the driver's bars: the cost of edgejoule-driver alone and on real databases, with its peers in the same run.

Every section measures all drivers in alternating rounds. Figures are medians with [minimum, maximum]. Peers are
programs built elsewhere and given by path; others are listed as absent. README.md describes each figure.
"""

import argparse
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

from contestants import Contestant, Edgejoule, Field, GoYcsb, YcsbCpp, java_ycsb
from engines import Engines
from figures import Bar
from footprint import Footprint
from null_database import NullDatabase
from process import BenchError, kill_all
from second_thread import SecondThread
from value_bytes import ValueBytes

REPOSITORY = Path(__file__).resolve().parents[2]
JAVA = REPOSITORY / "build" / "bench"


class Section(Protocol):
    """A part of the bench."""

    name: str
    title: str

    def round(self, number: int) -> None:
        """Measures each case once, or nothing if it has enough rounds."""

    def shown(self) -> str:
        """Returns the table."""

    def bars(self) -> list[Bar]:
        """Returns the bars."""

    def as_json(self) -> list[dict[str, Any]]:
        """Returns every figure of every round."""


class Notes:
    """A progress line on a terminal; silent elsewhere."""

    def __init__(self) -> None:
        self.prefix = ""

    def __call__(self, text: str) -> None:
        """Replaces the line by this text."""
        if sys.stderr.isatty():
            print(f"\r{self.prefix}{text}\033[K" if text else "\r\033[K", end="", file=sys.stderr, flush=True)


def field_of(arguments: argparse.Namespace, scratch: Path) -> Field:
    """Returns the drivers that take part."""
    peers: list[Contestant] = []
    absent = []
    if arguments.no_java:
        absent.append("Java YCSB (--no-java)")
    else:
        peers += java_ycsb(JAVA)
    given: tuple[tuple[type[GoYcsb] | type[YcsbCpp], Path | None, str], ...] = (
        (GoYcsb, arguments.go_ycsb, "--go-ycsb"),
        (YcsbCpp, arguments.ycsb_cpp, "--ycsb-cpp"),
    )
    for peer, program, option in given:
        if program is None:
            absent.append(f"{peer.name} ({option} PATH, or {option.removeprefix('--').upper().replace('-', '_')}=PATH)")
        elif not os.access(program, os.X_OK):
            raise BenchError(f"{option} {program}: not a program")
        else:
            peers.append(peer(program))
    return Field(Edgejoule(arguments.driver, scratch / "events.jsonl"), peers, absent)


def sections_of(arguments: argparse.Namespace, contestants: Field, scratch: Path, note: Notes) -> list[Section]:
    """Returns the sections to measure."""
    shrink = 50 if arguments.quick else 1
    pair = contestants.ours, Edgejoule(arguments.driver, scratch / "events-of-the-second.jsonl")
    made: list[Section] = [
        NullDatabase(contestants, note, rounds=arguments.rounds, shrink=shrink),
        SecondThread(pair, note, rounds=arguments.rounds, shrink=shrink),
        Footprint(contestants, note, rounds=min(arguments.rounds, 3), seconds=1 if arguments.quick else 10),
        Engines(contestants, note, rounds=min(arguments.rounds, 3), shrink=shrink, folder=scratch),
        ValueBytes(arguments.value_bench, note, rounds=min(arguments.rounds, 3)),
    ]
    return [section for section in made if not arguments.only or section.name in arguments.only]


def machine() -> dict[str, Any]:
    """Describes the machine."""
    match = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return {
        "cpu": match[1] if match else platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "load_average_before": os.getloadavg()[0],
    }


def arguments_of() -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", type=Path, default=REPOSITORY / "build" / "bin" / "edgejoule-driver")
    parser.add_argument("--value-bench", type=Path, default=REPOSITORY / "build" / "bin" / "driver-value-bench")
    for option, program in (("--go-ycsb", "go-ycsb"), ("--ycsb-cpp", "YCSB-cpp's ycsb")):
        name = option.removeprefix("--").upper().replace("-", "_")
        default = Path(os.environ[name]) if os.environ.get(name) else None
        parser.add_argument(option, type=Path, default=default, metavar="PATH", help=f"{program}; or variable {name}")
    parser.add_argument("--no-java", action="store_true", help="leave out Java YCSB, which Maven fetches on first use")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--only",
        action="append",
        choices=["null", "threads", "footprint", "engines", "values"],
        help="these sections alone",
    )
    parser.add_argument("--quick", action="store_true", help="one short round: that it runs, not what things cost")
    parser.add_argument("--data", type=Path, metavar="DIRECTORY", help="where the databases are made for the time")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every figure of every round")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds = 1
    if arguments.rounds < 1:
        parser.error("--rounds: expected at least 1")
    return arguments


def report(sections: list[Section], contestants: Field) -> None:
    """Returns the tables, then the bars."""
    for section in sections:
        print(f"\n{section.title}\n{section.shown()}")
    quirks = [line for contestant in contestants.all for line in contestant.quirks]
    print("\nWhat a driver does and does not do per operation:")
    print("\n".join(f"  {line}" for line in quirks))
    for line in contestants.absent:
        print(f"absent: {line}")
    print("\nBars")
    for section in sections:
        for bar in section.bars():
            print(f"  {bar}")


def measure(arguments: argparse.Namespace, scratch: Path) -> None:
    """Measures all rounds, prints the tables and writes the file."""
    begin = time.monotonic()
    contestants = field_of(arguments, scratch)
    note = Notes()
    sections = sections_of(arguments, contestants, scratch, note)
    where = machine()
    for number in range(arguments.rounds):
        for section in sections:
            note.prefix = f"round {number + 1}/{arguments.rounds}: "
            section.round(number)
    note("")
    where["load_average_after"] = os.getloadavg()[0]
    seconds = time.monotonic() - begin
    print(f"{where['cpu']}, {where['cores']} cores, Linux {where['kernel']}")
    print(f"load average {where['load_average_before']:.1f} before, {where['load_average_after']:.1f} after")
    print(f"{arguments.rounds} rounds, medians [least, most]; {seconds:.0f} s in all")
    if arguments.quick:
        print("--quick: the runs are too short for these figures to mean anything")
    report(sections, contestants)
    if arguments.json is not None:
        content = {"machine": where, "rounds": arguments.rounds, "quick": arguments.quick, "absent": contestants.absent}
        figures = {section.name: section.as_json() for section in sections}
        arguments.json.write_text(json.dumps(content | figures, indent=1) + "\n")


def main() -> None:
    """Runs the bench. Prints one line if it fails."""
    arguments = arguments_of()
    if not arguments.driver.exists():
        sys.exit(f"{arguments.driver}: not there; build first (make build) or give --driver")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: terminated"))  # so that no database is left behind
    try:
        with tempfile.TemporaryDirectory(dir=arguments.data, prefix="edgejoule-bench-") as scratch:
            try:
                measure(arguments, Path(scratch))
            finally:
                kill_all()
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
    except (BenchError, OSError, subprocess.SubprocessError) as error:
        sys.exit(f"bench: {error}")


if __name__ == "__main__":
    main()
