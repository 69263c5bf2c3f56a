"""Phases of a command: what their names come from, and the joules, seconds and bytes of each.

A command names a phase by a line that it writes to the FIFO $EDGEJOULE_MARKS, or by a line of its output that an
expression matches. Either way the supervisor notes when the name arrived and what the process tree had read and written
until then. A phase lasts until the next one begins or the command ends; an empty name ends a phase without a next one.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from edgejoule import energy
from edgejoule.energy.figures import summed

if TYPE_CHECKING:
    from edgejoule.commands.supervisor import Repetition

EVENT = "command_phase"  # of a run, in the store: monotonic_ns, duration_ns, name
PHASES_MAX = 1000  # of a run: one with more has its energy in no phase worth the name
_CHUNK_BYTES = 1 << 16
_LINE_BYTES_MAX = 1 << 16


@dataclass(frozen=True)
class Phase:
    """A stretch of one repetition. Bytes: fetched from storage, made dirty for storage; None where not known."""

    name: str
    start_ns: int
    end_ns: int
    read_bytes: int | None
    write_bytes: int | None


def phases(repetition: Repetition) -> list[Phase]:
    """The phases of a repetition in order; without those that take no time."""
    end = (repetition.end_ns, repetition.read_bytes, repetition.write_bytes)
    marks = [m for m in repetition.marks if m.arrived_ns < repetition.end_ns]
    if not marks:
        return []
    ends = [*((m.arrived_ns, m.read_bytes, m.write_bytes) for m in marks[1:]), end]
    return [
        Phase(mark.name, mark.arrived_ns, end_ns, _between(mark.read_bytes, read), _between(mark.write_bytes, written))
        for mark, (end_ns, read, written) in zip(marks, ends, strict=True)
        if mark.name and end_ns > mark.arrived_ns
    ]


def late_names(repetitions: Sequence[Repetition]) -> list[str]:
    """Names that arrived after the command's end, as from a program that buffers its output: they are in no phase."""
    return [m.name for r in repetitions for m in r.marks if m.name and m.arrived_ns >= r.end_ns]


def _between(begin: int | None, end: int | None) -> int | None:
    return None if begin is None or end is None else end - begin


def phase_facts(repetitions: Sequence[Repetition], traces: Sequence[energy.Readings]) -> list[dict[str, Any]]:
    """Phases by name, in the order of their first beginnings; amounts are those of one repetition."""
    by_name: dict[str, list[Phase]] = {}
    for phase in _all(repetitions):
        by_name.setdefault(phase.name, []).append(phase)
    return [_facts(name, parts, traces, len(repetitions)) for name, parts in by_name.items()]


def phase_events(repetitions: Sequence[Repetition]) -> list[dict[str, Any]]:
    """The phases as events of the run, which its power trace shows."""
    return [
        {"event": EVENT, "monotonic_ns": p.start_ns, "duration_ns": p.end_ns - p.start_ns, "name": p.name}
        for p in _all(repetitions)
    ]


def phase_flags(repetitions: Sequence[Repetition]) -> list[str]:
    """What a reader of the phases must know."""
    flags = []
    if late := late_names(repetitions):
        flags.append(f"{len(late)} phases were announced only after the command's end: does it buffer its output?")
    if (count := sum(len(phases(r)) for r in repetitions)) > PHASES_MAX:
        flags.append(f"the command announced {count} phases; only the first {PHASES_MAX} are kept")
    return flags


def _all(repetitions: Sequence[Repetition]) -> list[Phase]:
    return [phase for repetition in repetitions for phase in phases(repetition)][:PHASES_MAX]


def _facts(name: str, parts: Sequence[Phase], traces: Sequence[energy.Readings], repetitions: int) -> dict[str, Any]:
    joules = summed([energy.domain_energy(traces, p.start_ns, p.end_ns) for p in parts])
    return {
        "name": name,
        "count": len(parts),
        "duration_s": sum(p.end_ns - p.start_ns for p in parts) / 1e9 / repetitions,
        "energy_j": _each(joules.energy_j, repetitions),
        "uncertainty_k2_j": _each(joules.uncertainty_k2_j, repetitions),
        "method": str(joules.method),
        "missing_reason": joules.missing_reason,
        "read_bytes": _each(_sum(p.read_bytes for p in parts), repetitions),
        "write_bytes": _each(_sum(p.write_bytes for p in parts), repetitions),
    }


def _sum(parts: Iterable[int | None]) -> int | None:
    known = list(parts)
    return None if None in known else sum(part for part in known if part is not None)


def _each(amount: float | None, repetitions: int) -> float | None:
    return None if amount is None else amount / repetitions


class PhaseLines:
    """Passes a command's output on, and announces its lines that begin a phase. `writing` is for the command.

    pattern: its first group is the phase's name, without a group the whole match. marks: the supervisor's FIFO. output:
    is closed with the last line.
    """

    def __init__(self, pattern: re.Pattern[str], marks: Path, output: IO[bytes]) -> None:
        self._pattern, self._output = pattern, output
        self._failure: OSError | None = None
        self._marks = os.open(marks, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        reading, self.writing = os.pipe2(os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._pass_on, args=(reading,), daemon=True)
        self._thread.start()

    def close_writing(self) -> None:
        """From now on the command alone holds the writing end."""
        os.close(self.writing)

    def finish(self) -> list[str]:
        """Wait for the last line, when every process of the command has ended; returns names that came too late.

        Raises OSError when the output could not be written.
        """
        self._thread.join()
        late = b""
        with contextlib.suppress(BlockingIOError):
            late = os.read(self._marks, _CHUNK_BYTES)
        os.close(self._marks)
        if self._failure is not None:
            raise self._failure
        return late.decode("utf-8", errors="replace").split("\n")[:-1]

    def _pass_on(self, descriptor: int) -> None:
        line = b""
        with os.fdopen(descriptor, "rb", buffering=0) as reading, self._output as output:
            while chunk := reading.read(_CHUNK_BYTES):
                *complete, line = (line + chunk).split(b"\n")
                for each in complete:
                    self._announce(each)
                line = line[-_LINE_BYTES_MAX:]
                self._write(output, chunk)
            self._announce(line)

    def _write(self, output: IO[bytes], chunk: bytes) -> None:
        """A command must not wait for ever because its output cannot be kept: the rest is read and dropped."""
        if self._failure is None:
            try:
                output.write(chunk)
            except OSError as error:
                self._failure = error

    def _announce(self, line: bytes) -> None:
        match = self._pattern.search(line.decode("utf-8", errors="replace"))
        if match is None:
            return
        name = ((match[1] if self._pattern.groups else match[0]) or "").strip()
        if name:
            with contextlib.suppress(BlockingIOError):  # thousands of names that nobody has read yet
                os.write(self._marks, f"{name}\n".encode())
