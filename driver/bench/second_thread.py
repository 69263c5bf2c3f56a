"""Cost of a second thread of edgejoule-driver: CPU time per operation with two threads compared with one.

Three consecutive runs give a pair of ratios, because the machine's speed drifts by more than the bar: one thread; two
threads of one process; two processes of one thread each at the same time, which share no memory. The slowdown of the
two processes is due to the machine (cores that share a cache or a pipeline), not to the driver.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from contestants import Edgejoule
from figures import Bar, Figure, table
from null_database import RECORDS
from process import Running
from work import WORKLOADS, Work

BAR_PERCENT = 5
PAIRS = 5  # a round


@dataclass
class Case:
    """One line of the table."""

    workload: str
    one_ns: Figure = field(default_factory=Figure)
    threads_percent: Figure = field(default_factory=Figure)
    processes_percent: Figure = field(default_factory=Figure)


class SecondThread:
    """The section of the bench: rounds, then the table."""

    name = "threads"
    title = "A second thread of edgejoule-driver: CPU time per operation more than with one, pairs of runs, noop"

    def __init__(
        self, pair: tuple[Edgejoule, Edgejoule], note: Callable[[str], None], *, rounds: int, shrink: int
    ) -> None:
        self._pair = pair
        self._note = note
        self._rounds = rounds
        self._shrink = shrink
        self.cases = [Case(workload) for workload in WORKLOADS]

    def round(self, number: int) -> None:
        """Measures the pairs of a round."""
        if number >= self._rounds:
            return
        orders = [[(1, 1), (2, 1), (1, 2)], [(1, 2), (2, 1), (1, 1)]]  # threads, processes; both orders
        for pair, case in product(range(PAIRS), self.cases):
            self._note(f"edgejoule-driver {case.workload}, one and two threads")
            operations = self._pair[0].operations[case.workload] // self._shrink
            costs = {
                (threads, processes): self._per_op_ns(case.workload, threads * operations, threads, processes)
                for threads, processes in orders[pair % 2]
            }
            one, threads, processes = (costs[which] for which in orders[0])
            case.one_ns.add(one)
            if one is not None:
                case.threads_percent.add(None if threads is None else (threads / one - 1) * 100)
                case.processes_percent.add(None if processes is None else (processes / one - 1) * 100)

    def shown(self) -> str:
        """Returns the table."""
        head = ("workload", "1 thread ns/op", "2 threads %", "[least, most]", "2 processes %", "[least, most]")
        return table(head, (self._row(case) for case in self.cases), left=1)

    def bars(self) -> list[Bar]:
        """Returns the bar on the second thread."""
        return [
            Bar(f"{c.workload}, 2 threads against 1", "% CPU per operation more", BAR_PERCENT, c.threads_percent.median)
            for c in self.cases
        ]

    def as_json(self) -> list[dict[str, Any]]:
        """Returns every figure of every pair."""
        return [
            {
                "workload": case.workload,
                "one_thread_cpu_per_op_ns": case.one_ns.values,
                "two_threads_more_percent": case.threads_percent.values,
                "two_processes_more_percent": case.processes_percent.values,
            }
            for case in self.cases
        ]

    def _per_op_ns(self, workload: str, operations: int, threads: int, processes: int) -> float | None:
        work = Work(workload, RECORDS, operations, threads)
        drivers = self._pair[:processes]
        running = [driver.null_command(work) for driver in drivers]
        for process in [Running(command) for command in running]:
            process.cost()
        active = [driver.cpu_ns("active_end") for driver in drivers]
        known = [cpu_ns for cpu_ns in active if cpu_ns is not None]
        return sum(known) / processes / operations if len(known) == processes else None

    def _row(self, case: Case) -> tuple[str, ...]:
        return (
            case.workload,
            case.one_ns.shown(digits=1),
            case.threads_percent.shown(digits=1),
            case.threads_percent.spread(digits=1),
            case.processes_percent.shown(digits=1),
            case.processes_percent.spread(digits=1),
        )
