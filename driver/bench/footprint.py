"""Cost of a driver besides its operations: start-up, waiting and memory.

Start-up is a run of one operation of workload C over a million records, from exec to exit. Throttled is the cost of a
second at a low rate: the CPU time of a run at that rate minus the start-up, divided by its seconds. All drivers run
this at the same time, which shortens the bench; none of them uses more than a few per cent of a core.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from contestants import Contestant, Field
from figures import Bar, Figure, ratio, table
from null_database import RECORDS
from process import Running, cost_of
from work import Work

RATES_OPS_S = (1000, 100)


@dataclass
class Case:
    """One line of the table."""

    contestant: Contestant
    start_wall_ns: Figure = field(default_factory=Figure)
    start_cpu_ns: Figure = field(default_factory=Figure)
    throttled_cpu_ns_per_s: dict[int, Figure] = field(default_factory=lambda: {rate: Figure() for rate in RATES_OPS_S})
    throttled_rss_bytes: Figure = field(default_factory=Figure)


class Footprint:
    """The section of the bench: rounds, then the table."""

    name = "footprint"
    title = "Start-up, and CPU time while throttled, workload C on a database that keeps nothing, 1 thread"

    def __init__(self, contestants: Field, note: Callable[[str], None], *, rounds: int, seconds: int) -> None:
        self._note = note
        self._rounds = rounds
        self._throttled_s = seconds
        self.cases = [Case(contestant) for contestant in contestants.all if contestant.footprint]

    def round(self, number: int) -> None:
        """Measures each driver once."""
        if number >= self._rounds:
            return
        for case in self.cases:
            self._note(f"{case.contestant.name} start-up")
            cost = cost_of(case.contestant.null_command(Work("C", RECORDS, 1)))
            case.start_wall_ns.add(cost.wall_ns)
            case.start_cpu_ns.add(cost.cpu_ns)
        for rate in RATES_OPS_S:
            self._note(f"all at {rate} operations a second")
            work = Work("C", RECORDS, rate * self._throttled_s, target_ops_s=rate)
            running = [Running(case.contestant.null_command(work)) for case in self.cases]
            for case, process in zip(self.cases, running, strict=True):
                cost = process.cost()
                case.throttled_cpu_ns_per_s[rate].add((cost.cpu_ns - case.start_cpu_ns.values[-1]) / self._throttled_s)
                case.throttled_rss_bytes.add(cost.rss_peak_bytes)

    def shown(self) -> str:
        """Returns the table."""
        head = ["driver", "start ms", "[least, most]", "CPU ms", "[least, most]", "to ours"]
        head += [column for rate in RATES_OPS_S for column in (f"ms CPU/s at {rate}/s", "[least, most]", "to ours")]
        return table([*head, "RSS MB"], (self._row(case) for case in self.cases), left=1)

    def bars(self) -> list[Bar]:
        """Returns no bars."""
        return []

    def as_json(self) -> list[dict[str, Any]]:
        """Returns every figure of every round."""
        return [
            {
                "driver": case.contestant.name,
                "start_wall_ns": case.start_wall_ns.values,
                "start_cpu_ns": case.start_cpu_ns.values,
                "throttled_cpu_ns_per_s": {
                    str(rate): figure.values for rate, figure in case.throttled_cpu_ns_per_s.items()
                },
                "throttled_rss_bytes": case.throttled_rss_bytes.values,
            }
            for case in self.cases
        ]

    def _row(self, case: Case) -> list[str]:
        ours = self.cases[0]
        cells = [case.contestant.name, case.start_wall_ns.shown(1e6, 1), case.start_wall_ns.spread(1e6, 1)]
        cells += [case.start_cpu_ns.shown(1e6, 1), case.start_cpu_ns.spread(1e6, 1)]
        cells.append(ratio(case.start_cpu_ns, ours.start_cpu_ns))
        for rate, figure in case.throttled_cpu_ns_per_s.items():
            cells += [figure.shown(1e6, 2), figure.spread(1e6, 2), ratio(figure, ours.throttled_cpu_ns_per_s[rate])]
        return [*cells, case.throttled_rss_bytes.shown(1e6, 1)]
