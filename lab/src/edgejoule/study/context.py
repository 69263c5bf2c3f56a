"""The state that all runs of a study share, and the place where one run's clients work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from edgejoule.commands.setups import Setups
from edgejoule.commands.shells import ShellStart
from edgejoule.databases.driver import Event
from edgejoule.databases.loads import Loads
from edgejoule.experiment.command import DeclaredResponse
from edgejoule.experiment.model import Timing
from edgejoule.machine.memory_group import MemoryGroup
from edgejoule.meters.base import Meter
from edgejoule.meters.sampler import LivePower
from edgejoule.study.cool_down import CoolDown
from edgejoule.study.run_clocks import ClockPlan
from edgejoule.study.servers import DriverPlacement, Servers


@dataclass(frozen=True)
class RunContext:
    """The state that all runs of a study share. The meter is open.

    least_s: shorter runs are lengthened or executed several times (edgejoule.study.run_length). executions: cell ->
    executions per replication, as set by the cell's first run. reached_ops_s: cell without its load_percent -> its rate
    at full load. cool_down: conditions awaited before a run. servers: the federation that the runs use. clocks: how the
    meters' times are checked.
    """

    meters: Sequence[Meter]
    loads: Loads
    timing: Timing
    on_event: Callable[[Event], None]
    on_power: Callable[[LivePower], None]
    least_s: float
    executions: dict[str, int] = field(default_factory=dict)
    reached_ops_s: Mapping[str, float] = field(default_factory=dict)
    cool_down: CoolDown | None = None
    servers: Servers | None = None
    clocks: ClockPlan = field(default_factory=ClockPlan)
    setups: Setups | None = None
    shells: Mapping[str, ShellStart] = field(default_factory=dict)
    declared: Mapping[str, DeclaredResponse] = field(default_factory=dict)
    warmed: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Site:
    """Where a run's clients work. homes: where they run. still_s: how long the open database stays quiet, in s."""

    context: RunContext
    homes: Mapping[str, DriverPlacement]  # by server of the federation; key "" without a federation
    group: MemoryGroup | None = None
    still_s: float = 0.0

    @property
    def home(self) -> DriverPlacement:
        """Returns the first home."""
        return next(iter(self.homes.values()))

    @property
    def in_group(self) -> list[str]:
        """Returns the argv prefix that starts a client within the memory limit."""
        return self.group.command() if self.group else []
