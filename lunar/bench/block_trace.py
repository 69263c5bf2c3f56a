"""The requests that Linux sends to a block device, from its own tracing; root."""

import os
import re
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from loops import BenchError, run

TRACING = Path("/sys/kernel/tracing")
# dev major,minor, what it does, bytes, (command), sector + sectors
ISSUED = re.compile(r"block_rq_issue: \d+,\d+ (\S+) (\d+) \([^)\n]*\) (\d+) \+ (\d+)")


class BlockTrace:
    """Records the requests to one device during `with`.

    `lines` has those between begin and end in `marker` afterwards, as card_replay reads them. `acknowledged` has those
    until all operations were acknowledged: what they do as Linux writes it, first sector, number of sectors.
    """

    def __init__(self, device: str) -> None:
        self.numbers = [int(n) for n in Path(f"/sys/block/{device.removeprefix('/dev/')}/dev").read_text().split(":")]
        self.instance = TRACING / "instances" / f"lunar-bench-{os.getpid()}"
        self.marker = self.instance / "trace_marker"
        self.mounted_here = False
        self.lines: list[str] = []
        self.acknowledged: list[tuple[str, int, int]] = []

    def __enter__(self) -> Self:
        if not (TRACING / "instances").exists():
            run("mount", "-t", "tracefs", "none", TRACING)
            self.mounted_here = True
        if not (TRACING / "events/block/block_rq_issue").exists():
            raise BenchError("this kernel has no trace event block:block_rq_issue")
        self.instance.mkdir(exist_ok=True)
        self._write("buffer_size_kb", 32768)
        major, minor = self.numbers
        self._write("events/block/block_rq_issue/filter", f"dev == {major << 20 | minor}")
        self._write("trace", "")
        self._write("events/block/block_rq_issue/enable", 1)
        self._write("tracing_on", 1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._write("tracing_on", 0)
            if kind is None:
                self._read()
        finally:
            self._write("events/block/block_rq_issue/enable", 0)
            self.instance.rmdir()
            if self.mounted_here:
                subprocess.run(["umount", str(TRACING)], capture_output=True, check=False)

    def _write(self, name: str, value: object) -> None:
        (self.instance / name).write_text(f"{value}")

    def _read(self) -> None:
        for statistics in self.instance.glob("per_cpu/cpu*/stats"):
            if int(re.findall(r"overrun: (\d+)", statistics.read_text())[0]):
                raise BenchError("the kernel's trace buffer was too small")
        recorded = (self.instance / "trace").read_text()
        begin, end = recorded.rfind("lunar-bench begin"), recorded.rfind("lunar-bench end")
        acknowledged = recorded.rfind("lunar-bench acknowledged")
        if begin < 0 or not begin < acknowledged < end:
            raise BenchError("the kernel's trace has no marks")
        for match in ISSUED.finditer(recorded, begin, end):
            request = match[1], int(match[3]), int(match[4])
            self.lines += requests_of(*request)
            if match.end() < acknowledged:
                self.acknowledged.append(request)


def requests_of(what: str, sector: int, sectors: int) -> list[str]:
    """A request as Linux writes it (`WS`, `FF`, `WFS`: a write that is flushed, `RA`, `D`) as lines of a trace.

    A leading F with sectors is a flush before them; an F behind the W one after them.
    """
    kind = what.lstrip("F")
    lines = ["F"] if what.startswith("F") else []
    if not sectors or kind[:1] not in {"R", "W"}:
        return lines
    lines.append(f"{kind[0]} {sector} {sectors}")
    if kind[0] == "W" and "F" in kind[1:]:
        lines.append("F")
    return lines
