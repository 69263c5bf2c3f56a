"""Phases of a command: their names, and the joules, seconds and bytes of each.

A command names a phase by a line that it writes to the FIFO $EDGEJOULE_MARKS, or by a line of its output that an
expression matches. Either way the supervisor records when the name arrived and the bytes that the process tree had read
and written until then. A phase lasts until the next one begins or the command ends; an empty name ends a phase without
a next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from edgejoule import energy
from edgejoule.commands.supervisor import Repetition
from edgejoule.energy.figures import summed

EVENT = "command_phase"  # a run's event in the store: monotonic_ns, duration_ns, name
PHASES_MAX = 1000  # per run; more phases are too short to measure


@dataclass(frozen=True)
class Phase:
    """An interval of one repetition. Bytes: read from storage, and made dirty for storage; None if unknown."""

    name: str
    start_ns: int
    end_ns: int
    read_bytes: int | None
    write_bytes: int | None


def phases(repetition: Repetition) -> list[Phase]:
    """Returns the phases of a repetition in order, without those that take no time."""
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
    """Returns the names that arrived after the command's end, as from a program that buffers its output: no phase
    includes them."""
    return [m.name for r in repetitions for m in r.marks if m.name and m.arrived_ns >= r.end_ns]


def _between(begin: int | None, end: int | None) -> int | None:
    return None if begin is None or end is None else end - begin


def phase_facts(repetitions: Sequence[Repetition], traces: Sequence[energy.Readings]) -> list[dict[str, Any]]:
    """Returns the phases by name, in the order of their first beginnings; amounts are per repetition."""
    by_name: dict[str, list[Phase]] = {}
    for phase in _all(repetitions):
        by_name.setdefault(phase.name, []).append(phase)
    return [_facts(name, parts, traces, len(repetitions)) for name, parts in by_name.items()]


def phase_events(repetitions: Sequence[Repetition]) -> list[dict[str, Any]]:
    """Returns the phases as events of the run; its power trace shows them."""
    return [
        {"event": EVENT, "monotonic_ns": p.start_ns, "duration_ns": p.end_ns - p.start_ns, "name": p.name}
        for p in _all(repetitions)
    ]


def phase_flags(repetitions: Sequence[Repetition]) -> list[str]:
    """Returns the flags that a reader of the phases needs."""
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
