"""CPU time per operation on a null database: the cost of the driver itself."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from contestants import Contestant, Field
from figures import Bar, Figure, ratio, table
from process import cost_of
from work import WORKLOADS, Work

RECORDS = 1_000_000
SHORT = 4  # a short run is this part of a long one
BARS_NS = {"C": 100, "A": 120, "load": 300}
RSS_BAR_MB = 16


@dataclass
class Case:
    """One line of the table."""

    contestant: Contestant
    workload: str
    threads: int
    per_op_ns: Figure = field(default_factory=Figure)
    active_per_op_ns: Figure = field(default_factory=Figure)  # ours: reported by the driver
    rss_peak_bytes: Figure = field(default_factory=Figure)


class NullDatabase:
    """The section of the bench: rounds, then the table."""

    name = "null"
    title = "CPU time per operation on a database that keeps nothing"

    def __init__(self, contestants: Field, note: Callable[[str], None], *, rounds: int, shrink: int) -> None:
        self._field = contestants
        self._note = note
        self._rounds = rounds
        self._shrink = shrink
        self.cases = [
            Case(contestant, workload, threads)
            for workload in WORKLOADS
            for threads in (1, 2)
            for contestant in contestants.all
        ]

    def round(self, number: int) -> None:
        """Measures each case once: the difference of a long and a short run, which removes start-up."""
        if number >= self._rounds:
            return
        for case in self.cases:
            self._note(f"{case.contestant.name} {case.workload}, threads {case.threads}")
            operations = case.contestant.operations[case.workload] // self._shrink
            short = operations // SHORT
            few = cost_of(case.contestant.null_command(Work(case.workload, RECORDS, short, case.threads)))
            many = cost_of(case.contestant.null_command(Work(case.workload, RECORDS, operations, case.threads)))
            case.per_op_ns.add((many.cpu_ns - few.cpu_ns) / (operations - short))
            case.rss_peak_bytes.add(many.rss_peak_bytes)
            if case.contestant is self._field.ours:
                active = self._field.ours.cpu_ns("active_end")
                case.active_per_op_ns.add(None if active is None else active / operations)

    def shown(self) -> str:
        """Returns the table."""
        head = ("driver", "workload", "threads", "ns/op", "[least, most]", "to ours", "active ns/op", "RSS MB")
        return table(head, (self._row(case) for case in self.cases), left=2)

    def bars(self) -> list[Bar]:
        """Returns the bars on CPU time and memory."""
        bars = [Bar(f"{w}, 1 thread", "ns/op", most, self._ours(w, 1).per_op_ns.median) for w, most in BARS_NS.items()]
        peaks = [c.rss_peak_bytes.median for c in self.cases if c.contestant is self._field.ours]
        known = [peak for peak in peaks if peak is not None]
        bars.append(Bar("peak RSS of all these runs", "MB", RSS_BAR_MB, max(known) / 1e6 if known else None))
        return bars

    def as_json(self) -> list[dict[str, Any]]:
        """Returns every figure of every round."""
        return [
            {
                "driver": case.contestant.name,
                "workload": case.workload,
                "threads": case.threads,
                "cpu_per_op_ns": case.per_op_ns.values,
                "active_cpu_per_op_ns": case.active_per_op_ns.values,
                "rss_peak_bytes": case.rss_peak_bytes.values,
            }
            for case in self.cases
        ]

    def _ours(self, workload: str, threads: int) -> Case:
        matches = (
            c for c in self.cases if (c.contestant, c.workload, c.threads) == (self._field.ours, workload, threads)
        )
        return next(matches)

    def _row(self, case: Case) -> tuple[str, ...]:
        return (
            case.contestant.name,
            case.workload,
            str(case.threads),
            case.per_op_ns.shown(digits=1),
            case.per_op_ns.spread(digits=1),
            ratio(case.per_op_ns, self._ours(case.workload, case.threads).per_op_ns),
            case.active_per_op_ns.shown(digits=1),
            case.rss_peak_bytes.shown(1e6, 1),
        )
