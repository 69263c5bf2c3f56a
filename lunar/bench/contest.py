"""Cases that run in turn, round by round, and their figures."""

import json
import random
import statistics
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from block_trace import BlockTrace
from loops import BenchError, Loops

Reading = dict[str, Any]  # a phase of lunar-bench's output


@dataclass
class Case:
    """An engine in a setting."""

    name: str
    place: str  # bare, folder, card
    options: Sequence[str]
    loaded: bool = False  # its rows are there from an earlier run
    readings: list[Reading] = field(default_factory=list)  # by round
    requests: list[str] = field(default_factory=list)  # of a run that was traced
    traced: dict[str, int] = field(default_factory=dict)  # its operations, and how many requests were R, W, F
    acknowledged: list[tuple[str, int, int]] = field(default_factory=list)  # requests until the last acknowledgement
    zones: dict[str, int] = field(default_factory=dict)  # first sectors of the device's parts, in that run

    def per_operation(self, kind: str) -> float:
        """Requests of the traced run. (Linux's own counter of writes counts a flush as one more write.)"""
        return self.traced[kind] / self.traced["operations"] if self.traced else float("nan")

    def median(self, figure: Callable[[Reading], float]) -> float:
        """Over the rounds."""
        return statistics.median(figure(reading) for reading in self.readings)


class Bench:
    """lunar-bench on the devices."""

    def __init__(self, program: Path, loops: Loops) -> None:
        self.program = program
        self.loops = loops

    def call(self, *arguments: str) -> Any:
        """One call; its JSON."""
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise BenchError(done.stderr.strip() or f"lunar-bench {' '.join(arguments)}: {done.returncode}")
        return json.loads(done.stdout)

    def run(self, case: Case, work: Sequence[str]) -> list[Reading]:
        """A case once: a reading for each phase."""
        loaded = ["--loaded"] if case.loaded else []
        return self.call("run", *self.place(case), *case.options, *loaded, *work)

    def place(self, case: Case) -> list[str]:
        """Where it runs and whose counters are read."""
        if case.place == "card":
            return []
        if case.place == "bare":
            device = self.loops.devices["bare"]
            return ["--path", device, "--device", device.removeprefix("/dev/")]
        if not case.loaded:
            self.loops.empty_folder()
        device = self.loops.devices["other"].removeprefix("/dev/")
        return ["--path", str(self.loops.folder), "--device", device, "--file-system", str(self.loops.folder)]

    def trace(self, cases: Sequence[Case], work: Sequence[str], note: Callable[[str], None]) -> None:
        """Each case once more, for its block requests alone: tracing takes time."""
        for case in cases:
            note(f"trace: {case.name}")
            with BlockTrace(self.loops.devices["bare" if case.place == "bare" else "other"]) as trace:
                reading = self.run(case, [*work, "--marker", str(trace.marker)])[-1]
            case.requests, case.acknowledged, case.zones = trace.lines, trace.acknowledged, reading["zones"]
            counts = {kind: sum(line.startswith(kind) for line in trace.lines) for kind in "RWF"}
            case.traced = {"operations": reading["operations"], **counts}

    def rounds(self, cases: Sequence[Case], work: Sequence[str], rounds: int, note: Callable[[str], None]) -> None:
        """All cases in every round, each round in another order; the last phase's reading is kept."""
        shuffle = random.Random(1)
        for number in range(rounds):
            for case in shuffle.sample(list(cases), len(cases)):
                note(f"round {number + 1} of {rounds}: {case.name}")
                case.readings.append(self.run(case, work)[-1])


def rate(reading: Reading) -> float:
    """Operations a second while they were asked for."""
    return reading["operations"] / reading["seconds"]


def rate_at_rest(reading: Reading) -> float:
    """Operations a second until all was durable and at rest."""
    return reading["operations"] / reading["seconds_at_rest"]


def amplification(reading: Reading) -> float:
    """Bytes of the block layer per byte of payload, until all was at rest."""
    return reading["block"]["bytes_written"] / reading["payload_bytes"]


def cpu_us(reading: Reading) -> float:
    """Processor time per operation."""
    return reading["cpu_s"] / reading["operations"] * 1e6


def ratio(ours: Case, theirs: Case, figure: Callable[[Reading], float]) -> tuple[float, float, float]:
    """Ours to theirs, in the same round: median, least, most."""
    ratios = [figure(a) / figure(b) for a, b in zip(ours.readings, theirs.readings, strict=True)]
    return statistics.median(ratios), min(ratios), max(ratios)


@dataclass(frozen=True)
class Bar:
    """What must be reached."""

    name: str
    measured: float
    bar: float
    at_most: bool = False
    unit: str = "x"
    spread: tuple[float, float] | None = None

    @property
    def met(self) -> bool:
        """Whether it is."""
        return self.measured <= self.bar if self.at_most else self.measured >= self.bar

    def __str__(self) -> str:
        spread = f" [{self.spread[0]:.3g}, {self.spread[1]:.3g}]" if self.spread else ""
        sign = "<=" if self.at_most else ">="
        return (
            f"{self.name:68} {self.measured:9.3f} {self.unit}{spread}  bar {sign} {self.bar:g}: "
            f"{'met' if self.met else 'MISSED'}"
        )

    def as_json(self) -> dict[str, Any]:
        """For a file."""
        return {
            "name": self.name,
            "measured": self.measured,
            "unit": self.unit,
            "bar": self.bar,
            "at_most": self.at_most,
            "met": self.met,
        }


def ratio_bar(name: str, ours: Case, theirs: Case, bar: float, figure: Callable[[Reading], float] = rate) -> Bar:
    """A bar on the median of paired rounds."""
    middle, least, most = ratio(ours, theirs, figure)
    return Bar(name, middle, bar, spread=(least, most))
