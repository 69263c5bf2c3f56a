"""CPU time of the random values that records are filled with."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from figures import Bar, Figure, table

BAR_NS_PER_KB = 100
BAR_SHAPE = (100, 10)  # YCSB's record: ten values of 100 bytes


class ValueBytes:
    """The section of the bench: rounds, then the table."""

    name = "values"
    title = "CPU time of random values, per 1,000 bytes"

    def __init__(self, program: Path, note: Callable[[str], None], *, rounds: int) -> None:
        self._program = program
        self._note = note
        self._rounds = rounds
        self._figures: dict[tuple[int, int], Figure] = {}

    def round(self, number: int) -> None:
        """Measures every length once."""
        if number >= self._rounds:
            return
        self._note("values")
        lines = subprocess.run([self._program], capture_output=True, text=True, timeout=300, check=True).stdout
        for line in lines.splitlines():
            value_bytes, values, ns = line.split()
            self._figures.setdefault((int(value_bytes), int(values)), Figure()).add(float(ns))

    def shown(self) -> str:
        """Returns the table."""
        rows = ((str(b), str(v), f.shown(digits=1), f.spread(digits=1)) for (b, v), f in self._figures.items())
        return table(("value bytes", "values", "ns/KB", "[least, most]"), rows, left=0)

    def bars(self) -> list[Bar]:
        """Returns the bar on YCSB's record."""
        measured = self._figures.get(BAR_SHAPE, Figure()).median
        return [Bar("values of a record of 10 x 100 bytes", "ns/KB", BAR_NS_PER_KB, measured)]

    def as_json(self) -> list[dict[str, Any]]:
        """Returns every figure of every round."""
        return [
            {"value_bytes": value_bytes, "values": values, "cpu_ns_per_kb": figure.values}
            for (value_bytes, values), figure in self._figures.items()
        ]
